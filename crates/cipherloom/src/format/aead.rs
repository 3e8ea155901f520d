//! An AEAD over one segment, by aws-lc-rs: AES-GCM (NIST SP 800-38D) or ChaCha20-Poly1305 (RFC 8439).
//!
//! ```text
//! in:   | plaintext  | room for 16 bytes |
//! out:  | ciphertext | tag               |
//! ```

use super::stream::NotAuthentic;
use crate::Error;
use aws_lc_rs::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a tag.
pub(super) const TAG: u32 = 16;

/// A key; the caller chooses the nonces and never repeats one.
pub(super) struct Aead {
    key: LessSafeKey,
}

impl Aead {
    /// `key`: 16 or 32 bytes.
    pub(super) fn aes_gcm(key: &[u8]) -> Result<Self, Error> {
        Self::new(if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM }, key)
    }

    pub(super) fn chacha20_poly1305(key: &[u8; 32]) -> Result<Self, Error> {
        Self::new(&CHACHA20_POLY1305, key)
    }

    fn new(algorithm: &'static Algorithm, key: &[u8]) -> Result<Self, Error> {
        let key = UnboundKey::new(algorithm, key).map_err(|_| Error::internal("the AEAD refused its key"))?;
        Ok(Self { key: LessSafeKey::new(key) })
    }

    pub(super) fn seal(&self, nonce: [u8; NONCE_LEN], buffer: &mut [u8]) -> Result<(), Error> {
        let (plaintext, room) = buffer.split_at_mut(buffer.len() - TAG as usize);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), plaintext);
        room.copy_from_slice(
            tag.map_err(|_| Error::internal("the AEAD refused to encrypt a segment"))?.as_ref(),
        );
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

    /// As [`Aead::open`], for a nonce that says which segment is the last. `other`: the nonce this segment has if what follows
    /// was cut off or added, and which of the two it was. A cipher overwrites what it fails to open, so the ciphertext is kept
    /// aside for the second question.
    ///
    /// What the second nonce opens is authentic, and is left at the front of `buffer` with the error.
    pub(super) fn open_or_explain(
        &self,
        nonce: [u8; NONCE_LEN],
        other: Option<([u8; NONCE_LEN], NotAuthentic)>,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        let Some((other, fault)) = other else { return self.open(nonce, buffer) };
        let mut kept = Zeroizing::new(buffer.to_vec());
        self.open(nonce, buffer).map_err(|damaged| match self.open(other, &mut kept) {
            Ok(len) => {
                buffer[..len].copy_from_slice(&kept[..len]);
                fault
            }
            Err(_) => damaged,
        })
    }
}
