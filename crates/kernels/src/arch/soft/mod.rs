//! Portable AES without tables: bitsliced, so neither time nor memory addresses depend on key or text.
//!
//! Eight bit planes of 128 bits hold eight blocks. Byte `i` of plane `b` has bit `b` of byte `i` of the eight
//! blocks:
//!
//! ```text
//!   plane b │ byte 0: bit b of byte 0 of blocks 7 … 0 │ byte 1: … │ … │ byte 15 │
//! ```
//!
//! SubBytes is then a Boolean circuit on whole planes, ShiftRows and MixColumns move bytes inside a plane.

mod linear;
mod substitution;

use crate::kernels::kernel_table;
use crate::vector::{Lanes, Vector};

kernel_table! {
    vector: Planes, single: Planes, lanes: Planes, rows: 1, groups: 1 or 1
}

/// Eight blocks as bit planes; index 0 is the lowest bit.
#[derive(Clone, Copy)]
pub(crate) struct Planes([u128; 8]);

/// The lowest bit of every byte.
const EACH_BYTE: u128 = u128::from_le_bytes([1; 16]);

impl Planes {
    /// Converts eight blocks, each read as a little-endian number: three rounds of swaps transpose the 8 x 8 bits
    /// at each byte position.
    #[inline(always)]
    fn pack(mut rows: [u128; 8]) -> Planes {
        const PAIRS: u128 = u128::from_le_bytes([0x55; 16]);
        const FOURS: u128 = u128::from_le_bytes([0x33; 16]);
        const EIGHTS: u128 = u128::from_le_bytes([0x0f; 16]);
        for first in [0, 2, 4, 6] {
            swap(&mut rows, first, first + 1, 1, PAIRS);
        }
        for first in [0, 1, 4, 5] {
            swap(&mut rows, first, first + 2, 2, FOURS);
        }
        for first in [0, 1, 2, 3] {
            swap(&mut rows, first, first + 4, 4, EIGHTS);
        }
        Planes(rows)
    }

    /// Converts back to the eight blocks; a transposition is its own inverse.
    #[inline(always)]
    fn unpack(self) -> [u128; 8] {
        Planes::pack(self.0).0
    }

    #[inline(always)]
    fn zip(self, other: Planes, combine: impl Fn(u128, u128) -> u128) -> Planes {
        let mut planes = self.0;
        for (plane, other) in planes.iter_mut().zip(other.0) {
            *plane = combine(*plane, other);
        }
        Planes(planes)
    }
}

/// Exchanges the bits of `rows[high]` under `mask` with those of `rows[low]` that are `shift` above.
#[inline(always)]
fn swap(rows: &mut [u128; 8], low: usize, high: usize, shift: u32, mask: u128) {
    let difference = ((rows[low] >> shift) ^ rows[high]) & mask;
    rows[high] ^= difference;
    rows[low] ^= difference << shift;
}

/// # Safety
/// `source` is valid for 16 bytes.
#[inline(always)]
unsafe fn read_block(source: *const u8) -> u128 {
    // SAFETY: the caller's promise; a byte array has no alignment.
    u128::from_le_bytes(unsafe { *source.cast::<[u8; 16]>() })
}

/// # Safety
/// `target` is valid for 16 bytes.
#[inline(always)]
unsafe fn write_block(target: *mut u8, block: u128) {
    // SAFETY: the caller's promise; a byte array has no alignment.
    unsafe { *target.cast::<[u8; 16]>() = block.to_le_bytes() }
}

// A round has some five hundred instructions. Separate functions keep the rounds in the instruction cache.
impl Vector for Planes {
    const WIDTH: usize = 8;
    type Counter = u128;

    #[inline(always)]
    unsafe fn load(source: *const u8) -> Self {
        let mut rows = [0; 8];
        for (index, row) in rows.iter_mut().enumerate() {
            // SAFETY: 128 readable bytes.
            *row = unsafe { read_block(source.add(16 * index)) };
        }
        Planes::pack(rows)
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut u8) {
        for (index, row) in self.unpack().into_iter().enumerate() {
            // SAFETY: 128 writable bytes.
            unsafe { write_block(target.add(16 * index), row) }
        }
    }
    #[inline(always)]
    unsafe fn broadcast(block: &[u8; 16]) -> Self {
        let block = u128::from_le_bytes(*block);
        let mut planes = [0; 8];
        for (bit, plane) in planes.iter_mut().enumerate() {
            let ones = (block >> bit) & EACH_BYTE;
            // Each 1 becomes 0xff, each 0 stays.
            *plane = (ones << 8).wrapping_sub(ones);
        }
        Planes(planes)
    }
    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        self.zip(other, |mine, other| mine ^ other)
    }
    #[inline(always)]
    unsafe fn shift_in(self, previous: Self) -> Self {
        self.zip(previous, |mine, previous| ((mine & !(EACH_BYTE << 7)) << 1) | ((previous >> 7) & EACH_BYTE))
    }

    #[inline(never)]
    unsafe fn encrypt_round(self, _before: Self, key: Self) -> Self {
        let state = Planes(linear::mix_columns(linear::shift_rows(substitution::forward(self.0))));
        // SAFETY: needs no CPU feature.
        unsafe { state.xor(key) }
    }
    #[inline(never)]
    unsafe fn encrypt_last(self, _before: Self, key: Self) -> Self {
        let state = Planes(linear::shift_rows(substitution::forward(self.0)));
        // SAFETY: needs no CPU feature.
        unsafe { state.xor(key) }
    }
    #[inline(never)]
    unsafe fn decrypt_round(self, _before: Self, key: Self) -> Self {
        let state = linear::inverse_shift_rows(substitution::inverse(self.0));
        // SAFETY: needs no CPU feature.
        unsafe { Planes(linear::inverse_mix_columns(state)).xor(key) }
    }
    #[inline(never)]
    unsafe fn decrypt_last(self, _before: Self, key: Self) -> Self {
        let state = Planes(linear::inverse_shift_rows(substitution::inverse(self.0)));
        // SAFETY: needs no CPU feature.
        unsafe { state.xor(key) }
    }

    #[inline(always)]
    unsafe fn counter(first: u128) -> Self::Counter {
        first
    }
    #[inline(always)]
    unsafe fn counter_blocks(counter: Self::Counter, vectors: usize) -> Self {
        let mut rows = [0; 8];
        for (index, row) in rows.iter_mut().enumerate() {
            *row = counter.wrapping_add((8 * vectors + index) as u128).swap_bytes();
        }
        Planes::pack(rows)
    }
    #[inline(always)]
    unsafe fn counter_advance(counter: Self::Counter, vectors: usize) -> Self::Counter {
        counter.wrapping_add(8 * vectors as u128)
    }
}

impl Lanes for Planes {
    #[inline(always)]
    unsafe fn gather(streams: *const *mut u8, offset: usize) -> Self {
        let mut rows = [0; 8];
        for (index, row) in rows.iter_mut().enumerate() {
            // SAFETY: eight valid stream pointers with 16 bytes at `offset`.
            *row = unsafe { read_block((*streams.add(index)).add(offset)) };
        }
        Planes::pack(rows)
    }
    #[inline(always)]
    unsafe fn scatter(self, streams: *const *mut u8, offset: usize) {
        for (index, row) in self.unpack().into_iter().enumerate() {
            // SAFETY: as `gather`.
            unsafe { write_block((*streams.add(index)).add(offset), row) }
        }
    }
}
