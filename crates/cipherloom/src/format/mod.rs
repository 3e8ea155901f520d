//! Formats: what bytes a stream consists of. Never sees a path, a file or a thread.
//!
//! | format | authenticated | segments | standard |
//! |---|---|---|---|
//! | tink | yes | the key's own: 4 KiB, 1 MiB or other | Tink Streaming AEAD |
//! | cobblestone | yes, and committed to its key | 16 KiB | <https://c2sp.org/chunked-encryption> |
//! | age | yes | 64 KiB | <https://c2sp.org/age> |
//! | openssl | no | virtual, 1 MiB | `openssl enc -pbkdf2` |
//! | raw | no | virtual, 1 MiB | NIST SP 800-38A |
//!
//! ```text
//! Format (keys, for the whole run) --seal_stream/open_stream--> Stream (one file's derived keys)
//!     Layout: which bytes are segment i            Stream: seals or opens segment i in place, in any order
//!                                                  segments: whole runs of them
//! ```
//!
//! ```
//! use cipherloom::format::{Cipher, IvPolicy, recognise};
//! use cipherloom::key::{Passphrase, RawKey};
//! use cipherloom::{Format, machine::Backend};
//!
//! let key = RawKey::parse(&[7; 32])?;
//! let passphrase = Passphrase::new(b"correct horse battery staple")?;
//! let formats = [
//!     Format::cobblestone(&key, b"book 1")?,
//!     Format::openssl(Cipher::Aes256Cbc, passphrase, 600_000, Backend::best())?,
//!     Format::raw(Cipher::Aes256Ctr, &key, IvPolicy::Prefixed, Backend::best())?,
//! ];
//! assert_eq!(formats.map(|format| format.is_authenticated()), [true, false, false]);
//!
//! // A file's first bytes show what it may be; no key is needed.
//! assert!(recognise(b"It was a bright cold day in April.", 34).is_empty());
//! # Ok::<(), cipherloom::Error>(())
//! ```

mod aead;
mod age;
mod bare;
mod cipher;
mod cobblestone;
mod derive;
mod digest;
mod header;
mod layout;
mod openssl;
mod padding;
mod probe;
mod raw;
mod recognise;
mod stream;
mod succession;
mod tink;
mod tink_ctr_hmac;

pub use cipher::{Cipher, Mode};
pub(crate) use digest::KeyedHasher;
pub(crate) use header::{SHORT_HEADER, StreamHeader};
pub(crate) use layout::Form;
pub use layout::{LastSegment, Layout};
pub use padding::pad;
pub use raw::IvPolicy;
pub use recognise::{Certainty, Finding, RECOGNISE_LEN, Recognised, recognise};
pub(crate) use stream::Stream;
pub(crate) use succession::Predecessor;

use crate::Error;
use crate::error::KeyFault;
use crate::key::{Keyset, Passphrase, RawKey};
use age::AgeFormat;
use cipherloom_kernels::Engine;
use cobblestone::CobblestoneFormat;
use openssl::OpenSslFormat;
use raw::RawFormat;
use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;
use tink::TinkFormat;

/// The largest segments, in ciphertext bytes, that [`Format::tink`] takes: 64 MiB. Tink itself allows 2 GiB, and nothing of a
/// segment may be used before all of it is in memory.
pub const MAX_SEGMENT_SIZE: u32 = 64 << 20;

/// A format with its keys: what is fixed for a whole run, and shared by all threads. A clone shares the same keys.
#[derive(Clone)]
pub struct Format {
    kind: Arc<Kind>,
}

