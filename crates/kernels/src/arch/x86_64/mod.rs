//! x86-64: AES-NI on one block, VAES on two or four.

pub(crate) mod aesni;
pub(crate) mod vaes256;
pub(crate) mod vaes512;

extern crate std;
use std::arch::is_x86_feature_detected as has;

pub(crate) fn has_aesni() -> bool {
    has!("aes") && has!("ssse3")
}

pub(crate) fn has_vaes256() -> bool {
    has_aesni() && has!("vaes") && has!("avx2")
}

pub(crate) fn has_vaes512() -> bool {
    has_vaes256() && has!("avx512f") && has!("avx512bw") && has!("avx512vl")
}
