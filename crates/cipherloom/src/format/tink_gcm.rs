//! Tink's AES-GCM-HKDF segments: AES-GCM with the frame's 12-byte nonce and no associated data of its own.
//!
//! ```text
//! segment   | ciphertext | GCM tag (16) |
//! ```
//!
//! The stream's associated data is already in the derived key.

use super::gcm::Gcm;
use super::stream::NotAuthentic;
use crate::Error;
use zeroize::Zeroizing;

pub(super) struct TinkGcm {
    gcm: Gcm,
}

impl TinkGcm {
    /// `key`: the derived key, 16 or 32 bytes.
    pub(super) fn new(key: &[u8]) -> Result<Self, Error> {
        Gcm::new(key).map(|gcm| Self { gcm })
    }

    pub(super) fn seal(&self, nonce: [u8; 12], buffer: &mut [u8]) -> Result<(), Error> {
        self.gcm.seal(nonce, buffer)
    }

    /// `not_last`: the nonce this segment has if the stream was cut behind it. GCM overwrites what it fails to open, so
    /// the ciphertext is kept aside for the second question. Only a last segment that is exactly full can be such a cut,
    /// so that this one allocation is rare.
    pub(super) fn open(
        &self,
        nonce: [u8; 12],
        not_last: Option<[u8; 12]>,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        let Some(not_last) = not_last else { return self.gcm.open(nonce, buffer) };
        let mut kept = Zeroizing::new(buffer.to_vec());
        self.gcm.open(nonce, buffer).map_err(|damaged| match self.gcm.open(not_last, &mut kept) {
            Ok(_) => NotAuthentic::FollowersMissing,
            Err(_) => damaged,
        })
    }
}
