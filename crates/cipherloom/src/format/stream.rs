//! One stream: its derived keys, and segments sealed and opened in place.
//!
//! Making and dropping a [`Stream`] allocates nothing on our heap, for there may be one per small file; that is why its
//! parts lie in the value itself, however large. Segments are independent, so any thread may take any of them.

use super::layout::Layout;
use super::{bare::BareStream, cobblestone::CobblestoneStream, tink::TinkStream};
use crate::Error;
use cipherloom_kernels::Aes;
use std::fmt;

/// One stream's derived keys, which are zeroised when it is dropped.
pub struct Stream {
    layout: Layout,
    limit: u64,
    format: &'static str,
    /// The key is known to be right: what fails after that is damage.
    key_confirmed: bool,
    cipher: StreamCipher,
}

#[expect(clippy::large_enum_variant, reason = "a box would be an allocation per stream")]
pub(super) enum StreamCipher {
    Tink(TinkStream),
    Cobblestone(CobblestoneStream),
    Bare(BareStream),
}

/// How a segment failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAuthentic {
    /// Its bytes (or its place, or its key) are not those it was sealed with.
    Damaged,
    /// It was sealed as one that others follow, but stands last.
    FollowersMissing,
    /// It was sealed as the last, but others follow.
    AlreadyLast,
    /// Its padding cannot be right.
    Padding,
}

impl Stream {
    pub(super) fn new(format: &'static str, layout: Layout, limit: u64, cipher: StreamCipher) -> Self {
        Self { layout, limit, format, key_confirmed: false, cipher }
    }

    /// Remembers that the key is the one which sealed this stream.
    pub(super) fn with_confirmed_key(self) -> Self {
        Self { key_confirmed: true, ..self }
    }

    /// Where this stream's segments lie.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Seals one segment in place: `buffer` is the plaintext followed by `layout().overhead` bytes of room.
    ///
    /// # Errors
    /// [`Error::Chained`] for a CBC stream, which [`Stream::chain`] is for; [`Error::TooManySegments`].
    ///
    /// # Panics
    /// If `buffer` has a length that the layout does not allow for this segment.
    pub fn seal_segment(&self, index: u64, last: bool, buffer: &mut [u8]) -> Result<(), Error> {
        if self.chain().is_some() {
            return Err(Error::Chained);
        }
        self.check_limit(index)?;
        assert!(
            self.layout.fits(index, last, buffer.len()),
            "segment {index} cannot have {} bytes",
            buffer.len()
        );
        match &self.cipher {
            StreamCipher::Tink(stream) => stream.seal(index, last, buffer),
            StreamCipher::Cobblestone(stream) => stream.seal(index, buffer),
            StreamCipher::Bare(stream) => {
                stream.xor(self.layout.segment, index, buffer);
                Ok(())
            }
        }
    }

    /// Opens one segment in place; returns how many plaintext bytes now stand at the front of `buffer`.
    ///
    /// `before`: the 16 ciphertext bytes in front of the segment, where [`Stream::needs_block_before`] and `index` > 0.
    /// A buffer that fails holds no plaintext.
    ///
    /// # Errors
    /// [`Error::FirstSegment`], [`Error::DamagedSegment`], [`Error::Truncated`], [`Error::TrailingData`],
    /// [`Error::Padding`], as far as the format can tell them apart; [`Error::TooManySegments`].
    ///
    /// # Panics
    /// If `before` is missing where it is needed.
    pub fn open_segment(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        self.check_limit(index)?;
        self.try_open(index, last, before, buffer).map_err(|fault| self.error(index, fault))
    }

    pub(super) fn try_open(
        &self,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        if !self.layout.fits(index, last, buffer.len()) {
            return Err(NotAuthentic::Damaged);
        }
        match &self.cipher {
            StreamCipher::Tink(stream) => {
                let may_be_cut = last && self.layout.fits(index, false, buffer.len());
                stream.open(index, last, may_be_cut, buffer)
            }
            StreamCipher::Cobblestone(stream) => stream.open(index, buffer),
            StreamCipher::Bare(stream) => stream.open(self.layout.segment, index, last, before, buffer),
        }
    }

    /// True if segments are virtual: any number of them side by side is one piece of work (openssl, raw). What does the
    /// work then sees long pieces, which devices need.
    #[must_use]
    pub fn is_seamless(&self) -> bool {
        matches!(self.cipher, StreamCipher::Bare(_))
    }

    /// Seals the segments from `first` on, which fill `buffer`, of a seamless stream.
    ///
    /// # Errors
    /// As [`Stream::seal_segment`].
    ///
    /// # Panics
    /// If the stream is not seamless.
    pub fn seal_seamless(&self, first: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let StreamCipher::Bare(stream) = &self.cipher else { panic!("this format has segments") };
        if self.chain().is_some() {
            return Err(Error::Chained);
        }
        stream.xor(self.layout.segment, first, buffer);
        Ok(())
    }

    /// Opens the segments from `first` on, which fill `buffer`, of a seamless stream; `last` if the stream ends there.
    /// Returns the number of plaintext bytes.
    ///
    /// # Errors
    /// As [`Stream::open_segment`].
    ///
    /// # Panics
    /// If the stream is not seamless; if `before` is missing where it is needed.
    pub fn open_seamless(
        &self,
        first: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let StreamCipher::Bare(stream) = &self.cipher else { panic!("this format has segments") };
        let opened = stream.open(self.layout.segment, first, last, before, buffer);
        opened.map_err(|fault| self.error(first, fault))
    }

    /// True if opening needs the ciphertext block in front of a segment (CBC).
    #[must_use]
    pub fn needs_block_before(&self) -> bool {
        self.chain().is_some()
    }

    /// The cipher and IV of a chained format (CBC). Its plaintext is padded with [`super::pad`] before it is sealed.
    #[must_use]
    pub fn chain(&self) -> Option<(&Aes, [u8; 16])> {
        match &self.cipher {
            StreamCipher::Bare(stream) => stream.chain(),
            StreamCipher::Tink(_) | StreamCipher::Cobblestone(_) => None,
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
