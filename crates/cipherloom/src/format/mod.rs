//! Formats: what bytes a stream consists of. Never sees a path.
#![allow(missing_docs, unused)]
use crate::Error;
use cipherloom_kernels::Aes;
use std::sync::Arc;

/// How plaintext offsets map to ciphertext offsets; pure arithmetic.
///
/// ciphertext = header, then segments. A full segment is `segment` ciphertext bytes of which `overhead` are not
/// plaintext; the first segment is shorter than the others by `first_deficit` bytes (Tink counts the header in it).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub header: u32,
    pub segment: u32,
    pub overhead: u32,
    pub first_deficit: u32,
    pub last: LastSegment,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastSegment {
    /// 0 bytes only if the stream is empty, else 1 ..= full (Tink, CTR).
    MayBeFull,
    /// 0 ..= full - 1 (Cobblestone).
    AlwaysShort,
    /// padded to the next multiple of 16, always at least one byte of padding (CBC with PKCS#7).
    Padded,
}
/// A segment's place in both streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub index: u64,
    pub last: bool,
    pub plaintext_offset: u64,
    pub plaintext_len: u32,
    pub ciphertext_offset: u64,
    pub ciphertext_len: u32,
}
impl Layout {
    /// Number of segments of a stream with so many plaintext bytes (at least 1).
    pub fn segments(&self, plaintext_len: u64) -> u64 {
        unimplemented!()
    }
    pub fn ciphertext_len(&self, plaintext_len: u64) -> u64 {
        unimplemented!()
    }
    /// For padded layouts: the largest plaintext that fits. Error: no plaintext has this ciphertext length (truncated).
    pub fn plaintext_len(&self, ciphertext_len: u64) -> Result<u64, Error> {
        unimplemented!()
    }
    /// Number of segments in a ciphertext of this length. Error as for `plaintext_len`.
    pub fn segments_of_ciphertext(&self, ciphertext_len: u64) -> Result<u64, Error> {
        unimplemented!()
    }
    /// Segment `index` of a stream with so many plaintext bytes.
    pub fn segment(&self, index: u64, plaintext_len: u64) -> Segment {
        unimplemented!()
    }
    /// Segment `index` of a stream with so many ciphertext bytes (in a padded layout, the last segment's plaintext_len is the upper bound).
    pub fn ciphertext_segment(&self, index: u64, ciphertext_len: u64) -> Result<Segment, Error> {
        unimplemented!()
    }
    /// Which segment holds this plaintext offset.
    pub fn segment_at(&self, plaintext_offset: u64) -> u64 {
        unimplemented!()
    }
}

/// A format with its keys: what is fixed for a whole run.
pub enum Format {}
impl Format {
    pub fn name(&self) -> &'static str {
        unimplemented!()
    }
    pub fn is_authenticated(&self) -> bool {
        unimplemented!()
    }
    /// The layout of the streams that [`Format::seal_stream`] begins.
    pub fn layout(&self) -> Layout {
        unimplemented!()
    }
    /// The largest ciphertext segment that a stream of this format may have, whichever key made it (buffers are sized from it).
    pub fn largest_segment(&self) -> u32 {
        unimplemented!()
    }
    /// True if sealing is a chain (CBC): segments must be sealed in order, [`Stream::chain`] gives the state.
    pub fn is_chained(&self) -> bool {
        unimplemented!()
    }
    /// True if binding associated data (the relative path) is possible.
    pub fn binds_associated_data(&self) -> bool {
        unimplemented!()
    }
    /// How many bytes from the start of a stream [`Format::open_stream`] wants to see (less if the stream is shorter):
    /// the header; with several keys that might fit also the first segment, by which the right one is found.
    pub fn head_len(&self) -> usize {
        unimplemented!()
    }
    /// Begins a new stream: fresh random salt or IV, keys derived, `header` (layout().header bytes) filled.
    pub fn seal_stream(&self, associated_data: &[u8], header: &mut [u8]) -> Result<Stream, Error> {
        unimplemented!()
    }
    /// Begins reading a stream. `head`: its first `head_len()` bytes, or all of it if shorter. `scratch`: at least
    /// `largest_segment()` bytes for trying keys. `is_whole`: `head` is the whole stream.
    pub fn open_stream(
        &self,
        associated_data: &[u8],
        head: &[u8],
        is_whole: bool,
        scratch: &mut [u8],
    ) -> Result<Stream, Error> {
        unimplemented!()
    }
}
/// One stream's derived keys. No heap allocation to make or drop one (Tink, Cobblestone, raw).
pub struct Stream {}
impl Stream {
    pub fn layout(&self) -> &Layout {
        unimplemented!()
    }
    /// Seals one segment in place: `buffer` is plaintext followed by `overhead` bytes of room. (Not for chained formats.)
    pub fn seal_segment(&self, index: u64, last: bool, buffer: &mut [u8]) -> Result<(), Error> {
        unimplemented!()
    }
    /// Opens one segment in place; returns how many plaintext bytes now stand at the front of `buffer`.
    /// `before`: the 16 ciphertext bytes in front of the segment, where [`Stream::needs_block_before`] and index > 0.
    pub fn open_segment(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        unimplemented!()
    }
    /// CBC decryption needs the ciphertext block in front of a segment.
    pub fn needs_block_before(&self) -> bool {
        unimplemented!()
    }
    /// The cipher and IV of a chained format.
    pub fn chain(&self) -> Option<(&Aes, [u8; 16])> {
        unimplemented!()
    }
}
