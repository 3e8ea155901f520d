//! VAES on 512-bit registers (Intel SDM volume 2, VAESENC and related instructions): four blocks.
//!
//! CBC lanes use two-block vectors even here: on Zen 4 that is faster than every tried method of gathering four
//! streams into one register (`docs/decisions/0001-own-instruction-files.md`).

use super::aesni::Block;
use super::vaes256::TwoBlocks;
use crate::kernels::kernel_table;
use crate::vector::Vector;
use core::arch::x86_64::*;

kernel_table! {
    #[target_feature(enable = "aes,ssse3,vaes,avx2,avx512f,avx512bw,avx512vl")]
    vector: FourBlocks, single: Block, lanes: TwoBlocks, rows: 8, groups: 8 or 4
}

/// Four blocks, the first in the lowest quarter.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct FourBlocks(__m512i);

impl FourBlocks {
    /// The same block in every quarter.
    ///
    /// # Safety
    /// Needs "avx512f".
    #[inline(always)]
    unsafe fn all(block: __m128i) -> __m512i {
        // SAFETY: the caller has "avx512f".
        unsafe { _mm512_broadcast_i32x4(block) }
    }
}

impl Vector for FourBlocks {
    const WIDTH: usize = 4;
    type Counter = __m512i;

    instructions! {
        load: _mm512_loadu_si512, store: _mm512_storeu_si512, xor: _mm512_xor_si512,
        encrypt: _mm512_aesenc_epi128, _mm512_aesenclast_epi128,
        decrypt: _mm512_aesdec_epi128, _mm512_aesdeclast_epi128
    }

    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes; the caller has "avx512f".
        FourBlocks(unsafe { Self::all(_mm_loadu_si128(block.as_ptr().cast())) })
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        // SAFETY: the caller has "avx512f". The pair (self, previous) moved down by six of its 64-bit words.
        FourBlocks(unsafe { _mm512_alignr_epi64::<6>(self.0, previous.0) })
    }

    #[inline(always)]
    unsafe fn counter(first: u128) -> Self::Counter {
        // SAFETY: the caller has "avx512f".
        unsafe {
            let first = Self::all(_mm_set_epi64x((first >> 64) as i64, first as i64));
            _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
        }
    }
    #[inline(always)]
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self {
        // SAFETY: the caller has "avx512bw".
        unsafe {
            let reverse = Self::all(_mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f));
            FourBlocks(_mm512_shuffle_epi8(Self::counter_advance(counter, vectors), reverse))
        }
    }
    #[inline(always)]
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter {
        // SAFETY: the caller has "avx512f".
        unsafe { _mm512_add_epi64(counter, Self::all(_mm_set_epi64x(0, 4 * vectors as i64))) }
    }
}
