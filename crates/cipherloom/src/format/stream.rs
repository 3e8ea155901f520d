//! One stream: its derived keys, and segments sealed and opened in place.
//!
//! There may be a [`Stream`] for each small file, and it is moved from the one who derives its keys to the one who uses them:
//! so it is small. Large keys (an expanded one that is not AWS-LC's, HMAC's) lie in a box. Segments are independent, so any
//! thread may take any of them.

use super::layout::Layout;
use super::{age::AgeStream, bare::BareStream, cobblestone::CobblestoneStream, tink::TinkStream};
use crate::Error;
use cipherloom_kernels::Aes;
use std::fmt;

/// One stream's derived keys, which are zeroised when it is dropped.
pub(crate) struct Stream {
    layout: Layout,
    limit: u64,
    format: &'static str,
    /// The key is known to be right: what fails after that is damage.
    key_confirmed: bool,
    /// Whether a segment may cost a copy by which its failure is explained.
    explains: bool,
    cipher: StreamCipher,
}

pub(super) enum StreamCipher {
    Tink(TinkStream),
    Cobblestone(CobblestoneStream),
    Age(AgeStream),
    Bare(BareStream),
}

/// How a segment failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAuthentic {
    /// Its bytes (or its place, or its key) are not those it was sealed with.
    Damaged,
    /// It was sealed as one that others follow, but is the last.
    FollowersMissing,
    /// It was sealed as the last, but others follow.
    AlreadyLast,
    /// Its padding cannot be right.
    Padding,
}

impl Stream {
    pub(super) fn new(format: &'static str, layout: Layout, limit: u64, cipher: StreamCipher) -> Self {
        Self { layout, limit, format, key_confirmed: false, explains: false, cipher }
    }

    /// Remembers that the key is the one which sealed this stream.
    pub(super) fn with_confirmed_key(self) -> Self {
        Self { key_confirmed: true, ..self }
    }

    /// The same stream, which also explains failures whose explanation costs something: what is released of a failing stream is
    /// then as much as the format's other readers release.
    pub(crate) fn with_explanations(self) -> Self {
        Self { explains: true, ..self }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// True if segments are virtual (openssl, raw): any number of consecutive ones is sealed or opened at once. What does
    /// the work then sees long pieces, which devices need.
    pub(crate) fn is_seamless(&self) -> bool {
        matches!(self.cipher, StreamCipher::Bare(_))
    }

    /// Seals one segment in place: `buffer` is the plaintext followed by `layout().overhead` bytes of room. Of a seamless
    /// stream, `buffer` holds any number of segments from `index` on, padded where the layout says so.
    ///
    /// `before`: the ciphertext block in front, where the stream is a chain and `index` > 0.
    ///
    /// # Panics
    /// If `buffer` has a length that the layout does not allow for this segment; if `before` is missing.
    pub(crate) fn seal(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.check_limit(index)?;
        let is_whole = self.is_seamless() || self.layout.fits(index, last, buffer.len() as u64);
        assert!(is_whole, "segment {index} cannot have {} bytes", buffer.len());
        match &self.cipher {
            StreamCipher::Tink(stream) => stream.seal(index, last, buffer),
            StreamCipher::Cobblestone(stream) => stream.seal(index, buffer),
            StreamCipher::Age(stream) => stream.seal(index, last, buffer),
            StreamCipher::Bare(stream) => {
                stream.seal(self.layout.segment, index, before, buffer);
                Ok(())
            }
        }
    }

    /// Opens one segment in place, or any number of consecutive ones of a seamless stream; returns how many plaintext
    /// bytes are now at the front of `buffer`. A buffer that fails holds no plaintext, but for [`Stream::authentic_len`].
    ///
    /// `before`: as for [`Stream::seal`].
    ///
    /// # Panics
    /// If `before` is missing.
    pub(crate) fn open(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        self.check_limit(index)?;
        self.try_open(index, last, before, buffer).map_err(|fault| self.error(index, fault))
    }

    /// How many plaintext bytes are at the front of a buffer of `len` bytes that failed so: those of a segment that is
    /// authentic, while what follows it was cut off or added.
    pub(crate) fn authentic_len(&self, error: &Error, len: usize) -> usize {
        match (&self.cipher, error) {
            (StreamCipher::Age(_), Error::Truncated { .. } | Error::TrailingData { .. }) => {
                len - self.layout.overhead as usize
            }
            _ => 0,
        }
    }

    pub(super) fn try_open(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        let fits = |last| self.layout.fits(index, last, buffer.len() as u64);
        if !self.is_seamless() && !fits(last) {
            return Err(NotAuthentic::Damaged);
        }
        let may_be_cut = last && fits(false);
        match &self.cipher {
            StreamCipher::Tink(stream) => stream.open(index, last, may_be_cut, buffer),
            StreamCipher::Age(stream) => stream.open(index, last, may_be_cut, self.explains, buffer),
            StreamCipher::Cobblestone(stream) => stream.open(index, buffer),
            StreamCipher::Bare(stream) => stream.open(self.layout.segment, index, last, before, buffer),
        }
    }

    /// The cipher and IV of a chained format (CBC): sealing and opening need the ciphertext block in front of a segment.
    pub(crate) fn chain(&self) -> Option<(&Aes, [u8; 16])> {
        match &self.cipher {
            StreamCipher::Bare(stream) => stream.chain(),
            StreamCipher::Tink(_) | StreamCipher::Cobblestone(_) | StreamCipher::Age(_) => None,
        }
    }

    fn check_limit(&self, index: u64) -> Result<(), Error> {
        if index < self.limit {
            return Ok(());
        }
        Err(Error::TooManySegments { format: self.format, limit: self.limit })
    }

    /// What a failed segment means for its stream.
    pub(super) fn error(&self, index: u64, fault: NotAuthentic) -> Error {
        match fault {
            NotAuthentic::Padding => Error::Padding,
            NotAuthentic::FollowersMissing => Error::Truncated { index },
            NotAuthentic::AlreadyLast => Error::TrailingData { index },
            NotAuthentic::Damaged if index == 0 && !self.key_confirmed => Error::FirstSegment,
            NotAuthentic::Damaged => {
                Error::DamagedSegment { index, offset: self.layout.ciphertext_offset(index) }
            }
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Stream")
            .field("format", &self.format)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}
