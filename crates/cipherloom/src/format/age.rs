//! age v1 (<https://c2sp.org/age>): the payload, behind the header that `crate::age` reads and writes.
//!
//! ```text
//! header    | text, of any length: wraps the file key | nonce (16, random) |
//! chunk     | 64 KiB of ciphertext | Poly1305 tag (16) |       the last 1 … full, or empty if the payload is
//! nonce     | chunk number, big-endian (11) | 1 if last, else 0 (1) |
//!
//! ChaCha20-Poly1305 key (32) = HKDF-SHA256(file key, salt = nonce, info = "payload")
//! ```
//!
//! Every file has a key of its own, so each begins with a wrapping for every recipient.

use super::aead::{self, Aead};
use super::header::StreamHeader;
use super::layout::{LastSegment, Layout};
use super::stream::{NotAuthentic, Stream, StreamCipher};
use super::{Format, Kind};
use crate::Error;
use crate::age::{self, AgeFault, ArmorReader, FileKey, Header, Identity, Parsed, Recipient};
use crate::key::Passphrase;
use std::sync::Arc;

pub(super) const NAME: &str = "age";
pub(super) const CHUNK: u32 = 64 << 10;
const NONCE: usize = 16;

/// So much of a file is looked at first: the header of a few recipients.
const FIRST_LOOK: usize = 8 << 10;

/// Iterations of PBKDF2-HMAC-SHA256 in the time of one wrapping, and of one round of scrypt.
const WRAPPING: u32 = 100;
const SCRYPT_ROUND: u32 = 6;

/// The format with those who may open its files, and what opens them.
#[derive(Clone)]
pub(super) struct AgeFormat {
    recipients: Vec<Recipient>,
    identities: Vec<Identity>,
    /// Whether a single stream is written as text.
    is_armored: bool,
    /// The length of the headers that are written, as far as it is known before.
    header: u32,
}

pub(super) struct AgeStream {
    aead: Aead,
}

impl Format {
    /// age, for these recipients. It encrypts; to decrypt takes [`Format::age_from`]. Every file is encrypted for all of them.
    ///
    /// ```
    /// use cipherloom::{Format, age::Identity};
    ///
    /// let recipient = Identity::generate()?.recipient();
    /// assert_eq!(Format::age_for([recipient])?.name(), "age");
    /// # Ok::<(), cipherloom::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`AgeFault::NoRecipient`]; [`AgeFault::Mixed`] if a passphrase is not alone, or post-quantum recipients are combined
    /// with others. Whether plugins' recipients can be mixed shows when a file is encrypted.
    pub fn age_for(recipients: impl IntoIterator<Item = Recipient>) -> Result<Self, Error> {
        Self::age(recipients, [])
    }

    /// age, with these identities. It decrypts with any of them, and encrypts for the recipients of all.
    ///
    /// # Errors
    /// [`AgeFault::NoIdentity`].
    pub fn age_from(identities: impl IntoIterator<Item = Identity>) -> Result<Self, Error> {
        let identities: Vec<Identity> = identities.into_iter().collect();
        if identities.is_empty() {
            return Err(AgeFault::NoIdentity.into());
        }
        let recipients = identities.iter().map(Identity::recipient).collect();
        Ok(Self { kind: Arc::new(Kind::Age(AgeFormat::new(recipients, identities))) })
    }

    /// age, with recipients to encrypt for and identities to decrypt with: a re-keying in place then recognises the files that
    /// an earlier run has done.
    ///
    /// # Errors
    /// As [`Format::age_for`].
    pub fn age(
        recipients: impl IntoIterator<Item = Recipient>,
        identities: impl IntoIterator<Item = Identity>,
    ) -> Result<Self, Error> {
        let recipients: Vec<Recipient> = recipients.into_iter().collect();
        age::check_mixed(&recipients)?;
        let format = AgeFormat::new(recipients, identities.into_iter().collect());
        Ok(Self { kind: Arc::new(Kind::Age(format)) })
    }

    /// age, with a passphrase for both ways: age's own work factor, and its limit on what files may ask for. For others, pass
    /// [`Recipient::from_passphrase`] and [`Identity::from_passphrase`] to [`Format::age`].
    ///
    /// # Errors
    /// [`Error::PassphraseUnfit`] if it is not UTF-8.
    pub fn age_passphrase(passphrase: Passphrase) -> Result<Self, Error> {
        let recipient = Recipient::from_passphrase(passphrase.clone(), None)?;
        Self::age([recipient], [Identity::from_passphrase(passphrase, None)?])
    }
}

impl AgeFormat {
    pub(super) fn new(recipients: Vec<Recipient>, identities: Vec<Identity>) -> Self {
        let header = age::header_len(&recipients) + NONCE;
        Self { recipients, identities, is_armored: false, header: u32::try_from(header).unwrap_or(u32::MAX) }
    }

    pub(super) fn armored(&self) -> Self {
        Self { is_armored: true, ..self.clone() }
    }

