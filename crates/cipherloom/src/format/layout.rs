//! Where a stream's segments lie: arithmetic only, shared by every format.
//!
//! ```text
//! plaintext    |   first    |   segment 1    |   segment 2    | last |
//!              |            |                |                |      |     each grows by `overhead`
//! ciphertext   | header | first  | segment 1          | segment 2          | last   |
//!                         <---->   <---------------->
//!      segment - first_deficit     segment
//! ```
//!
//! All lengths are bytes. Lengths near 2^64 saturate or are refused; nothing here overflows.

use crate::Error;

/// Bytes of an AES block, to which CBC pads.
const BLOCK: u64 = 16;

/// How plaintext offsets map to ciphertext offsets.
///
/// ciphertext = header, then segments. A full segment is `segment` ciphertext bytes of which `overhead` are not
/// plaintext; the first segment is shorter than the others by `first_deficit` bytes (Tink counts the header in it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes in front of the first segment.
    pub header: u32,
    /// Ciphertext bytes of a full segment.
    pub segment: u32,
    /// How many of a segment's ciphertext bytes are not plaintext.
    pub overhead: u32,
    /// How many bytes the first full segment is shorter than the others.
    pub first_deficit: u32,
    /// How the last segment differs.
    pub last: LastSegment,
}

/// Which lengths the last segment can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastSegment {
    /// 0 plaintext bytes only if the stream is empty, else 1 ..= full (Tink, CTR).
    MayBeFull,
    /// 0 ..= full - 1 plaintext bytes (Cobblestone).
    AlwaysShort,
    /// Padded to the next multiple of 16, always by at least one byte (CBC with PKCS#7).
    Padded,
}

/// A segment's place in both streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its number, from 0.
    pub index: u64,
    /// True for the stream's last.
    pub last: bool,
    /// Where it begins in the plaintext.
    pub plaintext_offset: u64,
    /// Its plaintext bytes.
    pub plaintext_len: u32,
    /// Where it begins in the ciphertext, the header counted.
    pub ciphertext_offset: u64,
    /// Its ciphertext bytes.
    pub ciphertext_len: u32,
}

impl Layout {
    /// Number of segments of a stream with so many plaintext bytes, at least 1.
    #[must_use]
    pub fn segments(&self, plaintext_len: u64) -> u64 {
        let beyond_first = plaintext_len.checked_sub(self.first_plaintext());
        match (self.last, beyond_first) {
            (_, None) | (LastSegment::MayBeFull, Some(0)) => 1,
            (LastSegment::MayBeFull, Some(rest)) => 1 + rest.div_ceil(self.full_plaintext()),
            (_, Some(rest)) => 2 + rest / self.full_plaintext(),
        }
    }

    /// Ciphertext bytes of a stream with so many plaintext bytes; `u64::MAX` if there are more than that.
    #[must_use]
    pub fn ciphertext_len(&self, plaintext_len: u64) -> u64 {
        let body = match self.last {
            LastSegment::Padded => u128::from(plaintext_len / BLOCK + 1) * u128::from(BLOCK),
            _ => {
                u128::from(plaintext_len)
                    + u128::from(self.segments(plaintext_len)) * u128::from(self.overhead)
            }
        };
        u64::try_from(body + u128::from(self.header)).unwrap_or(u64::MAX)
    }

    /// Plaintext bytes of a stream with so many ciphertext bytes. In a padded layout: the most that it can hold.
    ///
    /// # Errors
    /// [`Error::ImpossibleLength`] if no stream has this length: bytes are missing or were added.
    pub fn plaintext_len(&self, ciphertext_len: u64) -> Result<u64, Error> {
        let last =
            self.ciphertext_segment(self.segments_of_ciphertext(ciphertext_len)? - 1, ciphertext_len)?;
        Ok(last.plaintext_offset + u64::from(last.plaintext_len))
    }

    /// Number of segments in a ciphertext of this length.
    ///
    /// # Errors
    /// As [`Layout::plaintext_len`].
    pub fn segments_of_ciphertext(&self, ciphertext_len: u64) -> Result<u64, Error> {
        let impossible = Error::ImpossibleLength { length: ciphertext_len };
        let Some(body) = ciphertext_len.checked_sub(u64::from(self.header)) else { return Err(impossible) };
        let (first, full, overhead) =
            (self.first_ciphertext(), u64::from(self.segment), u64::from(self.overhead));
        let beyond_first = body.checked_sub(first);
        let (segments, last) = match (self.last, beyond_first) {
            (_, None) | (LastSegment::MayBeFull | LastSegment::Padded, Some(0)) => (1, body),
            (LastSegment::AlwaysShort, Some(rest)) => (2 + rest / full, rest % full),
            (_, Some(rest)) => (1 + rest.div_ceil(full), (rest - 1) % full + 1),
        };
        let is_possible = match self.last {
            // Only an empty stream's only segment has no plaintext.
            LastSegment::MayBeFull => last > overhead || (segments == 1 && last == overhead),
            LastSegment::AlwaysShort => last >= overhead,
            LastSegment::Padded => last > 0 && body.is_multiple_of(BLOCK),
        };
        if is_possible { Ok(segments) } else { Err(impossible) }
    }

