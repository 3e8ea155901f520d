//! The digest by which an index recognises a plaintext, and the one that is a hidden name: HMAC-SHA256, cut to 16 bytes. Its key comes
//! from the key that seals, by HKDF-SHA256 with a label of its own, so that it is independent of the keys of all streams.

use super::{Format, Kind, derive};
use crate::Error;
use crate::key::HashType;
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

const CONTENT: &[u8] = b"\0cipherloom content digest 1";
const NAME: &[u8] = b"\0cipherloom hidden name 1";

/// Computes one digest.
#[derive(Clone)]
pub(crate) struct KeyedHasher(hmac::Context);

impl Format {
    /// Whether the keyset has an enabled key of this identifier.
    pub(crate) fn has_key(&self, key_id: u32) -> bool {
        matches!(&*self.kind, Kind::Tink(format) if format.key_value(key_id).is_some())
    }

    /// Begins a digest for a file that the key of this identifier seals.
    ///
    /// # Errors
    /// [`Error::NoKey`] if the keyset has no such key.
    pub(crate) fn content_hasher(&self, key_id: u32) -> Result<KeyedHasher, Error> {
        self.keyed_hasher(key_id, CONTENT)
    }

    /// Begins a hidden name, under the primary key.
    ///
    /// # Errors
    /// [`Error::NoKey`] for a format without a keyset.
    pub(crate) fn name_hasher(&self) -> Result<KeyedHasher, Error> {
        self.keyed_hasher(self.key_id().ok_or(Error::NoKey)?, NAME)
    }

    fn keyed_hasher(&self, key_id: u32, label: &[u8]) -> Result<KeyedHasher, Error> {
        let Kind::Tink(format) = &*self.kind else { return Err(Error::NoKey) };
        let secret = format.key_value(key_id).ok_or(Error::NoKey)?;
        let mut key = Zeroizing::new([0; 32]);
        derive::hkdf(HashType::Sha256, secret, b"", label, key.as_mut_slice())?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_slice());
        Ok(KeyedHasher(hmac::Context::with_key(&key)))
    }
}

impl KeyedHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&self.0.sign().as_ref()[..16]);
        digest
    }
}
