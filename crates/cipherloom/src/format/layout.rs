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
use std::ops::Range;

/// Bytes of an AES block, to which CBC pads.
const BLOCK: u64 = 16;

/// How plaintext offsets map to ciphertext offsets.
///
/// ciphertext = header, then segments. A full segment is `segment` ciphertext bytes of which `overhead` are not
/// plaintext; the first segment is shorter than the others by `first_deficit` bytes (Tink counts the header in it).
///
/// ```
/// use cipherloom::format::{LastSegment, Layout, MAX_SEGMENT_SIZE};
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::{Format, stream, machine::Backend};
///
/// let keyset = Keyset::generate(Template::Aes256GcmHkdf1Mb)?;
/// let format = Format::tink_with_segments_up_to(MAX_SEGMENT_SIZE, &keyset, Backend::best())?;
/// let layout: Layout = format.layout();
/// assert_eq!((layout.header, layout.segment, layout.overhead), (40, 1 << 20, 16));
/// assert_eq!((layout.last, layout.first_deficit), (LastSegment::MayBeFull, 40));
///
/// let text = vec![7; 3 << 20];
/// let sealed = stream::encrypt(&text, &keyset, b"")?;
/// assert_eq!(layout.ciphertext_len(text.len() as u64), sealed.len() as u64);
/// assert_eq!(layout.plaintext_len(sealed.len() as u64)?, text.len() as u64);
/// assert_eq!(layout.segments(text.len() as u64), layout.segments_of_ciphertext(sealed.len() as u64)?);
/// assert_eq!(layout.segment_at(layout.plaintext_offset(2)), 2);
/// assert_eq!(layout.ciphertext_offset(2), 2 << 20);
///
/// assert!(format.can_hold(sealed.len() as u64, text.len() as u64));
/// assert_eq!((format.key_id(), format.key_iterations()), (Some(keyset.primary_id()), 0));
/// assert_eq!(format.largest_segment(), layout.segment);
/// assert!(format.binds_associated_data() && !format.is_chained());
/// let begin = &sealed[..format.begin_len() as usize];
/// assert!(format.opens_with_primary(b"", begin, false)?);
/// # Ok::<(), cipherloom::Error>(())
/// ```
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

/// Which of a stream's two forms a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plaintext,
    Ciphertext,
}

impl Layout {
    /// How many segments come before the last one, if `len` bytes (in this form) from segment `first` on are the rest of
    /// the stream. If the stream goes on, these segments are not the last either.
    ///
    /// Which segment is the last is decided here and nowhere else.
    pub(crate) fn segments_before_last(&self, first: u64, len: u64, form: Form) -> u64 {
        let full = match form {
            Form::Plaintext => self.segment - self.overhead,
            Form::Ciphertext => self.segment,
        };
        let last_may_be_full = self.last == LastSegment::MayBeFull
            || (self.last, form) == (LastSegment::Padded, Form::Ciphertext);
        let deficit = if first == 0 { self.first_deficit } else { 0 };
        let len = u128::from(len) + u128::from(deficit);
        (len.saturating_sub(u128::from(last_may_be_full)) / u128::from(full)) as u64
    }

    /// Number of segments of a stream with so many plaintext bytes, at least 1.
    #[must_use]
    pub fn segments(&self, plaintext_len: u64) -> u64 {
        self.segments_before_last(0, plaintext_len, Form::Plaintext) + 1
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
        let segments = self.segments_of_ciphertext(ciphertext_len)?;
        let body = ciphertext_len - u64::from(self.header);
        Ok(match self.last {
            LastSegment::Padded => body - 1,
            _ => body - segments * u64::from(self.overhead),
        })
    }

    /// Number of segments in a ciphertext of this length.
    ///
    /// # Errors
    /// As [`Layout::plaintext_len`].
    pub fn segments_of_ciphertext(&self, ciphertext_len: u64) -> Result<u64, Error> {
        let impossible = Error::ImpossibleLength { length: ciphertext_len };
        let Some(body) = ciphertext_len.checked_sub(u64::from(self.header)) else { return Err(impossible) };
        let last = self.segments_before_last(0, body, Form::Ciphertext);
        let last_len = ciphertext_len - self.ciphertext_offset(last);
        if self.fits(last, true, last_len) { Ok(last + 1) } else { Err(impossible) }
    }

    /// Which segment holds this plaintext offset, if the stream is long enough.
    #[must_use]
    pub fn segment_at(&self, plaintext_offset: u64) -> u64 {
        let offset = u128::from(plaintext_offset) + u128::from(self.first_deficit);
        (offset / u128::from(self.segment - self.overhead)) as u64
    }

    /// Where segment `index` begins in the plaintext; `u64::MAX` if that is beyond 64 bits.
    #[must_use]
    pub fn plaintext_offset(&self, index: u64) -> u64 {
        self.offset(index, self.segment - self.overhead, 0)
    }

    /// Where segment `index` begins in the ciphertext; `u64::MAX` if that is beyond 64 bits.
    #[must_use]
    pub fn ciphertext_offset(&self, index: u64) -> u64 {
        self.offset(index, self.segment, self.header)
    }

    fn offset(&self, index: u64, full: u32, header: u32) -> u64 {
        let deficit = if index == 0 { 0 } else { self.first_deficit };
        let offset = u128::from(index) * u128::from(full) - u128::from(deficit) + u128::from(header);
        u64::try_from(offset).unwrap_or(u64::MAX)
    }

    /// Where these segments lie in a plaintext of this length.
    pub(crate) fn plaintext_range(&self, segments: &Range<u64>, plaintext_len: u64) -> Range<u64> {
        self.plaintext_offset(segments.start)..self.plaintext_offset(segments.end).min(plaintext_len)
    }

    /// Where these segments lie in a ciphertext of this length.
    pub(crate) fn ciphertext_range(&self, segments: &Range<u64>, ciphertext_len: u64) -> Range<u64> {
        self.ciphertext_offset(segments.start)..self.ciphertext_offset(segments.end).min(ciphertext_len)
    }

    /// True if segment `index` can have so many ciphertext bytes.
    pub(crate) fn fits(&self, index: u64, last: bool, length: u64) -> bool {
        let full = u64::from(self.segment - if index == 0 { self.first_deficit } else { 0 });
        let overhead = u64::from(self.overhead);
        match (last, self.last) {
            (false, _) => length == full,
            // Only an empty stream's only segment has no plaintext.
            (true, LastSegment::MayBeFull) => {
                (length > overhead || (index == 0 && length == overhead)) && length <= full
            }
            (true, LastSegment::AlwaysShort) => (overhead..full).contains(&length),
            (true, LastSegment::Padded) => length > 0 && length <= full && length.is_multiple_of(BLOCK),
        }
    }
}

#[cfg(test)]
mod tests;
