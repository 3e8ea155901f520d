//! Cobblestone: C2SP chunked encryption (<https://c2sp.org/chunked-encryption>), as Cobblestone-128 and -256.
//!
//! ```text
//! header    | salt (24, random) | commitment (32) |
//! chunk     | 16 KiB of ciphertext | GCM tag (16) |       the last chunk is always shorter, down to 0 bytes and a tag
//! nonce     base nonce XOR chunk number, both 12 bytes big-endian
//!
//! AES key (16 or 32) | base nonce (12) | commitment (32)
//!     = HKDF-Expand-SHA512(input key, "c2sp.org/chunked-encryption@v1+" | AEAD name | 0x00 | salt | context)
//! ```
//!
//! The commitment ties the stream to key and context, so that a wrong one is told at once and for sure. Associated data
//! (a bound path) goes behind the context: context | 0x00 | associated data; a context that holds
//! a zero byte is refused together with associated data, so that no two pairs make the same context.

use super::aead::{self, Aead};
use super::derive;
use super::layout::{LastSegment, Layout};
use super::stream::{NotAuthentic, Stream, StreamCipher};
use crate::{Error, key::RawKey};
use aws_lc_rs::{
    constant_time,
    hkdf::{HKDF_SHA512, Prk},
};
use zeroize::Zeroizing;

pub(super) const NAME: &str = "cobblestone";
const SALT: usize = 24;
const COMMITMENT: usize = 32;
pub(super) const HEADER: usize = SALT + COMMITMENT;
const NONCE: usize = 12;
const LABEL: &[u8] = b"c2sp.org/chunked-encryption@v1+";
/// 4 PiB; the specification makes readers and writers stop there.
const CHUNK_LIMIT: u64 = 1 << 38;

pub(super) const LAYOUT: Layout = Layout {
    header: HEADER as u32,
    segment: (16 << 10) + aead::TAG,
    overhead: aead::TAG,
    first_deficit: 0,
    last: LastSegment::AlwaysShort,
};

/// The format with its input key.
pub(super) struct CobblestoneFormat {
    input_key: Prk,
    key_len: usize,
    context: Vec<u8>,
}

pub(super) struct CobblestoneStream {
    gcm: Aead,
    base_nonce: [u8; NONCE],
}

impl CobblestoneFormat {
    pub(super) fn new(key: &RawKey, context: &[u8]) -> Result<Self, Error> {
        if key.len() == 24 {
            return Err(Error::KeyLength { cipher: NAME, needed: "16 or 32", found: key.len() });
        }
        Ok(Self {
            input_key: Prk::new_less_safe(HKDF_SHA512, key.bytes()),
            key_len: key.len(),
            context: context.to_vec(),
        })
    }

    pub(super) fn seal(&self, associated_data: &[u8], header: &mut [u8]) -> Result<Stream, Error> {
        let (salt, commitment) = header.split_at_mut(SALT);
        getrandom::fill(salt).map_err(Error::Random)?;
        let derived = self.derive(salt, associated_data)?;
        commitment.copy_from_slice(self.commitment(derived.as_slice()));
        self.stream(derived.as_slice())
    }

    pub(super) fn open(&self, associated_data: &[u8], head: &[u8]) -> Result<Stream, Error> {
        let Some((header, _)) = head.split_at_checked(HEADER) else {
            let (needed, found) = (HEADER as u64, head.len() as u64);
            return Err(Error::HeaderTruncated { format: NAME, needed, found });
        };
        let (salt, commitment) = header.split_at(SALT);
        let derived = self.derive(salt, associated_data)?;
        constant_time::verify_slices_are_equal(self.commitment(derived.as_slice()), commitment)
            .map_err(|_| Error::WrongKey { format: NAME })?;
        self.stream(derived.as_slice()).map(Stream::with_confirmed_key)
    }

    fn derive(
        &self,
        salt: &[u8],
        associated_data: &[u8],
    ) -> Result<Zeroizing<[u8; 32 + NONCE + COMMITMENT]>, Error> {
        let aead: &[u8] = if self.key_len == 16 { b"AEAD_AES_128_GCM\0" } else { b"AEAD_AES_256_GCM\0" };
        if !associated_data.is_empty() && self.context.contains(&0) {
            return Err(Error::AssociatedDataUnsupported { format: NAME });
        }
        let separator: &[u8] = if associated_data.is_empty() { b"" } else { b"\0" };
        let info = [LABEL, aead, salt, &self.context, separator, associated_data];
        let mut derived = Zeroizing::new([0; 32 + NONCE + COMMITMENT]);
        derive::expand(&self.input_key, &info, &mut derived[..self.key_len + NONCE + COMMITMENT])?;
        Ok(derived)
    }

    fn commitment<'a>(&self, derived: &'a [u8]) -> &'a [u8] {
        &derived[self.key_len + NONCE..][..COMMITMENT]
    }

    fn stream(&self, derived: &[u8]) -> Result<Stream, Error> {
        let (key, rest) = derived.split_at(self.key_len);
        let mut stream = CobblestoneStream { gcm: Aead::aes_gcm(key)?, base_nonce: [0; NONCE] };
        stream.base_nonce.copy_from_slice(&rest[..NONCE]);
        Ok(Stream::new(NAME, LAYOUT, CHUNK_LIMIT, StreamCipher::Cobblestone(stream)))
    }
}

impl CobblestoneStream {
    pub(super) fn seal(&self, index: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.gcm.seal(self.nonce(index), buffer)
    }

    pub(super) fn open(&self, index: u64, buffer: &mut [u8]) -> Result<usize, NotAuthentic> {
        self.gcm.open(self.nonce(index), buffer)
    }

    fn nonce(&self, index: u64) -> [u8; NONCE] {
        let mut nonce = self.base_nonce;
        for (byte, number) in nonce[NONCE - 8..].iter_mut().zip(index.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }
}