    /// Segment `index` of a stream with so many plaintext bytes.
    ///
    /// # Panics
    /// If the stream has no such segment.
    #[must_use]
    pub fn segment(&self, index: u64, plaintext_len: u64) -> Segment {
        let segments = self.segments(plaintext_len);
        assert!(index < segments, "segment {index} of {segments}");
        let mut segment = self.full_segment(index);
        segment.last = index + 1 == segments;
        if segment.last {
            segment.plaintext_len = (plaintext_len - segment.plaintext_offset) as u32;
            segment.ciphertext_len = match self.last {
                LastSegment::Padded => (segment.plaintext_len / BLOCK as u32 + 1) * BLOCK as u32,
                _ => segment.plaintext_len + self.overhead,
            };
        }
        segment
    }

    /// Segment `index` of a stream with so many ciphertext bytes. In a padded layout, the last segment's
    /// `plaintext_len` is the most that it can hold.
    ///
    /// # Errors
    /// As [`Layout::plaintext_len`].
    ///
    /// # Panics
    /// If the stream has no such segment.
    pub fn ciphertext_segment(&self, index: u64, ciphertext_len: u64) -> Result<Segment, Error> {
        let segments = self.segments_of_ciphertext(ciphertext_len)?;
        assert!(index < segments, "segment {index} of {segments}");
        let mut segment = self.full_segment(index);
        segment.last = index + 1 == segments;
        if segment.last {
            segment.ciphertext_len = (ciphertext_len - segment.ciphertext_offset) as u32;
            segment.plaintext_len = match self.last {
                LastSegment::Padded => segment.ciphertext_len - 1,
                _ => segment.ciphertext_len - self.overhead,
            };
        }
        Ok(segment)
    }

    /// Which segment holds this plaintext offset, if the stream is long enough.
    #[must_use]
    pub fn segment_at(&self, plaintext_offset: u64) -> u64 {
        match plaintext_offset.checked_sub(self.first_plaintext()) {
            None => 0,
            Some(rest) => 1 + rest / self.full_plaintext(),
        }
    }

    /// Where segment `index` begins in the ciphertext; `u64::MAX` if that is beyond 64 bits.
    #[must_use]
    pub fn ciphertext_offset(&self, index: u64) -> u64 {
        let offset = match index.checked_sub(1) {
            None => 0,
            Some(full) => u128::from(self.first_ciphertext()) + u128::from(full) * u128::from(self.segment),
        };
        u64::try_from(offset + u128::from(self.header)).unwrap_or(u64::MAX)
    }

    /// True if segment `index` can have so many ciphertext bytes.
    #[must_use]
    pub fn fits(&self, index: u64, last: bool, ciphertext_len: usize) -> bool {
        let length = ciphertext_len as u64;
        let full = if index == 0 { self.first_ciphertext() } else { u64::from(self.segment) };
        let overhead = u64::from(self.overhead);
        match (last, self.last) {
            (false, _) => length == full,
            (true, LastSegment::MayBeFull) => {
                (length > overhead || (index == 0 && length == overhead)) && length <= full
            }
            (true, LastSegment::AlwaysShort) => (overhead..full).contains(&length),
            (true, LastSegment::Padded) => length > 0 && length <= full && length.is_multiple_of(BLOCK),
        }
    }

    /// Segment `index` if it is full and not the last.
    fn full_segment(&self, index: u64) -> Segment {
        let (plaintext_offset, plaintext_len, ciphertext_len) = match index.checked_sub(1) {
            None => (0, self.first_plaintext(), self.first_ciphertext()),
            Some(full) => (
                self.first_plaintext() + full * self.full_plaintext(),
                self.full_plaintext(),
                u64::from(self.segment),
            ),
        };
        Segment {
            index,
            last: false,
            plaintext_offset,
            plaintext_len: plaintext_len as u32,
            ciphertext_offset: self.ciphertext_offset(index),
            ciphertext_len: ciphertext_len as u32,
        }
    }

    fn full_plaintext(&self) -> u64 {
        u64::from(self.segment - self.overhead)
    }

    fn first_plaintext(&self) -> u64 {
        u64::from(self.segment - self.overhead - self.first_deficit)
    }

    fn first_ciphertext(&self) -> u64 {
        u64::from(self.segment - self.first_deficit)
    }
}

#[cfg(test)]
mod tests;
