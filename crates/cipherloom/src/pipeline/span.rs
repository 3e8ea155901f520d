//! Where a run of segments stands in a stream's plaintext and in its ciphertext.

use crate::Error;
use crate::format::{Layout, Segment};
use std::ops::Range;

/// Where a run of segments stands in both streams.
pub(super) struct Span {
    pub(super) plaintext_offset: u64,
    pub(super) plaintext_len: usize,
    pub(super) ciphertext_offset: u64,
    pub(super) ciphertext_len: usize,
}

impl Span {
    pub(super) fn plaintext(layout: &Layout, run: &Range<u64>, plaintext_len: u64) -> Span {
        Span::between(layout.segment(run.start, plaintext_len), layout.segment(run.end - 1, plaintext_len))
    }

    pub(super) fn ciphertext(layout: &Layout, run: &Range<u64>, ciphertext_len: u64) -> Result<Span, Error> {
        let first = layout.ciphertext_segment(run.start, ciphertext_len)?;
        Ok(Span::between(first, layout.ciphertext_segment(run.end - 1, ciphertext_len)?))
    }

    fn between(first: Segment, last: Segment) -> Span {
        Span {
            plaintext_offset: first.plaintext_offset,
            plaintext_len: offset_in(
                last.plaintext_offset + u64::from(last.plaintext_len),
                first.plaintext_offset,
            ),
            ciphertext_offset: first.ciphertext_offset,
            ciphertext_len: offset_in(
                last.ciphertext_offset + u64::from(last.ciphertext_len),
                first.ciphertext_offset,
            ),
        }
    }
}

/// A place relative to a buffer's.
pub(super) fn offset_in(offset: u64, start: u64) -> usize {
    usize::try_from(offset - start).expect("within one buffer")
}
