//! A worker's buffers: made once, used for every entry, wiped at the end. With them no entry costs a heap allocation.

use std::ffi::OsString;
use zeroize::Zeroize;

/// Bytes that are wiped when dropped, as far as they were used.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    used: usize,
}

impl Buffer {
    pub(super) fn new(len: usize) -> Buffer {
        // Zeroed memory from the system is not touched before it is used, so a large buffer costs a small tree nothing.
        Buffer { bytes: vec![0; len], used: 0 }
    }

    /// The first `len` bytes; grows (rarely: a foreign key with huge segments) if the buffer is smaller.
    pub(super) fn first(&mut self, len: usize) -> &mut [u8] {
        if len > self.bytes.len() {
            self.bytes.zeroize();
            self.bytes = vec![0; len];
        }
        self.used = self.used.max(len);
        &mut self.bytes[..len]
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
    fn grows_and_keeps_its_length_afterwards() {
        let mut buffer = Buffer::new(4);
        buffer.first(4).copy_from_slice(b"abcd");
        assert_eq!(buffer.first(2), b"ab");
        assert_eq!(buffer.first(8), [0; 8], "a larger buffer starts empty");
        assert_eq!(buffer.used, 8);
    }
}
