//! The crate's interface: an expanded key for one backend, and its modes.

use crate::accelerator::{Accelerator, Engine};
use crate::backend::Backend;
use crate::kernels::Kernels;
use crate::schedule::Schedule;
use core::fmt;

/// One stream for [`Aes::cbc_encrypt_lanes`].
pub struct CbcStream<'a> {
    /// The IV on entry; the last ciphertext block on return (unchanged if `buffer` is empty).
    pub chain: [u8; 16],
    /// Plaintext on entry, ciphertext on return; its length is a multiple of 16.
    pub buffer: &'a mut [u8],
}

/// An expanded AES key bound to one backend; zeroised when dropped.
#[derive(Clone)]
pub struct Aes {
    schedule: Schedule,
    kernels: &'static Kernels,
    backend: Backend,
    accelerator: Option<&'static dyn Accelerator>,
    rounds: usize,
}

/// Why a key could not be expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    /// The key has this many bytes, which is no key length of AES.
    Length(usize),
    /// This CPU cannot run that backend.
    Unavailable(Backend),
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyError::Length(length) => {
                write!(
                    out,
                    "an AES key has 16, 24 or 32 bytes, not {length}: check the key and the cipher's name"
                )
            }
            KeyError::Unavailable(backend) => write!(
                out,
                "this CPU has no instructions for backend {}: choose one of those listed as available",
                backend.name()
            ),
        }
    }
}

impl core::error::Error for KeyError {}

/// Shows the backend only, never the key.
impl fmt::Debug for Aes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Aes").field("backend", &self.backend).finish_non_exhaustive()
    }
}

impl Aes {
    /// Expands `key` (16, 24 or 32 bytes; FIPS 197, section 5.2) for a backend, or for an [`Engine`] that has a device
    /// beside it.
    ///
    /// # Errors
    /// [`KeyError::Length`] for any other length; [`KeyError::Unavailable`] when this CPU cannot run the backend.
    pub fn new(key: &[u8], engine: impl Into<Engine>) -> Result<Aes, KeyError> {
        let engine = engine.into();
        let (backend, accelerator) = (engine.backend(), engine.accelerator());
        let size = match key.len() {
            16 => 0,
            24 => 1,
            32 => 2,
            other => return Err(KeyError::Length(other)),
        };
        let kernels = &backend.kernels().ok_or(KeyError::Unavailable(backend))?[size];
        let mut schedule = Schedule::empty();
        // SAFETY: `Backend::kernels` returns a table only if this CPU can run it, and `size` selected the function
        // that expands a key of this length.
        unsafe { (kernels.expand)(key, &mut schedule) };
        Ok(Aes { schedule, kernels, backend, accelerator, rounds: 10 + 2 * size })
    }

    /// The backend this key was expanded for.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Encrypts one block in place (FIPS 197, section 5.1): for known-answer tests and header fields.
    pub fn encrypt_block(&self, block: &mut [u8; 16]) {
        self.cbc_encrypt(&mut [0; 16], block);
    }

    /// Decrypts one block in place (FIPS 197, section 5.3).
    pub fn decrypt_block(&self, block: &mut [u8; 16]) {
        self.cbc_decrypt(&mut [0; 16], block);
    }

    /// XORs the key stream of counter mode (SP 800-38A, section 6.5) into `buffer`, of any length.
    ///
    /// The counter is one 128-bit big-endian number that starts at `initial` and wraps. `buffer` begins at block
    /// `first_block` of the message, so that pieces of one message can be processed separately.
    pub fn ctr_xor(&self, initial: &[u8; 16], first_block: u128, buffer: &mut [u8]) {
        let mut first = u128::from_be_bytes(*initial).wrapping_add(first_block);
        let mut buffer = buffer;
        if let Some(accelerator) = self.accelerator {
            let done = accelerator.ctr_xor(self.round_keys(), first, buffer);
            first = first.wrapping_add(done as u128 / 16);
            buffer = &mut buffer[done..];
        }
        // SAFETY: `self.kernels` came from `Backend::kernels`, which checked the CPU.
        unsafe { (self.kernels.ctr_xor)(&self.schedule, first, buffer) }
    }

    /// Encrypts in place with CBC (SP 800-38A, section 6.2). `chain` is the IV on entry and the last ciphertext block on
    /// return, so that a message can be processed in pieces.
    ///
    /// # Panics
    /// When `buffer.len()` is not a multiple of 16.
    pub fn cbc_encrypt(&self, chain: &mut [u8; 16], buffer: &mut [u8]) {
        let mut stream = CbcStream { chain: *chain, buffer };
        assert_whole_blocks(stream.buffer.len());
        // SAFETY: the CPU was checked by `Backend::kernels`, whole blocks just now.
        unsafe { (self.kernels.cbc_encrypt)(&self.schedule, core::slice::from_mut(&mut stream)) };
        *chain = stream.chain;
    }

    /// Decrypts in place with CBC (SP 800-38A, section 6.2). `chain` is the IV on entry and the last ciphertext block on
    /// return, so that a message can be processed in pieces.
    ///
    /// # Panics
    /// When `buffer.len()` is not a multiple of 16.
    pub fn cbc_decrypt(&self, chain: &mut [u8; 16], buffer: &mut [u8]) {
        assert_whole_blocks(buffer.len());
        let mut buffer = buffer;
        if let Some(accelerator) = self.accelerator {
            let done = accelerator.cbc_decrypt(self.round_keys(), chain, buffer);
            buffer = &mut buffer[done..];
        }
        assert_whole_blocks(buffer.len());
        // SAFETY: the CPU was checked by `Backend::kernels`, whole blocks just now.
        unsafe { (self.kernels.cbc_decrypt)(&self.schedule, chain, buffer) }
    }

    /// Encrypts many independent streams with CBC, interleaved on this core. The result is the same as from
    /// [`cbc_encrypt`](Aes::cbc_encrypt) on each.
    ///
    /// There may be any number of streams of any lengths: a lane that finishes takes the next stream of the slice at
    /// once. Long streams first keep all lanes busy longest.
    ///
    /// # Panics
    /// If the length of a stream's buffer is not a multiple of 16; no stream has changed then.
    pub fn cbc_encrypt_lanes(&self, streams: &mut [CbcStream<'_>]) {
        for stream in streams.iter() {
            assert_whole_blocks(stream.buffer.len());
        }
        // SAFETY: the CPU was checked by `Backend::kernels`, whole blocks just now.
        unsafe { (self.kernels.cbc_encrypt_lanes)(&self.schedule, streams) }
    }

    /// The round keys of the encryption, for a device.
    fn round_keys(&self) -> &[[u8; 16]] {
        &self.schedule.encrypt[..=self.rounds]
    }

    /// Encrypts registers `passes` times without memory traffic, as many independent ones as keep the AES unit busy.
    /// Returns the number of blocks: the benchmark's upper bound for this backend and key size.
    #[doc(hidden)]
    pub fn unit_bound_encrypt(&self, passes: usize) -> usize {
        // SAFETY: the CPU was checked by `Backend::kernels`.
        unsafe { (self.kernels.unit_bound)(&self.schedule, passes) }
    }
}

fn assert_whole_blocks(length: usize) {
    assert!(length.is_multiple_of(16), "CBC works on whole blocks of 16 bytes; pad the {length} bytes first");
}