    pub(super) fn is_armored(&self) -> bool {
        self.is_armored
    }

    pub(super) fn layout(&self) -> Layout {
        layout(self.header)
    }

    /// Whether every header that is written has the length of [`AgeFormat::layout`].
    pub(super) fn has_fixed_header(&self) -> bool {
        self.recipients.iter().all(Recipient::has_fixed_length)
    }

    /// What a file's header costs, in iterations of PBKDF2-HMAC-SHA256: for each recipient two multiplications on a curve, or
    /// scrypt.
    pub(super) fn key_iterations(&self) -> u32 {
        let of = |recipient: &Recipient| match recipient.work_factor() {
            Some(work_factor) => SCRYPT_ROUND << work_factor.min(28),
            None => WRAPPING,
        };
        self.recipients.iter().map(of).fold(0, u32::saturating_add)
    }

    pub(super) fn can_open(&self) -> bool {
        !self.identities.is_empty()
    }

    pub(super) fn seal(&self, header: &mut StreamHeader) -> Result<Stream, Error> {
        let key = FileKey::generate()?;
        let mut text = age::wrap_key(&self.recipients, &key)?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(Error::Random)?;
        text.extend_from_slice(&nonce);
        let stream = stream(&key, &nonce, text.len())?;
        header.set(text);
        Ok(stream)
    }

    pub(super) fn open(&self, head: &[u8]) -> Result<Stream, Error> {
        if age::is_armored(head) {
            let problem = "it is armored: its binary form is inside";
            return Err(Error::NotThisFormat { format: NAME, problem });
        }
        let header = Header::parse_whole(head)?;
        let key = age::unwrap_key(&header, head, &self.identities)?;
        match head[header.len..].first_chunk() {
            Some(nonce) => stream(&key, nonce, header.len + NONCE),
            None => {
                let (needed, found) = ((header.len + NONCE) as u64, head.len() as u64);
                Err(Error::HeaderTruncated { format: NAME, needed, found })
            }
        }
    }
}

/// How many first bytes of a stream are needed to begin it, as far as those in `begin` tell.
pub(super) fn head_len(begin: &[u8]) -> usize {
    match Header::parse(begin) {
        Ok(Parsed::Whole(header)) => header.len + NONCE,
        Ok(Parsed::Incomplete) => FIRST_LOOK.max(2 * begin.len()),
        // What is wrong with it shows already.
        Err(_) => begin.len(),
    }
}

/// The types of recipients in a file's header, and how many bytes of plaintext a binary file of this length has, as far as
/// its first bytes tell.
pub(super) fn describe(head: &[u8], length: u64) -> (Vec<String>, Option<u64>) {
    let binary = ArmorReader::read_header(head).unwrap_or_default();
    let Ok(header) = Header::parse_whole(&binary) else { return (Vec::new(), None) };
    let types = header.stanzas.iter().map(|stanza| stanza.kind.clone()).collect();
    let payload = u32::try_from(header.len + NONCE).ok().map(layout);
    (types, payload.and_then(|layout| layout.plaintext_len(length).ok()))
}

fn stream(key: &FileKey, nonce: &[u8; NONCE], header: usize) -> Result<Stream, Error> {
    let key = key.payload_key(nonce)?;
    let aead = Aead::chacha20_poly1305(&key)?;
    let header = u32::try_from(header).map_err(|_| AgeFault::Header { problem: "it is too long" })?;
    // The header's code was authentic, so the key is right.
    let stream = Stream::new(NAME, layout(header), u64::MAX, StreamCipher::Age(AgeStream { aead }));
    Ok(stream.with_confirmed_key())
}

const fn layout(header: u32) -> Layout {
    let (segment, overhead) = (CHUNK + aead::TAG, aead::TAG);
    Layout { header, segment, overhead, first_deficit: 0, last: LastSegment::MayBeFull }
}

impl AgeStream {
    pub(super) fn seal(&self, index: u64, last: bool, buffer: &mut [u8]) -> Result<(), Error> {
        self.aead.seal(nonce(index, last), buffer)
    }

    /// `may_be_cut`: the segment stands last and is full, so that the stream may have been cut behind it. `explains`: whether
    /// a segment with followers may cost a copy, so that one which was sealed as the last is told from damage.
    ///
    /// A segment that is authentic, and only not where it should be, is left in `buffer`.
    pub(super) fn open(
        &self,
        index: u64,
        last: bool,
        may_be_cut: bool,
        explains: bool,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        let other = match last {
            true => may_be_cut.then(|| (nonce(index, false), NotAuthentic::FollowersMissing)),
            false => explains.then(|| (nonce(index, true), NotAuthentic::AlreadyLast)),
        };
        self.aead.open_or_explain(nonce(index, last), other, buffer)
    }
}

fn nonce(index: u64, last: bool) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&index.to_be_bytes());
    nonce[11] = u8::from(last);
    nonce
}
