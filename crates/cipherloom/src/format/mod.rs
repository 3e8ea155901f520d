//! Formats: what bytes a stream consists of. Never sees a path, a file or a thread.
//!
//! | format | authenticated | segments | standard |
//! |---|---|---|---|
//! | tink | yes | the key's own: 4 KiB, 1 MiB or other | Tink Streaming AEAD |
//! | cobblestone | yes, and committed to its key | 16 KiB | <https://c2sp.org/chunked-encryption> |
//! | openssl | no | virtual, 1 MiB | `openssl enc -pbkdf2` |
//! | raw | no | virtual, 1 MiB | NIST SP 800-38A |
//!
//! ```text
//! Format (keys, for the whole run) --seal_stream/open_stream--> Stream (one file's derived keys)
//!     Layout: which bytes are segment i            Stream: seals or opens segment i in place, in any order
//! ```

mod bare;
mod cipher;
mod cobblestone;
mod derive;
mod gcm;
mod layout;
mod openssl;
mod padding;
mod raw;
mod recognise;
mod stream;
mod tink;
mod tink_ctr_hmac;
mod tink_gcm;

pub use cipher::{Cipher, Mode};
pub use layout::{LastSegment, Layout, Segment};
pub use padding::pad;
pub use raw::IvPolicy;
pub use recognise::{Certainty, Finding, RECOGNISE_LEN, Recognised, recognise};
pub use stream::Stream;

use crate::Error;
use crate::error::KeyFault;
use crate::key::{Keyset, Passphrase, RawKey};
use cipherloom_kernels::Engine;
use cobblestone::CobblestoneFormat;
use openssl::OpenSslFormat;
use raw::RawFormat;
use std::fmt;
use stream::NotAuthentic;
use tink::TinkFormat;
use zeroize::Zeroizing;

/// openssl's own default number of PBKDF2 iterations.
pub const OPENSSL_ITERATIONS: u32 = 10_000;

/// The largest segments, in ciphertext bytes, that [`Format::tink`] takes: 64 MiB. Tink itself allows 2 GiB, and nothing of a
/// segment may be used before all of it is in memory.
pub const MAX_SEGMENT_SIZE: u32 = 64 << 20;

/// A format with its keys: what is fixed for a whole run, and shared by all threads.
pub struct Format {
    kind: Kind,
}

/// What a format spends its time on, for whoever estimates that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// AES-GCM.
    Gcm,
    /// AES-CTR and HMAC over every byte.
    CtrHmac,
    /// AES-CTR.
    Ctr,
    /// AES-CBC.
    Cbc,
}

enum Kind {
    Tink(TinkFormat),
    Cobblestone(CobblestoneFormat),
    OpenSsl(OpenSslFormat),
    Raw(RawFormat),
}

impl Format {
    /// Tink Streaming AEAD: seals with the keyset's primary key, opens with any that is enabled. `engine` serves the
    /// AES-CTR-HMAC keys; AES-GCM is the library's.
    ///
    /// # Errors
    /// [`Error::BackendUnavailable`] if a key needs the backend and the CPU lacks it; [`Error::KeysetKey`] if a key has
    /// segments of more than [`MAX_SEGMENT_SIZE`] bytes.
    pub fn tink(keyset: Keyset, engine: impl Into<Engine>) -> Result<Self, Error> {
        Self::tink_with_segments_up_to(MAX_SEGMENT_SIZE, keyset, engine)
    }

    /// As [`Format::tink`], with segments of up to this many bytes. Each worker needs memory for one segment.
    ///
    /// # Errors
    /// As [`Format::tink`].
    pub fn tink_with_segments_up_to(
        most: u32,
        keyset: Keyset,
        engine: impl Into<Engine>,
    ) -> Result<Self, Error> {
        let sizes = keyset.keys().filter_map(|key| Some((key.id, key.segment_size?)));
        if let Some((id, found)) = sizes.into_iter().find(|(_, size)| *size > most) {
            return Err(Error::KeysetKey { id, fault: KeyFault::SegmentLimit { found, most } });
        }
        Ok(Self { kind: Kind::Tink(TinkFormat::new(keyset, engine.into())?) })
    }

    /// C2SP chunked encryption: Cobblestone-128 with a key of 16 bytes, Cobblestone-256 with one of 32.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of 24 bytes.
    pub fn cobblestone(key: &RawKey, context: &[u8]) -> Result<Self, Error> {
        Ok(Self { kind: Kind::Cobblestone(CobblestoneFormat::new(key, context)?) })
    }

