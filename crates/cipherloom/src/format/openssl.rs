//! What `openssl enc -pbkdf2 -salt` writes: a salt, then AES-CBC or AES-CTR with a key from a passphrase.
//!
//! The source is OpenSSL 3's `apps/enc.c`; there is no written standard.
//!
//! ```text
//! header    | "Salted__" (8) | salt (8, random) |
//! body      AES-CBC with PKCS#7 padding, or AES-CTR with the IV as the first counter block
//!
//! AES key (16, 24 or 32) | IV (16) = PBKDF2-HMAC-SHA256(passphrase, salt, iterations: 10,000 by default)
//! ```
//!
//! The passphrase is stretched for every stream anew, for each has its salt: that is this format's cost per file.

use super::bare::{self, BareStream, Key};
use super::cipher::Cipher;
use super::layout::Layout;
use super::stream::{Stream, StreamCipher};
use crate::{Error, key::Passphrase};
use aws_lc_rs::pbkdf2;
use cipherloom_kernels::Engine;
use std::num::NonZeroU32;
use zeroize::Zeroizing;

pub(super) const NAME: &str = "openssl";
pub(super) const MAGIC: &[u8; 8] = b"Salted__";
pub(super) const HEADER: usize = 16;

/// The format with its passphrase.
pub(super) struct OpenSslFormat {
    cipher: Cipher,
    passphrase: Passphrase,
    iterations: NonZeroU32,
    engine: Engine,
}

impl OpenSslFormat {
    pub(super) fn new(
        cipher: Cipher,
        passphrase: Passphrase,
        iterations: u32,
        engine: Engine,
    ) -> Result<Self, Error> {
        let iterations = NonZeroU32::new(iterations).ok_or(Error::NoIterations)?;
        if !engine.backend().is_available() {
            return Err(Error::BackendUnavailable { name: engine.backend().name() });
        }
        Ok(Self { cipher, passphrase, iterations, engine })
    }

    pub(super) fn layout(&self) -> Layout {
        bare::layout(self.cipher.mode(), HEADER as u32)
    }

    pub(super) fn seal(&self, header: &mut [u8]) -> Result<Stream, Error> {
        let (magic, salt) = header.split_at_mut(MAGIC.len());
        magic.copy_from_slice(MAGIC);
        getrandom::fill(salt).map_err(Error::Random)?;
        self.stream(salt)
    }

    pub(super) fn iterations(&self) -> u32 {
        self.iterations.get()
    }

    pub(super) fn open(&self, head: &[u8]) -> Result<Stream, Error> {
        if !head.starts_with(&MAGIC[..head.len().min(MAGIC.len())]) {
            return Err(Error::NotThisFormat { format: NAME, problem: "it does not begin with Salted__" });
        }
        match head.get(MAGIC.len()..HEADER) {
            Some(salt) => self.stream(salt),
            None => {
                let (needed, found) = (HEADER as u64, head.len() as u64);
                Err(Error::HeaderTruncated { format: NAME, needed, found })
            }
        }
    }

    fn stream(&self, salt: &[u8]) -> Result<Stream, Error> {
        let mut derived = Zeroizing::new([0; 32 + 16]);
        let derived = &mut derived[..self.cipher.key_len() + 16];
        let passphrase = self.passphrase.bytes();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, self.iterations, salt, passphrase, derived);
        let (key, iv_bytes) = derived.split_at(self.cipher.key_len());
        let mut iv = [0; 16];
        iv.copy_from_slice(iv_bytes);
        let aes = bare::expand_key(self.cipher.name(), key, self.engine)?;
        let stream = BareStream::new(Key::Own(Box::new(aes)), iv, self.cipher);
        Ok(Stream::new(NAME, self.layout(), u64::MAX, StreamCipher::Bare(stream)))
    }
}
