//! The interface for devices: something that runs AES over whole pieces of memory, beside this processor.

use crate::backend::Backend;
use core::fmt;

/// A device for AES-CTR and CBC decryption, the modes that are parallel inside one message.
///
/// A device processes as much of a buffer's front as it can and leaves the rest unchanged; the processor does the rest. A
/// device that is busy, too slow for a small piece, or lost during a run therefore costs only time.
pub trait Accelerator: fmt::Debug + Sync {
    /// The device's name.
    fn name(&self) -> &str;

    /// XORs the key stream of counter mode (SP 800-38A, section 6.5) from counter `first` on into the front of `buffer`.
    /// Returns the number of bytes done: whole blocks, or all bytes. `round_keys` are the encryption's, in order.
    fn ctr_xor(&self, round_keys: &[[u8; 16]], first: u128, buffer: &mut [u8]) -> usize;

    /// Decrypts the front of `buffer` in place with CBC (SP 800-38A, section 6.2). Returns the number of bytes done: whole
    /// blocks. `chain` is the previous ciphertext block on entry, and the last ciphertext block done on return.
    fn cbc_decrypt(&self, round_keys: &[[u8; 16]], chain: &mut [u8; 16], buffer: &mut [u8]) -> usize;
}

/// What runs AES for a key: a backend of this processor, and optionally a device beside it.
#[derive(Debug, Clone, Copy)]
pub struct Engine {
    backend: Backend,
    accelerator: Option<&'static dyn Accelerator>,
}

impl Engine {
    /// A backend, and a device that gets the work first.
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
