//! One thin file per instruction set: what a [`Vector`](crate::vector::Vector) is there, and whether this CPU
//! has it. Detection asks the operating system too, since it must save the wide registers; that is the one
//! thing for which the crate links `std`.

#[cfg(target_arch = "aarch64")]
pub(crate) mod aarch64;
pub(crate) mod soft;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::has_armv8;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{has_aesni, has_vaes256, has_vaes512};

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use not_x86_64::{has_aesni, has_vaes256, has_vaes512};

#[cfg(not(target_arch = "aarch64"))]
pub(crate) fn has_armv8() -> bool {
    false
}

#[cfg(not(target_arch = "x86_64"))]
mod not_x86_64 {
    pub(crate) fn has_aesni() -> bool {
        false
    }
    pub(crate) fn has_vaes256() -> bool {
        false
    }
    pub(crate) fn has_vaes512() -> bool {
        false
    }
}
