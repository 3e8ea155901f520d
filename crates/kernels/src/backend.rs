//! The list of backends: which exist, which this CPU can run, and which is fastest.
//!
//! `--backend`, the tests and the benchmarks all use this one list. A new instruction set adds a file under
//! `arch/`, a variant here, and its line in [`arch::find`].

use crate::arch;
use crate::kernels::Kernels;

/// The instruction set that runs AES.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Backend {
    /// Portable bitsliced code, constant time, on every CPU.
    Soft,
    /// AES-NI: one block per instruction (x86-64).
    Aesni,
    /// VAES on 256-bit vectors: two blocks per instruction (x86-64).
    Vaes256,
    /// VAES on 512-bit vectors: four blocks per instruction (x86-64).
    Vaes512,
    /// The ARMv8 cryptographic extension: one block per instruction pair (AArch64).
    Armv8,
}

impl Backend {
    /// All backends, slowest first among those of one architecture.
    pub const ALL: [Backend; 5] =
        [Backend::Soft, Backend::Aesni, Backend::Vaes256, Backend::Vaes512, Backend::Armv8];

    /// The name used on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Soft => "soft",
            Backend::Aesni => "aesni",
            Backend::Vaes256 => "vaes256",
            Backend::Vaes512 => "vaes512",
            Backend::Armv8 => "armv8",
        }
    }

    /// The backend with this [`name`](Backend::name), whether or not this CPU can run it.
    pub fn from_name(name: &str) -> Option<Backend> {
        Backend::ALL.into_iter().find(|backend| backend.name() == name)
    }

    /// Whether this CPU, under this operating system, can run it.
    pub fn is_available(self) -> bool {
        arch::find(self).is_some_and(|instructions| (instructions.is_available)())
    }

    /// The backends that this CPU can run, in the order of [`Backend::ALL`].
    pub fn available() -> impl Iterator<Item = Backend> {
        Backend::ALL.into_iter().filter(|backend| backend.is_available())
    }

    /// The fastest backend that this CPU can run.
    pub fn best() -> Backend {
        Backend::available().last().unwrap_or(Backend::Soft)
    }

    /// How many CBC streams this backend keeps in flight on one core; more streams than this in one call to
    /// [`Aes::cbc_encrypt_lanes`](crate::Aes::cbc_encrypt_lanes) keep every lane busy until the end.
    pub fn lanes(self) -> usize {
        let instructions = arch::find(self).or_else(|| arch::find(Backend::Soft));
        instructions.map_or(1, |instructions| instructions.kernels[0].lanes)
    }

    /// This backend's functions for 10, 12 and 14 rounds, if this CPU can run them.
    pub(crate) fn kernels(self) -> Option<&'static [Kernels; 3]> {
        let instructions = arch::find(self).filter(|instructions| (instructions.is_available)());
        instructions.map(|instructions| instructions.kernels)
    }
}
