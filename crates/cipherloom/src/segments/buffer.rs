//! Memory for a run of segments: grows as it is used, aligned for the system, wiped at the end.

use crate::Error;
use std::collections::TryReserveError;
use std::{fmt, io};
use zeroize::Zeroize;

/// What the place that the system reads to is aligned to, in bytes. The kernel's copy to user memory is up to three
/// times slower on some CPUs (seen on Zen 4) when its target lies across cache lines in the wrong way.
const ALIGNMENT: usize = 64;

/// So much is taken at once; a larger buffer grows with what is put into it. Segments may be as large as 2 GiB, and the
/// streams in them small.
const TAKEN_AT_ONCE: usize = 4 << 20;

/// So much is asked for at first.
const LEAST_GROWTH: usize = 64 << 10;

/// Bytes that are wiped when dropped, as far as they were used.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    used: usize,
    /// The length that was asked for, to which it grows in steps.
    planned: usize,
}

impl Buffer {
    pub(crate) fn new(len: usize) -> Buffer {
        let planned = len + 2 * ALIGNMENT;
        // Zeroed memory from the system is not touched before it is used, so a large buffer costs a small tree nothing.
        Buffer { bytes: vec![0; planned.min(TAKEN_AT_ONCE)], used: 0, planned }
    }

    /// The first `len` bytes, the very first aligned.
    ///
    /// # Errors
    /// If the buffer has to grow, and there is no memory.
    pub(crate) fn first(&mut self, len: usize) -> Result<&mut [u8], Error> {
        self.aligned_at(0, len)
    }

    /// `len` bytes of which the one at `index` is aligned. The same bytes as before for the same `index`.
    ///
    /// # Errors
    /// As [`Buffer::first`].
    pub(crate) fn aligned_at(&mut self, index: usize, len: usize) -> Result<&mut [u8], Error> {
        if len + 2 * ALIGNMENT > self.bytes.len() {
            self.grow(len + 2 * ALIGNMENT)?;
        }
        let start = to_aligned(&self.bytes) + (ALIGNMENT - index % ALIGNMENT) % ALIGNMENT;
        self.used = self.used.max(start + len);
        Ok(&mut self.bytes[start..start + len])
    }

    /// How many of `wanted` bytes to ask for while only `filled` are known to come. Grows with the stream: a segment may be far
    /// larger, and what was asked for is wiped in the end.
    pub(crate) fn growth(&self, filled: usize, wanted: usize) -> usize {
        wanted.min(self.used.max(2 * filled).max(LEAST_GROWTH))
    }

    fn grow(&mut self, needed: usize) -> Result<(), Error> {
        // Twice as large, so that a growing need is not copied over and over.
        let len = needed.max(self.planned.min(2 * self.bytes.len()));
        let mut larger = Vec::new();
        larger.try_reserve_exact(len).map_err(no_memory)?;
        larger.resize(len, 0);
        let (from, to) = (to_aligned(&self.bytes), to_aligned(&larger));
        if let Some(kept) = self.bytes.get(from..self.used) {
            larger[to..to + kept.len()].copy_from_slice(kept);
        }
        self.bytes[..self.used].zeroize();
        self.used = (self.used.saturating_sub(from) + to).min(len);
        self.bytes = larger;
        Ok(())
    }
}

/// How many bytes there are before the first aligned one.
fn to_aligned(bytes: &[u8]) -> usize {
    bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT)
}

/// Segments are as large as their key says: memory for one is a thing that may be refused.
pub(crate) fn no_memory(_: TryReserveError) -> Error {
    Error::io("get memory for a segment", io::ErrorKind::OutOfMemory.into())
}

impl fmt::Debug for Buffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Buffer").field("len", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.bytes[..self.used].zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_bytes_and_aligns_the_place_asked_for() {
        let mut buffer = Buffer::new(100);
        buffer.first(4).unwrap().copy_from_slice(b"abcd");
        assert_eq!(buffer.first(2).unwrap(), b"ab");
        for index in [0, 1, 16, 40, 56, 64, 99] {
            let place = &raw const buffer.aligned_at(index, 100).unwrap()[index];
            assert_eq!(place.addr() % ALIGNMENT, 0, "{index}");
        }
        for len in [500, 5000, 50_000] {
            assert_eq!(
                &buffer.first(len).unwrap()[..4],
                b"abcd",
                "a larger buffer begins with the same bytes"
            );
            assert_eq!(buffer.first(len).unwrap()[4..], vec![0; len - 4]);
        }
    }

    #[test]
    fn a_large_buffer_takes_memory_as_it_is_used() {
        let mut buffer = Buffer::new(2 << 30);
        assert_eq!(buffer.bytes.len(), TAKEN_AT_ONCE);
        buffer.first(5 << 20).unwrap();
        assert_eq!(buffer.bytes.len(), 2 * TAKEN_AT_ONCE);
        let refused = buffer.first(usize::MAX / 4).unwrap_err();
        assert!(refused.to_string().starts_with("cannot get memory for a segment: "), "{refused}");
    }
}
