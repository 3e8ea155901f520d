//! AES on this CPU: bytes in, bytes out; no files, no threads, no heap.
#![allow(missing_docs, unused)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    Soft,
    Aesni,
    Vaes256,
    Vaes512,
    Armv8,
}
impl Backend {
    pub const ALL: [Backend; 5] =
        [Backend::Soft, Backend::Aesni, Backend::Vaes256, Backend::Vaes512, Backend::Armv8];
    pub fn name(self) -> &'static str {
        unimplemented!()
    }
    pub fn from_name(name: &str) -> Option<Backend> {
        unimplemented!()
    }
    pub fn is_available(self) -> bool {
        unimplemented!()
    }
    pub fn best() -> Backend {
        unimplemented!()
    }
    /// How many CBC streams this backend keeps in flight on one core.
    pub fn lanes(self) -> usize {
        unimplemented!()
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidKeyLength(pub usize);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendUnavailable(pub Backend);
/// An expanded AES key bound to one backend; zeroised when dropped.
#[derive(Clone)]
pub struct Aes {}
impl Aes {
    /// `key`: 16, 24 or 32 bytes.
    pub fn new(key: &[u8], backend: Backend) -> Result<Aes, KeyError> {
        unimplemented!()
    }
    pub fn backend(&self) -> Backend {
        unimplemented!()
    }
    /// XORs the key stream of blocks `first_block`, `first_block + 1`, … of the 128-bit big-endian counter that starts at `initial` into `buffer`.
    pub fn ctr_xor(&self, initial: &[u8; 16], first_block: u128, buffer: &mut [u8]) {
        unimplemented!()
    }
    /// In place; `buffer.len()` is a multiple of 16. `chain` is the IV going in and the last ciphertext block coming out.
    pub fn cbc_encrypt(&self, chain: &mut [u8; 16], buffer: &mut [u8]) {
        unimplemented!()
    }
    pub fn cbc_decrypt(&self, chain: &mut [u8; 16], buffer: &mut [u8]) {
        unimplemented!()
    }
    /// Many independent streams interleaved; a finished lane is refilled from the rest of `streams` at once.
    pub fn cbc_encrypt_lanes(&self, streams: &mut [CbcStream<'_>]) {
        unimplemented!()
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    Length(usize),
    Unavailable(Backend),
}
/// One stream for [`Aes::cbc_encrypt_lanes`].
pub struct CbcStream<'a> {
    pub chain: [u8; 16],
    pub buffer: &'a mut [u8],
}
