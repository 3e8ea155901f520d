//! What a stream's first bytes and its length say: whether a key opens it, and whether a plaintext of a given length can have
//! made it.

use super::layout::Layout;
use super::stream::{NotAuthentic, Stream};
use super::{Format, Kind, tink};
use crate::Error;
use crate::age::AgeFault;
use crate::error::IndexFault;
use zeroize::Zeroizing;

impl Format {
    /// Whether the key that seals also opens this stream's first segment: with several keys, whether another one made it
    /// is told apart. A format that authenticates nothing takes any stream with its header. `begin`: the stream's first
    /// [`Format::begin_len`] bytes, or all of it if it is shorter. `is_whole`: `begin` is the whole stream.
    ///
    /// # Errors
    /// [`Error::AssociatedDataUnsupported`]; if the cryptographic library fails.
    pub fn opens_with_primary(
        &self,
        associated_data: &[u8],
        begin: &[u8],
        is_whole: bool,
    ) -> Result<bool, Error> {
        self.check_associated_data(associated_data)?;
        let opened = match &*self.kind {
            Kind::Tink(format) => format.open_with_primary(associated_data, begin),
            Kind::Cobblestone(format) => format.open(associated_data, begin),
            // The header alone shows it. Who can only encrypt cannot tell.
            Kind::Age(format) => return Ok(format.can_open() && format.open(begin).is_ok()),
            Kind::OpenSsl(format) => format.open(begin),
            Kind::Raw(format) => format.open(begin),
        };
        match opened {
            Err(error) if error.is_authentication() => Ok(false),
            Err(error) => Err(error),
            Ok(stream) => Ok(self.try_first_segment(&stream, begin, is_whole).is_ok()),
        }
    }

    /// Whether any of the keys opens this stream's first segment; `begin` and `is_whole` as in
    /// [`Format::opens_with_primary`], but up to [`Format::largest_segment`] bytes. A stream that is cut behind it opens.
    ///
    /// # Errors
    /// If the stream is not in this format, or associated data is not supported.
    pub(crate) fn opens(&self, associated_data: &[u8], begin: &[u8], is_whole: bool) -> Result<bool, Error> {
        let head = &begin[..begin.len().min(self.head_len(begin))];
        let mut scratch = Zeroizing::new(vec![0; begin.len()]);
        match self.open_stream(associated_data, head, is_whole && head.len() == begin.len(), &mut scratch) {
            Err(
                Error::WrongKey { .. }
                | Error::FirstSegment
                | Error::Age(AgeFault::NoMatch { .. } | AgeFault::WrongPassphrase),
            ) => Ok(false),
            Err(error) => Err(error),
            Ok(stream) => Ok(!matches!(
                self.try_first_segment(&stream, begin, is_whole),
                Err(NotAuthentic::Damaged | NotAuthentic::Padding)
            )),
        }
    }

    /// Which key of the keyset opens this stream's first segment, by its identifier, and the stream's layout. `begin` and
    /// `is_whole` as in [`Format::opens_with_primary`], but up to [`Format::largest_segment`] bytes.
    ///
    /// # Errors
    /// [`Error::FirstSegment`] if none does; what else shows that this is no stream of the format; [`IndexFault::Unsupported`] for
    /// a format without keysets.
    pub(crate) fn opening_key(
        &self,
        associated_data: &[u8],
        begin: &[u8],
        is_whole: bool,
    ) -> Result<(u32, Layout), Error> {
        match &*self.kind {
            Kind::Tink(format) => format.opening_key(associated_data, begin, is_whole),
            _ => Err(IndexFault::Unsupported("a keyset").into()),
        }
    }

    fn try_first_segment(&self, stream: &Stream, begin: &[u8], is_whole: bool) -> Result<(), NotAuthentic> {
        if !self.is_authenticated() {
            return Ok(());
        }
        let mut scratch = Zeroizing::new(vec![0; begin.len()]);
        tink::try_first_segment(stream, begin, is_whole, &mut scratch)
    }

    /// Whether this format can open the streams that it makes. age for recipients alone cannot.
    ///
    /// ```
    /// use cipherloom::{Format, age::Identity};
    ///
    /// let identity = Identity::generate()?;
    /// assert!(!Format::age_for([identity.recipient()])?.can_open());
    /// assert!(Format::age_from([identity])?.can_open());
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    #[must_use]
    pub fn can_open(&self) -> bool {
        match &*self.kind {
            Kind::Age(format) => format.can_open(),
            _ => true,
        }
    }

    /// How many bytes from the start of a stream [`Format::opens_with_primary`] wants to see.
    #[must_use]
    pub fn begin_len(&self) -> u64 {
        u64::from(self.layout().header) + u64::from(self.layout().segment)
    }

    /// Whether this format may make a ciphertext of `ciphertext_len` bytes from `plaintext_len` bytes. As precise as the length
    /// of its headers is known before they are made.
    #[must_use]
    pub fn may_make(&self, ciphertext_len: u64, plaintext_len: u64) -> bool {
        match &*self.kind {
            Kind::Age(format) if !format.has_fixed_header() => self.can_hold(ciphertext_len, plaintext_len),
            _ => self.layout().ciphertext_len(plaintext_len) == ciphertext_len,
        }
    }

    /// Whether a ciphertext of `ciphertext_len` bytes under any of the keys can hold `plaintext_len` bytes of plaintext.
    #[must_use]
    pub fn can_hold(&self, ciphertext_len: u64, plaintext_len: u64) -> bool {
        let holds = |layout: Layout| layout.ciphertext_len(plaintext_len) == ciphertext_len;
        match &*self.kind {
            Kind::Tink(format) => format.layouts().any(holds),
            // Headers have any length.
            Kind::Age(_) => {
                Layout { header: 0, ..self.layout() }.ciphertext_len(plaintext_len) < ciphertext_len
            }
            _ => holds(self.layout()),
        }
    }
}
