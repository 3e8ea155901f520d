//! A worker's buffers: made once, used for every entry, wiped at the end. With them no entry costs a heap allocation.

use std::ffi::OsString;
use zeroize::Zeroize;

/// What the place that the system reads to is aligned to, in bytes. The kernel's copy to user memory is up to three
/// times slower on some CPUs (seen on Zen 4) when its target lies across cache lines in the wrong way.
const ALIGNMENT: usize = 64;

/// Bytes that are wiped when dropped, as far as they were used.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    pub(super) fn new(len: usize) -> Buffer {
        // Zeroed memory from the system is not touched before it is used, so a large buffer costs a small tree nothing.
        Buffer { bytes: vec![0; len + 2 * ALIGNMENT], used: 0 }
    }

    /// The first `len` bytes, the very first aligned.
    pub(super) fn first(&mut self, len: usize) -> &mut [u8] {
        self.aligned_at(0, len)
    }

    /// `len` bytes of which the one at `index` is aligned. The same bytes as before for the same `index`; grows
    /// (rarely: a plan made for another job) if the buffer is smaller, and then starts empty.
    pub(super) fn aligned_at(&mut self, index: usize, len: usize) -> &mut [u8] {
        if len + 2 * ALIGNMENT > self.bytes.len() {
            self.bytes.zeroize();
            self.bytes = vec![0; len + 2 * ALIGNMENT];
        }
        let to_aligned = self.bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let start = to_aligned + (ALIGNMENT - index % ALIGNMENT) % ALIGNMENT;
        self.used = self.used.max(start + len);
        &mut self.bytes[start..start + len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes[..self.used].zeroize();
    }
}

/// All that a worker keeps between entries.
#[derive(Debug)]
pub(super) struct Buffers {
    /// What is read, transformed in place, and written.
    pub(super) main: Buffer,
    /// The second one: source segments when re-keying, scratch for finding the right key of several. Empty until it
    /// is used, unless the job is known to use it.
    pub(super) second: Buffer,
    /// The output's name.
    pub(super) name: OsString,
    /// The path bound to the ciphertext.
    pub(super) associated_data: Vec<u8>,
}

impl Buffers {
    pub(super) fn new(main: usize, second: usize) -> Buffers {
        Buffers {
            main: Buffer::new(main),
            second: Buffer::new(second),
            name: OsString::with_capacity(256),
            associated_data: Vec::with_capacity(256),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_bytes_and_aligns_the_place_asked_for() {
        let mut buffer = Buffer::new(100);
        buffer.first(4).copy_from_slice(b"abcd");
        assert_eq!(buffer.first(2), b"ab");
        for index in [0, 1, 16, 40, 56, 64, 99] {
            let place = &raw const buffer.aligned_at(index, 100)[index];
            assert_eq!(place.addr() % ALIGNMENT, 0, "{index}");
        }
        assert_eq!(buffer.first(500), [0; 500], "a larger buffer starts empty");
    }
}
