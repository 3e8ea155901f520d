//! The ARMv8 cryptographic extension (Arm ARM, AESE, AESMC, AESD, AESIMC): one block in a NEON register.
//!
//! AESE adds the round key *before* it substitutes, so every round uses the key of the previous round, and the last
//! round key is added separately. AESE and AESMC of one block are adjacent, since cores fuse the pair.
//!
//! The rounds are `#[inline]` with the feature "aes". Elsewhere they are `#[inline(always)]` without a feature, but
//! AArch64's AES intrinsics are `#[inline(always)]` themselves, and the compiler warns about calls without the feature.

use crate::kernels::kernel_table;
use crate::vector::{Lanes, Vector};
use core::arch::aarch64::*;

extern crate std;

pub(crate) fn has_armv8() -> bool {
    std::arch::is_aarch64_feature_detected!("aes")
}

kernel_table! {
    #[target_feature(enable = "neon,aes")]
    vector: Block, single: Block, lanes: Block, rows: 8, groups: 12 or 4
}

/// One block.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Block(uint8x16_t);

impl Vector for Block {
    const WIDTH: usize = 1;
    type Counter = uint64x2_t;

    #[inline(always)]
    unsafe fn load(source: *const u8) -> Self {
        // SAFETY: 16 readable bytes.
        Block(unsafe { vld1q_u8(source) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut u8) {
        // SAFETY: 16 writable bytes.
        unsafe { vst1q_u8(target, self.0) }
    }
    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes.
        unsafe { Self::load(block.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has "neon".
        Block(unsafe { veorq_u8(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    unsafe fn whiten(self, _key: Self) -> Self {
        self
    }
    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn encrypt_round(self, before: Self, _key: Self) -> Self {
        Block(vaesmcq_u8(vaeseq_u8(self.0, before.0)))
    }
    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn encrypt_last(self, before: Self, key: Self) -> Self {
        Block(veorq_u8(vaeseq_u8(self.0, before.0), key.0))
    }
    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn decrypt_round(self, before: Self, _key: Self) -> Self {
        Block(vaesimcq_u8(vaesdq_u8(self.0, before.0)))
    }
    #[inline]
    #[target_feature(enable = "aes")]
    unsafe fn decrypt_last(self, before: Self, key: Self) -> Self {
        Block(veorq_u8(vaesdq_u8(self.0, before.0), key.0))
    }

    #[inline(always)]
    unsafe fn counter(first: u128) -> Self::Counter {
        // SAFETY: the caller has "neon".
        unsafe { vcombine_u64(vcreate_u64(first as u64), vcreate_u64((first >> 64) as u64)) }
    }
    #[inline(always)]
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self {
        // SAFETY: the caller has "neon". Bytes are reversed inside each half, then the halves are swapped.
        unsafe {
            let halves = vrev64q_u8(vreinterpretq_u8_u64(Self::counter_advance(counter, vectors)));
            Block(vextq_u8::<8>(halves, halves))
        }
    }
    #[inline(always)]
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter {
        // SAFETY: the caller has "neon".
        unsafe { vaddq_u64(counter, vcombine_u64(vcreate_u64(vectors as u64), vcreate_u64(0))) }
    }
}

impl Lanes for Block {}
