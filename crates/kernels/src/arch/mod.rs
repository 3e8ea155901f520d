//! One thin file per instruction set: its [`Vector`](crate::vector::Vector), and whether this CPU has the instructions.
//! Detection also asks the operating system, since it must save the wide registers. Only this needs `std`.

use crate::backend::Backend;
use crate::kernels::Kernels;

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod soft;
#[cfg(target_arch = "x86_64")]
mod x86_64;

/// An instruction set of this architecture.
pub(crate) struct Instructions {
    /// Its functions for 10, 12 and 14 rounds.
    pub(crate) kernels: &'static [Kernels; 3],
    /// Whether this CPU, under this operating system, has it.
    pub(crate) is_available: fn() -> bool,
}

/// What a backend runs, `None` if that belongs to another architecture.
pub(crate) fn find(backend: Backend) -> Option<Instructions> {
    let (kernels, is_available): (_, fn() -> bool) = match backend {
        Backend::Soft => (&soft::KERNELS, || true),
        #[cfg(target_arch = "x86_64")]
        Backend::Aesni => (&x86_64::aesni::KERNELS, x86_64::has_aesni),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes256 => (&x86_64::vaes256::KERNELS, x86_64::has_vaes256),
        #[cfg(target_arch = "x86_64")]
        Backend::Vaes512 => (&x86_64::vaes512::KERNELS, x86_64::has_vaes512),
        #[cfg(target_arch = "aarch64")]
        Backend::Armv8 => (&aarch64::KERNELS, aarch64::has_armv8),
        _ => return None,
    };
    Some(Instructions { kernels, is_available })
}
