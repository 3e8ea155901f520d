//! AES-NI (Intel SDM volume 2, AESENC and related instructions): one block in a 128-bit register.

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

impl Vector for Block {
    const WIDTH: usize = 1;
    type Counter = __m128i;

    instructions! {
        load: _mm_loadu_si128, store: _mm_storeu_si128, xor: _mm_xor_si128,
        encrypt: _mm_aesenc_si128, _mm_aesenclast_si128,
        decrypt: _mm_aesdec_si128, _mm_aesdeclast_si128
    }

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes.
        unsafe { Self::load(block.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        previous
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

impl Lanes for Block {}
