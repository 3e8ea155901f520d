//! The digest by which an index recognises a plaintext: HMAC-SHA256, cut to 16 bytes. Its key comes from the key that sealed the
//! file, by HKDF-SHA256 with a label of its own, so that it is independent of the keys of all streams.

use super::{Format, Kind, derive};
use crate::Error;
use crate::key::HashType;
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

const LABEL: &[u8] = b"\0cipherloom content digest 1";

/// Computes the digest of one plaintext.
pub(crate) struct ContentHasher(hmac::Context);

impl Format {
    /// Whether the keyset has an enabled key of this identifier.
    pub(crate) fn has_key(&self, key_id: u32) -> bool {
        matches!(&*self.kind, Kind::Tink(format) if format.key_value(key_id).is_some())
    }

    /// Begins a digest for a file that the key of this identifier seals.
    ///
    /// # Errors
    /// [`Error::NoKey`] if the keyset has no such key.
    pub(crate) fn content_hasher(&self, key_id: u32) -> Result<ContentHasher, Error> {
        let Kind::Tink(format) = &*self.kind else { return Err(Error::NoKey) };
        let secret = format.key_value(key_id).ok_or(Error::NoKey)?;
        let mut key = Zeroizing::new([0; 32]);
        derive::hkdf(HashType::Sha256, secret, b"", LABEL, key.as_mut_slice())?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_slice());
        Ok(ContentHasher(hmac::Context::with_key(&key)))
    }
}

impl ContentHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&self.0.sign().as_ref()[..16]);
        digest
    }
}
