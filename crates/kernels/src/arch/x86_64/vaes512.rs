//! VAES on 512-bit registers (Intel SDM volume 2, VAESENC and its kin): four blocks.

use super::aesni::Block;
use crate::kernels::kernel_table;
use crate::vector::Vector;
use core::arch::x86_64::*;

kernel_table! {
    #[target_feature(enable = "aes,ssse3,vaes,avx2,avx512f,avx512bw,avx512vl")]
    vector: FourBlocks, single: Block, rows: 8, groups: 4 or 1
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
    const STEPS: usize = 4;
    type Tile = [Self; 4];
    type Counter = __m512i;

    #[inline(always)]
    unsafe fn load(source: *const u8) -> Self {
        // SAFETY: 64 readable bytes.
        FourBlocks(unsafe { _mm512_loadu_si512(source.cast()) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut u8) {
        // SAFETY: 64 writable bytes.
        unsafe { _mm512_storeu_si512(target.cast(), self.0) }
    }
    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        // SAFETY: 16 readable bytes; the caller has "avx512f".
        FourBlocks(unsafe { Self::all(_mm_loadu_si128(block.as_ptr().cast())) })
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        // SAFETY: the caller has "avx512f".
        FourBlocks(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        // SAFETY: the caller has "avx512f". The pair (self, previous) moved down by six of its 64-bit words.
        FourBlocks(unsafe { _mm512_alignr_epi64::<6>(self.0, previous.0) })
    }

    #[inline(always)]
    unsafe fn whiten(self, key: Self) -> Self {
        // SAFETY: as `xor`.
        unsafe { self.xor(key) }
    }
    #[inline(always)]
    unsafe fn encrypt_round(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "vaes" and "avx512f".
        FourBlocks(unsafe { _mm512_aesenc_epi128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn encrypt_last(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "vaes" and "avx512f".
        FourBlocks(unsafe { _mm512_aesenclast_epi128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn decrypt_round(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "vaes" and "avx512f".
        FourBlocks(unsafe { _mm512_aesdec_epi128(self.0, key.0) })
    }
    #[inline(always)]
    unsafe fn decrypt_last(self, _before: Self, key: Self) -> Self {
        // SAFETY: the caller has "vaes" and "avx512f".
        FourBlocks(unsafe { _mm512_aesdeclast_epi128(self.0, key.0) })
    }

    #[inline(always)]
    unsafe fn load_tile(streams: *const *mut u8, offset: usize) -> Self::Tile {
        // SAFETY: four valid stream pointers with 64 bytes at `offset`.
        unsafe {
            transpose([
                Self::load((*streams).add(offset)),
                Self::load((*streams.add(1)).add(offset)),
                Self::load((*streams.add(2)).add(offset)),
                Self::load((*streams.add(3)).add(offset)),
            ])
        }
    }
    #[inline(always)]
    unsafe fn store_tile(tile: &Self::Tile, streams: *const *mut u8, offset: usize) {
        // SAFETY: as `load_tile`.
        unsafe {
            let rows = transpose(*tile);
            rows[0].store((*streams).add(offset));
            rows[1].store((*streams.add(1)).add(offset));
            rows[2].store((*streams.add(2)).add(offset));
            rows[3].store((*streams.add(3)).add(offset));
        }
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

/// Makes block `c` of row `r` block `r` of row `c`; its own inverse.
///
/// # Safety
/// Needs "avx512f".
#[inline(always)]
unsafe fn transpose(rows: [FourBlocks; 4]) -> [FourBlocks; 4] {
    // SAFETY: the caller has "avx512f". 0x88 takes the even blocks of both operands, 0xdd the odd ones.
    unsafe {
        let even_01 = _mm512_shuffle_i64x2::<0x88>(rows[0].0, rows[1].0);
        let odd_01 = _mm512_shuffle_i64x2::<0xdd>(rows[0].0, rows[1].0);
        let even_23 = _mm512_shuffle_i64x2::<0x88>(rows[2].0, rows[3].0);
        let odd_23 = _mm512_shuffle_i64x2::<0xdd>(rows[2].0, rows[3].0);
        [
            FourBlocks(_mm512_shuffle_i64x2::<0x88>(even_01, even_23)),
            FourBlocks(_mm512_shuffle_i64x2::<0x88>(odd_01, odd_23)),
            FourBlocks(_mm512_shuffle_i64x2::<0xdd>(even_01, even_23)),
            FourBlocks(_mm512_shuffle_i64x2::<0xdd>(odd_01, odd_23)),
        ]
    }
}
