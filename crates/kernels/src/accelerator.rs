//! The door for devices that are handed in: something that does AES for whole pieces of memory, beside this processor.

use crate::backend::Backend;
use core::fmt;

/// A device for AES-CTR and CBC decryption, the modes that are parallel inside one message.
///
/// It takes as much of a buffer's front as it likes and leaves the rest as it was; the processor does that. So a device
/// that is busy, too slow for a small piece, or lost on the way costs time and nothing else.
pub trait Accelerator: fmt::Debug + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// XORs the key stream of counter mode (SP 800-38A, section 6.5) from counter `first` on into the front of `buffer`;
    /// returns how many bytes are done: whole blocks, or all of them. `round_keys` are those of the encryption, in order.
    fn ctr_xor(&self, round_keys: &[[u8; 16]], first: u128, buffer: &mut [u8]) -> usize;

    /// CBC decryption (SP 800-38A, section 6.2) of the front of `buffer` in place; returns how many bytes are done: whole
    /// blocks. `chain` is the block in front going in, and the last ciphertext block that was done coming out.
    fn cbc_decrypt(&self, round_keys: &[[u8; 16]], chain: &mut [u8; 16], buffer: &mut [u8]) -> usize;
}

/// What works for a key: a backend of this processor, and perhaps a device beside it.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    backend: Backend,
    accelerator: Option<&'static dyn Accelerator>,
}

impl Engine {
    /// A backend, and a device that is asked first.
    #[must_use]
    pub fn with_accelerator(backend: Backend, accelerator: &'static dyn Accelerator) -> Engine {
        Engine { backend, accelerator: Some(accelerator) }
    }

    /// The backend.
    #[must_use]
    pub fn backend(self) -> Backend {
        self.backend
    }

    /// The device.
    #[must_use]
    pub fn accelerator(self) -> Option<&'static dyn Accelerator> {
        self.accelerator
    }
}

impl From<Backend> for Engine {
    fn from(backend: Backend) -> Engine {
        Engine { backend, accelerator: None }
    }
}
