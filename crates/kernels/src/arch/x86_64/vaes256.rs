//! VAES on 256-bit registers (Intel SDM volume 2, VAESENC and related instructions): two blocks.

use super::aesni::Block;
use crate::kernels::kernel_table;
use crate::vector::{Lanes, Vector};
use core::arch::x86_64::*;

kernel_table! {
    #[target_feature(enable = "aes,ssse3,vaes,avx2")]
    vector: TwoBlocks, single: Block, lanes: TwoBlocks, rows: 8, groups: 10 or 4
}

/// Two blocks, the first in the low half.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct TwoBlocks(__m256i);

impl TwoBlocks {
    /// The same block in both halves.
    ///
    /// # Safety
    /// Needs "avx2".
    #[inline(always)]
    unsafe fn both(block: __m128i) -> __m256i {
        // SAFETY: the caller has "avx2".
        unsafe { _mm256_broadcastsi128_si256(block) }
    }
}

impl Vector for TwoBlocks {
    const WIDTH: usize = 2;
    type Counter = __m256i;

    instructions! {
        load: _mm256_loadu_si256, store: _mm256_storeu_si256, xor: _mm256_xor_si256,
        encrypt: _mm256_aesenc_epi128, _mm256_aesenclast_epi128,
        decrypt: _mm256_aesdec_epi128, _mm256_aesdeclast_epi128
    }

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes; the caller has "avx2".
        TwoBlocks(unsafe { Self::both(_mm_loadu_si128(block.as_ptr().cast())) })
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        // SAFETY: the caller has "avx2". 0x21: the high half of the first operand, the low half of the second.
        TwoBlocks(unsafe { _mm256_permute2x128_si256::<0x21>(previous.0, self.0) })
    }

    #[inline(always)]
    unsafe fn counter(first: u128) -> Self::Counter {
        let (high, low) = ((first >> 64) as i64, first as i64);
        // SAFETY: the caller has "avx2".
        unsafe { _mm256_set_epi64x(high, low.wrapping_add(1), high, low) }
    }
    #[inline(always)]
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self {
        // SAFETY: the caller has "avx2".
        unsafe {
            let reverse = Self::both(_mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f));
            TwoBlocks(_mm256_shuffle_epi8(Self::counter_advance(counter, vectors), reverse))
        }
    }
    #[inline(always)]
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter {
        // SAFETY: the caller has "avx2".
        unsafe { _mm256_add_epi64(counter, Self::both(_mm_set_epi64x(0, 2 * vectors as i64))) }
    }
}

impl Lanes for TwoBlocks {
    #[inline(always)]
    unsafe fn gather(streams: *const *mut u8, offset: usize) -> Self {
        // SAFETY: two valid stream pointers with 16 bytes at `offset`.
        unsafe {
            let first = _mm_loadu_si128((*streams).add(offset).cast());
            let second = _mm_loadu_si128((*streams.add(1)).add(offset).cast());
            TwoBlocks(_mm256_inserti128_si256::<1>(_mm256_castsi128_si256(first), second))
        }
    }
    #[inline(always)]
    unsafe fn scatter(self, streams: *const *mut u8, offset: usize) {
        // SAFETY: as `gather`.
        unsafe {
            let blocks = self.0;
            _mm_storeu_si128((*streams).add(offset).cast(), _mm256_castsi256_si128(blocks));
            _mm_storeu_si128((*streams.add(1)).add(offset).cast(), _mm256_extracti128_si256::<1>(blocks));
        }
    }
}
