//! The backends by name: which exist, which this CPU can run, which is best.
//!
//! `--backend`, the tests and the benchmarks all use this one list. A new instruction set adds a file under
//! `arch/`, a variant here, and its line in each `match`.

use crate::arch;
use crate::kernels::Kernels;

/// The instruction set that does the work.
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
    /// Every backend there is, slowest first among those of one architecture.
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
        match self {
            Backend::Soft => true,
            Backend::Aesni => arch::has_aesni(),
            Backend::Vaes256 => arch::has_vaes256(),
            Backend::Vaes512 => arch::has_vaes512(),
            Backend::Armv8 => arch::has_armv8(),
        }
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
        match self {
            Backend::Soft => arch::soft::LANES,
            #[cfg(target_arch = "x86_64")]
            Backend::Aesni => arch::x86_64::aesni::LANES,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256 => arch::x86_64::vaes256::LANES,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512 => arch::x86_64::vaes512::LANES,
            #[cfg(target_arch = "aarch64")]
            Backend::Armv8 => arch::aarch64::LANES,
            _ => arch::soft::LANES,
        }
    }

    /// This backend's functions for 10, 12 and 14 rounds, if this CPU can run them.
    pub(crate) fn kernels(self) -> Option<&'static [Kernels; 3]> {
        if !self.is_available() {
            return None;
        }
        match self {
            Backend::Soft => Some(&arch::soft::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Backend::Aesni => Some(&arch::x86_64::aesni::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes256 => Some(&arch::x86_64::vaes256::KERNELS),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512 => Some(&arch::x86_64::vaes512::KERNELS),
            #[cfg(target_arch = "aarch64")]
            Backend::Armv8 => Some(&arch::aarch64::KERNELS),
            _ => None,
        }
    }
}
