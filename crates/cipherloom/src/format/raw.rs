//! AES-CBC or AES-CTR with a given key, bit for bit what `openssl enc -K … -iv …` gives.
//!
//! NIST SP 800-38A, sections 6.2 and 6.5; PKCS#7 padding (RFC 5652, section 6.3) with CBC.
//!
//! ```text
//! IV in front   | IV (16, random) | body |        IV given   | body |
//! ```

use super::bare::{self, BareStream, Key};
use super::cipher::Cipher;
use super::layout::Layout;
use super::stream::{Stream, StreamCipher};
use crate::{Error, key::RawKey};
use cipherloom_kernels::{Aes, Engine};
use std::sync::Arc;

pub(super) const NAME: &str = "raw";

/// Where a stream's IV comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IvPolicy {
    /// A random one for each stream, written in front of it.
    Prefixed,
    /// This one for every stream, written nowhere. With CTR, two streams then share their key stream: whoever has both
    /// ciphertexts has the XOR of the plaintexts.
    Fixed([u8; 16]),
}

/// The format with its key.
pub(super) struct RawFormat {
    cipher: Cipher,
    aes: Arc<Aes>,
    iv: IvPolicy,
}

impl RawFormat {
    pub(super) fn new(cipher: Cipher, key: &RawKey, iv: IvPolicy, engine: Engine) -> Result<Self, Error> {
        if key.len() != cipher.key_len() {
            let needed = match cipher.key_len() {
                16 => "16",
                24 => "24",
                _ => "32",
            };
            return Err(Error::KeyLength { cipher: cipher.name(), needed, found: key.len() });
        }
        let aes = Arc::new(bare::expand_key(cipher.name(), key.bytes(), engine)?);
        Ok(Self { cipher, aes, iv })
    }

    pub(super) fn layout(&self) -> Layout {
        let header = match self.iv {
            IvPolicy::Prefixed => 16,
            IvPolicy::Fixed(_) => 0,
        };
        bare::layout(self.cipher.mode(), header)
    }

    pub(super) fn seal(&self, header: &mut [u8]) -> Result<Stream, Error> {
        getrandom::fill(header).map_err(Error::Random)?;
        self.open(header)
    }

    pub(super) fn open(&self, head: &[u8]) -> Result<Stream, Error> {
        let iv = match (self.iv, head.first_chunk()) {
            (IvPolicy::Fixed(iv), _) => iv,
            (IvPolicy::Prefixed, Some(iv)) => *iv,
            (IvPolicy::Prefixed, None) => {
                return Err(Error::HeaderTruncated { format: NAME, needed: 16, found: head.len() as u64 });
            }
        };
        let stream = BareStream::new(Key::Shared(Arc::clone(&self.aes)), iv, self.cipher);
        Ok(Stream::new(NAME, self.layout(), u64::MAX, StreamCipher::Bare(stream)))
    }
}
