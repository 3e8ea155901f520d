//! AES-GCM over one segment (NIST SP 800-38D), by aws-lc-rs.
//!
//! ```text
//! in:   | plaintext  | room for 16 bytes |
//! out:  | ciphertext | tag               |
//! ```

use super::stream::NotAuthentic;
use crate::Error;
use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroize;

/// Bytes of a tag.
pub(super) const TAG: u32 = 16;

/// A GCM key; the caller chooses the nonces and never repeats one.
pub(super) struct Gcm {
    key: LessSafeKey,
}

impl Gcm {
    /// `key`: 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Result<Self, Error> {
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        let key =
            UnboundKey::new(algorithm, key).map_err(|_| Error::Library { operation: "set up AES-GCM" })?;
        Ok(Self { key: LessSafeKey::new(key) })
    }

    pub(super) fn seal(&self, nonce: [u8; NONCE_LEN], buffer: &mut [u8]) -> Result<(), Error> {
        let (plaintext, room) = buffer.split_at_mut(buffer.len() - TAG as usize);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), plaintext);
        room.copy_from_slice(tag.map_err(|_| Error::Library { operation: "seal a segment" })?.as_ref());
        Ok(())
    }

    /// Returns the plaintext's length. A buffer that fails is zeroised: it may hold plaintext that was never written.
    pub(super) fn open(&self, nonce: [u8; NONCE_LEN], buffer: &mut [u8]) -> Result<usize, NotAuthentic> {
        match self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::empty(), buffer) {
            Ok(plaintext) => Ok(plaintext.len()),
            Err(_) => {
                buffer.zeroize();
                Err(NotAuthentic::Damaged)
            }
        }
    }
}