    /// What `openssl enc -pbkdf2 -iter N -salt` writes and reads.
    ///
    /// # Errors
    /// [`Error::NoIterations`], [`Error::BackendUnavailable`].
    pub fn openssl(
        cipher: Cipher,
        passphrase: Passphrase,
        iterations: u32,
        engine: impl Into<Engine>,
    ) -> Result<Self, Error> {
        Ok(Self { kind: Kind::OpenSsl(OpenSslFormat::new(cipher, passphrase, iterations, engine.into())?) })
    }

    /// What `openssl enc -K … -iv …` writes and reads.
    ///
    /// # Errors
    /// [`Error::KeyLength`] if the key does not fit the cipher; [`Error::BackendUnavailable`].
    pub fn raw(cipher: Cipher, key: &RawKey, iv: IvPolicy, engine: impl Into<Engine>) -> Result<Self, Error> {
        Ok(Self { kind: Kind::Raw(RawFormat::new(cipher, key, iv, engine.into())?) })
    }

    /// The format's name, as the command's `--format` takes it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Tink(_) => tink::NAME,
            Kind::Cobblestone(_) => cobblestone::NAME,
            Kind::OpenSsl(_) => openssl::NAME,
            Kind::Raw(_) => raw::NAME,
        }
    }

    /// The identifier of the key that seals, where keys have one (tink). It is no secret.
    #[must_use]
    pub fn key_id(&self) -> Option<u32> {
        match &self.kind {
            Kind::Tink(format) => Some(format.key_id()),
            Kind::Cobblestone(_) | Kind::OpenSsl(_) | Kind::Raw(_) => None,
        }
    }

    /// What sealing and opening spend their time on.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match &self.kind {
            Kind::Tink(format) if format.hashes() => Algorithm::CtrHmac,
            Kind::Tink(_) | Kind::Cobblestone(_) => Algorithm::Gcm,
            Kind::OpenSsl(_) | Kind::Raw(_) if self.is_chained() => Algorithm::Cbc,
            Kind::OpenSsl(_) | Kind::Raw(_) => Algorithm::Ctr,
        }
    }

    /// How often a stream's passphrase is stretched to make its key: iterations of PBKDF2; 0 where keys are derived at once.
    #[must_use]
    pub fn key_iterations(&self) -> u32 {
        match &self.kind {
            Kind::OpenSsl(format) => format.iterations(),
            Kind::Tink(_) | Kind::Cobblestone(_) | Kind::Raw(_) => 0,
        }
    }

    /// True if opening tells every change of the ciphertext.
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        self.binds_associated_data()
    }

    /// The layout of the streams that [`Format::seal_stream`] begins.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match &self.kind {
            Kind::Tink(format) => format.layout(),
            Kind::Cobblestone(_) => cobblestone::LAYOUT,
            Kind::OpenSsl(format) => format.layout(),
            Kind::Raw(format) => format.layout(),
        }
    }

    /// The largest ciphertext segment that a stream of this format may have, whichever key made it, in bytes: buffers
    /// are sized from it.
    #[must_use]
    pub fn largest_segment(&self) -> u32 {
        match &self.kind {
            Kind::Tink(format) => format.largest_segment(),
            _ => self.layout().segment,
        }
    }

    /// True if sealing is a chain (CBC): segments must be sealed in order, [`Stream::chain`] gives the state.
    #[must_use]
    pub fn is_chained(&self) -> bool {
        self.layout().last == LastSegment::Padded
    }

    /// True if binding associated data (the relative path) is possible.
    #[must_use]
    pub fn binds_associated_data(&self) -> bool {
        matches!(self.kind, Kind::Tink(_) | Kind::Cobblestone(_))
    }

    /// How many bytes from the start of a stream [`Format::open_stream`] wants to see (less if the stream is shorter):
    /// the header; with several keys also the first segment, by which the right one is found.
    #[must_use]
    pub fn head_len(&self) -> usize {
        match &self.kind {
            Kind::Tink(format) => format.head_len(),
            Kind::Raw(_) => recognise::MARK_LEN,
            _ => self.layout().header as usize,
        }
    }

    /// Begins a new stream: fresh random salt or IV, keys derived, `header` filled.
    ///
    /// # Errors
    /// [`Error::Random`]; [`Error::AssociatedDataUnsupported`] if there is associated data and the format cannot bind it.
    ///
    /// # Panics
    /// If `header` is not `layout().header` bytes long.
    pub fn seal_stream(&self, associated_data: &[u8], header: &mut [u8]) -> Result<Stream, Error> {
        self.check_associated_data(associated_data)?;
        assert_eq!(header.len(), self.layout().header as usize, "the layout says how long a header is");
        match &self.kind {
            Kind::Tink(format) => format.seal(associated_data, header),
            Kind::Cobblestone(format) => format.seal(associated_data, header),
            Kind::OpenSsl(format) => format.seal(header),
            Kind::Raw(format) => format.seal(header),
        }
    }

    /// Begins reading a stream. `head`: its first [`Format::head_len`] bytes, or all of it if it is shorter. `is_whole`:
    /// `head` is the whole stream. `scratch`: [`Format::largest_segment`] bytes for trying keys.
    ///
    /// # Errors
    /// [`Error::NotThisFormat`], [`Error::HeaderTruncated`]; [`Error::WrongKey`] or [`Error::FirstSegment`] if no key
    /// fits, as far as this can be told before segments are opened; [`Error::AssociatedDataUnsupported`].
    ///
    /// # Panics
    /// If `scratch` is too short.
    pub fn open_stream(
        &self,
        associated_data: &[u8],
        head: &[u8],
        is_whole: bool,
        scratch: &mut [u8],
    ) -> Result<Stream, Error> {
        self.check_associated_data(associated_data)?;
        match &self.kind {
            Kind::Tink(format) => format.open(associated_data, head, is_whole, scratch),
            Kind::Cobblestone(format) => format.open(associated_data, head),
            Kind::OpenSsl(format) => format.open(head),
            Kind::Raw(format) => {
                recognise::refuse_marked(raw::NAME, head)?;
                format.open(head)
            }
        }
    }

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
        let opened = match &self.kind {
            Kind::Tink(format) => format.open_with_primary(associated_data, begin),
            Kind::Cobblestone(format) => format.open(associated_data, begin),
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
    /// As [`Format::open_stream`], but for keys that do not fit.
    pub(crate) fn opens(&self, associated_data: &[u8], begin: &[u8], is_whole: bool) -> Result<bool, Error> {
        let head = &begin[..begin.len().min(self.head_len())];
        let mut scratch = Zeroizing::new(vec![0; begin.len()]);
        match self.open_stream(associated_data, head, is_whole && head.len() == begin.len(), &mut scratch) {
            Err(Error::WrongKey { .. } | Error::FirstSegment) => Ok(false),
            Err(error) => Err(error),
            Ok(stream) => Ok(!matches!(
                self.try_first_segment(&stream, begin, is_whole),
                Err(NotAuthentic::Damaged | NotAuthentic::Padding)
            )),
        }
    }

    fn try_first_segment(&self, stream: &Stream, begin: &[u8], is_whole: bool) -> Result<(), NotAuthentic> {
        if !self.is_authenticated() {
            return Ok(());
        }
        let mut scratch = Zeroizing::new(vec![0; begin.len()]);
        tink::try_first_segment(stream, begin, is_whole, &mut scratch)
    }

    /// How many bytes from the start of a stream [`Format::opens_with_primary`] wants to see.
    #[must_use]
    pub fn begin_len(&self) -> u64 {
        u64::from(self.layout().header) + u64::from(self.layout().segment)
    }

    /// Whether a ciphertext of `ciphertext_len` bytes under any of the keys can hold `plaintext_len` bytes of plaintext.
    #[must_use]
    pub fn can_hold(&self, ciphertext_len: u64, plaintext_len: u64) -> bool {
        let holds = |layout: Layout| layout.ciphertext_len(plaintext_len) == ciphertext_len;
        match &self.kind {
            Kind::Tink(format) => format.layouts().any(holds),
            _ => holds(self.layout()),
        }
    }

    fn check_associated_data(&self, associated_data: &[u8]) -> Result<(), Error> {
        if associated_data.is_empty() || self.binds_associated_data() {
            return Ok(());
        }
        Err(Error::AssociatedDataUnsupported { format: self.name() })
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Format")
            .field("name", &self.name())
            .field("layout", &self.layout())
            .finish_non_exhaustive()
    }
}
