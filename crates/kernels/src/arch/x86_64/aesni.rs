//! AES-NI (Intel SDM volume 2, AESENC and its kin): one block in a 128-bit register.

use crate::kernels::kernel_table;
use crate::vector::{Lanes, Vector};
use core::arch::x86_64::*;

kernel_table! {
    #[target_feature(enable = "aes,ssse3")]
    vector: Block, single: Block, lanes: Block, rows: 8, groups: 8 or 4
}

/// One block.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Block(__m128i);

/// Reverses the bytes of a block.
const REVERSE: [u8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];

// SAFETY (all blocks): the trait's contract gives the CPU features "aes" and "ssse3" and valid pointers; loads
// and stores are the unaligned kind.
impl Vector for Block {
    const WIDTH: usize = 1;
    type Counter = __m128i;

    #[inline(always)]
    unsafe fn load(source: *const u8) -> Self {
        // SAFETY: 16 readable bytes.
        Block(unsafe { _mm_loadu_si128(source.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut u8) {
        // SAFETY: 16 writable bytes.
        unsafe { _mm_storeu_si128(target.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes.
        unsafe { Self::load(block.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        Block(unsafe { _mm_xor_si128(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        previous
    }

    #[inline(always)]
    unsafe fn whiten(self, key: Self) -> Self {
        // SAFETY: as `xor`.
        unsafe { self.xor(key) }
    }
    #[inline(always)]
    unsafe fn encrypt_round(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "aes".
        Block(unsafe { _mm_aesenc_si128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn encrypt_last(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "aes".
        Block(unsafe { _mm_aesenclast_si128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn decrypt_round(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "aes".
        Block(unsafe { _mm_aesdec_si128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn decrypt_last(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "aes".
        Block(unsafe { _mm_aesdeclast_si128(self.0, key.0) })
    }

    #[inline(always)]
    unsafe fn counter(first: u128) -> Self::Counter {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_set_epi64x((first >> 64) as i64, first as i64) }
    }
    #[inline(always)]
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self {
        // SAFETY: the caller has "ssse3"; REVERSE is 16 bytes.
        unsafe {
            let counter = Self::counter_advance(counter, vectors);
            Block(_mm_shuffle_epi8(counter, _mm_loadu_si128(REVERSE.as_ptr().cast())))
        }
    }
    #[inline(always)]
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_add_epi64(counter, _mm_set_epi64x(0, vectors as i64)) }
    }
}

impl Lanes for Block {
    #[inline(always)]
    unsafe fn gather(streams: *const *mut u8, offset: usize) -> Self {
        // SAFETY: one valid stream pointer with 16 bytes at `offset`.
        unsafe { Self::load((*streams).add(offset)) }
    }
    #[inline(always)]
    unsafe fn scatter(self, streams: *const *mut u8, offset: usize) {
        // SAFETY: as `gather`.
        unsafe { self.store((*streams).add(offset)) }
    }
}
