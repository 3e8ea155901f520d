//! x86-64: AES-NI on one block, VAES on two or four.

/// The methods of a [`Vector`](crate::vector::Vector) of one register that are one instruction each.
macro_rules! instructions {
    (
        load: $load:ident, store: $store:ident, xor: $xor:ident,
        encrypt: $encrypt_round:ident, $encrypt_last:ident,
        decrypt: $decrypt_round:ident, $decrypt_last:ident
    ) => {
        #[inline(always)]
        unsafe fn load(source: *const u8) -> Self {
            // SAFETY: `BYTES` readable bytes, with any alignment.
            Self(unsafe { $load(source.cast()) })
        }
        #[inline(always)]
        unsafe fn store(self, target: *mut u8) {
            // SAFETY: `BYTES` writable bytes, with any alignment.
            unsafe { $store(target.cast(), self.0) }
        }
        #[inline(always)]
        unsafe fn xor(self, other: Self) -> Self {
            // SAFETY: the caller has the vector's CPU features.
            Self(unsafe { $xor(self.0, other.0) })
        }
        #[inline(always)]
        unsafe fn encrypt_round(self, _before: Self, key: Self) -> Self {
            // SAFETY: as `xor`.
            Self(unsafe { $encrypt_round(self.0, key.0) })
        }
        #[inline(always)]
        unsafe fn encrypt_last(self, _before: Self, key: Self) -> Self {
            // SAFETY: as `xor`.
            Self(unsafe { $encrypt_last(self.0, key.0) })
        }
        #[inline(always)]
        unsafe fn decrypt_round(self, _before: Self, key: Self) -> Self {
            // SAFETY: as `xor`.
            Self(unsafe { $decrypt_round(self.0, key.0) })
        }
        #[inline(always)]
        unsafe fn decrypt_last(self, _before: Self, key: Self) -> Self {
            // SAFETY: as `xor`.
            Self(unsafe { $decrypt_last(self.0, key.0) })
        }
    };
}

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
