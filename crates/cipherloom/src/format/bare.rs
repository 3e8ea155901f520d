//! AES-CTR and AES-CBC without authentication: what the formats openssl and raw have in common.
//!
//! Neither mode has segments. Ours are virtual: 1 MiB each, nothing added, so that CTR both ways and CBC decryption can
//! use every core. CBC encryption is one chain; many of them run interleaved (`engine::encrypt_pieces`).

use super::cipher::{Cipher, Mode};
use super::layout::{LastSegment, Layout};
use super::padding;
use super::stream::NotAuthentic;
use crate::Error;
use cipherloom_kernels::{Aes, Engine, KeyError};
use std::{ops::Deref, sync::Arc};
use zeroize::Zeroize;

const SEGMENT: u32 = 1 << 20;
const BLOCK: u32 = 16;

/// The layout of a stream of this mode behind a header of this many bytes.
pub(super) const fn layout(mode: Mode, header: u32) -> Layout {
    let last = match mode {
        Mode::Cbc => LastSegment::Padded,
        Mode::Ctr => LastSegment::MayBeFull,
    };
    Layout { header, segment: SEGMENT, overhead: 0, first_deficit: 0, last }
}

/// Expands a key for an engine.
pub(super) fn expand_key(cipher: &'static str, key: &[u8], engine: Engine) -> Result<Aes, Error> {
    Aes::new(key, engine).map_err(|error| match error {
        KeyError::Length(found) => Error::KeyLength { cipher, needed: "16, 24 or 32", found },
        KeyError::Unavailable(backend) => Error::BackendUnavailable { name: backend.name() },
    })
}

/// One stream's cipher and IV.
pub(super) struct BareStream {
    aes: Key,
    iv: [u8; 16],
    mode: Mode,
}

/// An expanded key, of this stream alone or of all streams.
pub(super) enum Key {
    Own(Box<Aes>),
    Shared(Arc<Aes>),
}

impl Deref for Key {
    type Target = Aes;

    fn deref(&self) -> &Aes {
        match self {
            Self::Own(aes) => aes,
            Self::Shared(aes) => aes,
        }
    }
}

impl BareStream {
    pub(super) fn new(aes: Key, iv: [u8; 16], cipher: Cipher) -> Self {
        Self { aes, iv, mode: cipher.mode() }
    }

    pub(super) fn chain(&self) -> Option<(&Aes, [u8; 16])> {
        (self.mode == Mode::Cbc).then_some((&*self.aes, self.iv))
    }

    /// Seals whole blocks (CBC) or any bytes (CTR) from the segment `index` on.
    pub(super) fn seal(&self, segment: u32, index: u64, before: Option<&[u8; 16]>, buffer: &mut [u8]) {
        match self.mode {
            Mode::Ctr => self.xor(segment, index, buffer),
            Mode::Cbc => self.aes.cbc_encrypt(&mut self.block_before(index, before), buffer),
        }
    }

    /// CTR, which seals and opens alike.
    fn xor(&self, segment: u32, index: u64, buffer: &mut [u8]) {
        let first_block = u128::from(index) * u128::from(segment / BLOCK);
        self.aes.ctr_xor(&self.iv, first_block, buffer);
    }

    pub(super) fn open(
        &self,
        segment: u32,
        index: u64,
        last: bool,
        before: Option<&[u8; 16]>,
        buffer: &mut [u8],
    ) -> Result<usize, NotAuthentic> {
        if self.mode == Mode::Ctr {
            self.xor(segment, index, buffer);
            return Ok(buffer.len());
        }
        if !buffer.len().is_multiple_of(BLOCK as usize) {
            return Err(NotAuthentic::Damaged);
        }
        self.aes.cbc_decrypt(&mut self.block_before(index, before), buffer);
        if !last {
            return Ok(buffer.len());
        }
        padding::unpad(buffer).ok_or_else(|| {
            buffer.zeroize();
            NotAuthentic::Padding
        })
    }

    fn block_before(&self, index: u64, before: Option<&[u8; 16]>) -> [u8; 16] {
        match index {
            0 => self.iv,
            _ => *before.expect("a chain needs the ciphertext block in front of a segment"),
        }
    }
}
