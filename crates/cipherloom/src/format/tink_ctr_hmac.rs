//! Tink's AES-CTR-HMAC segments: AES-CTR, then HMAC over nonce and ciphertext.
//!
//! ```text
//! nonce     | the frame's 12 bytes | 0 0 0 0 |       AES-CTR's first counter block: the zeros count blocks
//! segment   | ciphertext | HMAC(nonce, ciphertext), cut to the tag size (10 … 64) |
//! ```

use super::bare;
use super::stream::NotAuthentic;
use crate::{Error, key::HashType};
use aws_lc_rs::{constant_time, hmac};
use cipherloom_kernels::{Aes, Engine};

pub(super) struct CtrHmac {
    aes: Aes,
    hmac: hmac::Key,
    tag_size: usize,
}

impl CtrHmac {
    /// `aes_key`: 16 or 32 bytes. `hmac_key`: 32 bytes.
    pub(super) fn new(
        aes_key: &[u8],
        hmac_key: &[u8],
        hash: HashType,
        tag_size: u32,
        engine: Engine,
    ) -> Result<Self, Error> {
        let algorithm = match hash {
            HashType::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            HashType::Sha256 => hmac::HMAC_SHA256,
            HashType::Sha512 => hmac::HMAC_SHA512,
        };
        let aes = bare::expand_key("AES-CTR-HMAC", aes_key, engine)?;
        Ok(Self { aes, hmac: hmac::Key::new(algorithm, hmac_key), tag_size: tag_size as usize })
    }

    pub(super) fn seal(&self, nonce: [u8; 16], buffer: &mut [u8]) {
        let (text, room) = buffer.split_at_mut(buffer.len() - self.tag_size);
        self.aes.ctr_xor(&nonce, 0, text);
        room.copy_from_slice(&self.tag(nonce, text).as_ref()[..self.tag_size]);
    }

    /// `nonces`: the segment's nonce if it is not the last, and if it is. Nothing is decrypted before the tag is right,
    /// so a failure can be asked whether the other nonce fits.
    pub(super) fn open(
        &self,
        last: bool,
        nonces: [[u8; 16]; 2],
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        let (text, tag) = buffer.split_at_mut(buffer.len() - self.tag_size);
        let nonce = nonces[usize::from(last)];
        if !self.is_tag(nonce, text, tag) {
            let is_other = self.is_tag(nonces[usize::from(!last)], text, tag);
            return Err(match (is_other, last) {
                (true, true) => NotAuthentic::FollowersMissing,
                (true, false) => NotAuthentic::AlreadyLast,
                (false, _) => NotAuthentic::Damaged,
            });
        }
        self.aes.ctr_xor(&nonce, 0, text);
        Ok(text.len())
    }

    fn is_tag(&self, nonce: [u8; 16], text: &[u8], tag: &[u8]) -> bool {
        let expected = self.tag(nonce, text);
        constant_time::verify_slices_are_equal(&expected.as_ref()[..self.tag_size], tag).is_ok()
    }

    fn tag(&self, nonce: [u8; 16], text: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.hmac);
        context.update(&nonce);
        context.update(text);
        context.sign()
    }
}