/// What a format spends its time on, for whoever estimates that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// AES-GCM.
    Gcm,
    /// ChaCha20-Poly1305.
    ChaChaPoly,
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
    Age(AgeFormat),
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
    pub fn tink(keyset: impl Borrow<Keyset>, engine: impl Into<Engine>) -> Result<Self, Error> {
        Self::tink_with_segments_up_to(MAX_SEGMENT_SIZE, keyset, engine)
    }

    /// As [`Format::tink`], with segments of up to this many bytes. Each worker needs memory for one segment.
    ///
    /// # Errors
    /// As [`Format::tink`].
    pub fn tink_with_segments_up_to(
        most: u32,
        keyset: impl Borrow<Keyset>,
        engine: impl Into<Engine>,
    ) -> Result<Self, Error> {
        let keyset = keyset.borrow();
        let sizes = keyset.keys().filter_map(|key| Some((key.id, key.segment_size?)));
        if let Some((id, found)) = sizes.into_iter().find(|(_, size)| *size > most) {
            return Err(Error::KeysetKey { id, fault: KeyFault::SegmentLimit { found, most } });
        }
        Ok(Self { kind: Arc::new(Kind::Tink(TinkFormat::new(keyset, engine.into())?)) })
    }

    /// C2SP chunked encryption: Cobblestone-128 with a key of 16 bytes, Cobblestone-256 with one of 32.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for a key of 24 bytes.
    pub fn cobblestone(key: &RawKey, context: &[u8]) -> Result<Self, Error> {
        Ok(Self { kind: Arc::new(Kind::Cobblestone(CobblestoneFormat::new(key, context)?)) })
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
        Ok(Self {
            kind: Arc::new(Kind::OpenSsl(OpenSslFormat::new(cipher, passphrase, iterations, engine.into())?)),
        })
    }

    /// What `openssl enc -K … -iv …` writes and reads.
    ///
    /// # Errors
    /// [`Error::KeyLength`] if the key does not fit the cipher; [`Error::BackendUnavailable`].
    pub fn raw(cipher: Cipher, key: &RawKey, iv: IvPolicy, engine: impl Into<Engine>) -> Result<Self, Error> {
        Ok(Self { kind: Arc::new(Kind::Raw(RawFormat::new(cipher, key, iv, engine.into())?)) })
    }

    /// The same format, written as text (armor) where a whole file is one stream: into pipes and single files. Only age has
    /// such a form.
    #[doc(hidden)]
    #[must_use]
    pub fn with_armor(&self) -> Self {
        match &*self.kind {
            Kind::Age(format) => Self { kind: Arc::new(Kind::Age(format.armored())) },
            _ => self.clone(),
        }
    }

    /// Whether single streams are written as text.
    #[doc(hidden)]
    #[must_use]
    pub fn is_armored(&self) -> bool {
        matches!(&*self.kind, Kind::Age(format) if format.is_armored())
    }

    /// Whether this is age, whose single streams may be armored.
    pub(crate) fn is_age(&self) -> bool {
        matches!(*self.kind, Kind::Age(_))
    }

    /// The format's name, as the command's `--format` takes it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match &*self.kind {
            Kind::Tink(_) => tink::NAME,
            Kind::Cobblestone(_) => cobblestone::NAME,
            Kind::Age(_) => age::NAME,
            Kind::OpenSsl(_) => openssl::NAME,
            Kind::Raw(_) => raw::NAME,
        }
    }

    /// The identifier of the key that seals, where keys have one (tink). It is no secret.
    #[must_use]
    pub fn key_id(&self) -> Option<u32> {
        match &*self.kind {
            Kind::Tink(format) => Some(format.key_id()),
            Kind::Cobblestone(_) | Kind::Age(_) | Kind::OpenSsl(_) | Kind::Raw(_) => None,
        }
    }

    /// What sealing and opening spend their time on.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match &*self.kind {
            Kind::Tink(format) if format.hashes() => Algorithm::CtrHmac,
            Kind::Tink(_) | Kind::Cobblestone(_) => Algorithm::Gcm,
            Kind::Age(_) => Algorithm::ChaChaPoly,
            Kind::OpenSsl(_) | Kind::Raw(_) if self.is_chained() => Algorithm::Cbc,
            Kind::OpenSsl(_) | Kind::Raw(_) => Algorithm::Ctr,
        }
    }

    /// How much work making a stream's key is, in iterations of PBKDF2-HMAC-SHA256, whatever it is spent on; 0 where keys are
    /// derived at once.
    #[must_use]
    pub fn key_iterations(&self) -> u32 {
        match &*self.kind {
            Kind::OpenSsl(format) => format.iterations(),
            Kind::Age(format) => format.key_iterations(),
            Kind::Tink(_) | Kind::Cobblestone(_) | Kind::Raw(_) => 0,
        }
    }

    /// True if opening tells every change of the ciphertext.
    #[must_use]
    pub fn is_authenticated(&self) -> bool {
        matches!(*self.kind, Kind::Tink(_) | Kind::Cobblestone(_) | Kind::Age(_))
    }

    /// The layout of the streams that this format makes. Whether age's headers have its length is known only once they are
    /// made, where plugins wrap the key: [`Format::may_make`].
    #[must_use]
    pub fn layout(&self) -> Layout {
        match &*self.kind {
            Kind::Tink(format) => format.layout(),
            Kind::Cobblestone(_) => cobblestone::LAYOUT,
            Kind::Age(format) => format.layout(),
            Kind::OpenSsl(format) => format.layout(),
            Kind::Raw(format) => format.layout(),
        }
    }

    /// The largest ciphertext segment that a stream of this format may have, whichever key made it, in bytes: buffers
    /// are sized from it.
    #[must_use]
    pub fn largest_segment(&self) -> u32 {
        match &*self.kind {
            Kind::Tink(format) => format.largest_segment(),
            _ => self.layout().segment,
        }
    }

    /// True if sealing is a chain (CBC): segments must be sealed in order.
    #[must_use]
    pub fn is_chained(&self) -> bool {
        self.layout().last == LastSegment::Padded
    }

    /// True if binding associated data (the relative path) is possible.
    #[must_use]
    pub fn binds_associated_data(&self) -> bool {
        matches!(*self.kind, Kind::Tink(_) | Kind::Cobblestone(_))
    }

    /// How many bytes from the start of a stream are needed to begin reading it (less if the stream is shorter): the header;
    /// with several keys also the first segment, by which the right one is found. `begin`: those that are there, which may show
    /// that more are needed.
    pub(crate) fn head_len(&self, begin: &[u8]) -> usize {
        match &*self.kind {
            Kind::Tink(format) => format.head_len(),
            Kind::Age(_) => age::head_len(begin),
            Kind::Raw(_) => recognise::MARK_LEN,
            _ => self.layout().header as usize,
        }
    }

    /// Whether beginning a stream tries keys on a copy of its first segment.
    pub(crate) fn tries_keys(&self) -> bool {
        matches!(&*self.kind, Kind::Tink(format) if format.head_len() > format.layout().header as usize)
    }

    /// Begins a new stream: fresh random salt or IV, keys derived, `header` filled. `predecessor`: the stream that it takes the
    /// place of, which [`Format::of_successor`] then recognises in the header (tink).
    ///
    /// # Errors
    /// [`Error::Random`]; [`Error::AssociatedDataUnsupported`] if there is associated data and the format cannot bind it;
    /// [`Error::Age`] if age's header cannot be made.
    pub(crate) fn seal_stream(
        &self,
        associated_data: &[u8],
        predecessor: Option<&Predecessor>,
        header: &mut StreamHeader,
    ) -> Result<Stream, Error> {
        self.check_associated_data(associated_data)?;
        let len = self.layout().header;
        match &*self.kind {
            Kind::Tink(format) => format.seal(associated_data, predecessor, header.room(len)),
            Kind::Cobblestone(format) => format.seal(associated_data, header.room(len)),
            Kind::Age(format) => format.seal(header),
            Kind::OpenSsl(format) => format.seal(header.room(len)),
            Kind::Raw(format) => format.seal(header.room(len)),
        }
    }

    /// The format with that one of its keys which made the header of a stream in the place of `predecessor`; `None` if none did.
    /// The key has sealed all of the stream if the format that is returned opens all of it: another key of the keyset may open
    /// what somebody else put behind the header. `begin`: the stream's beginning, with its header. Only tink has such headers.
    pub(crate) fn of_successor(
        &self,
        predecessor: &Predecessor,
        begin: &[u8],
    ) -> Result<Option<Format>, Error> {
        let Kind::Tink(format) = &*self.kind else { return Ok(None) };
        let found = format.of_successor(predecessor, begin)?;
        Ok(found.map(|format| Format { kind: Arc::new(Kind::Tink(format)) }))
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
    pub(crate) fn open_stream(
        &self,
        associated_data: &[u8],
        head: &[u8],
        is_whole: bool,
        scratch: &mut [u8],
    ) -> Result<Stream, Error> {
        self.check_associated_data(associated_data)?;
        match &*self.kind {
            Kind::Tink(format) => format.open(associated_data, head, is_whole, scratch),
            Kind::Cobblestone(format) => format.open(associated_data, head),
            Kind::Age(format) => format.open(head),
            Kind::OpenSsl(format) => format.open(head),
            Kind::Raw(format) => {
                recognise::refuse_marked(raw::NAME, head)?;
                format.open(head)
            }
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
