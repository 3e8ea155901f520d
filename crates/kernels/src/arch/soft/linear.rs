//! ShiftRows and MixColumns (FIPS 197, sections 5.1.2, 5.1.3 and their inverses in 5.3) on bit planes.
//!
//! A plane read as a little-endian number has column `c` in bits `32c` and up, and row `r` in byte `r` of it.

/// One row of every column.
const ROW: u128 = 0x0000_00ff_0000_00ff_0000_00ff_0000_00ff;

#[inline(always)]
pub(super) fn shift_rows(planes: [u128; 8]) -> [u128; 8] {
    turn_rows(planes, [0, 32, 64, 96])
}

#[inline(always)]
pub(super) fn inverse_shift_rows(planes: [u128; 8]) -> [u128; 8] {
    turn_rows(planes, [0, 96, 64, 32])
}

/// Rotates each row by its own number of bits towards the lower columns.
#[inline(always)]
fn turn_rows(mut planes: [u128; 8], bits: [u32; 4]) -> [u128; 8] {
    for plane in &mut planes {
        let mut turned = 0;
        for (row, bits) in bits.into_iter().enumerate() {
            turned |= (*plane & (ROW << (8 * row))).rotate_right(bits);
        }
        *plane = turned;
    }
    planes
}

/// Row `r` of a column becomes `2 a[r] + 3 a[r+1] + a[r+2] + a[r+3]`, computed as `2 (a[r] + a[r+1]) + a[r+1]` plus
/// the sum of the other two.
#[inline(always)]
pub(super) fn mix_columns(planes: [u128; 8]) -> [u128; 8] {
    let mut next = [0; 8];
    let mut sums = [0; 8];
    for bit in 0..8 {
        next[bit] = next_row(planes[bit]);
        sums[bit] = planes[bit] ^ next[bit];
    }
    let doubled = double(sums);
    let mut mixed = [0; 8];
    for bit in 0..8 {
        mixed[bit] = doubled[bit] ^ next[bit] ^ second_next_row(sums[bit]);
    }
    mixed
}

/// The inverse matrix is MixColumns after adding `4 (a[r] + a[r+2])` to each row.
#[inline(always)]
pub(super) fn inverse_mix_columns(planes: [u128; 8]) -> [u128; 8] {
    let mut sums = [0; 8];
    for bit in 0..8 {
        sums[bit] = planes[bit] ^ second_next_row(planes[bit]);
    }
    let quadrupled = double(double(sums));
    let mut prepared = planes;
    for bit in 0..8 {
        prepared[bit] ^= quadrupled[bit];
    }
    mix_columns(prepared)
}

/// Multiplication by x modulo x^8 + x^4 + x^3 + x + 1.
#[inline(always)]
fn double(planes: [u128; 8]) -> [u128; 8] {
    let [p0, p1, p2, p3, p4, p5, p6, p7] = planes;
    [p7, p0 ^ p7, p1, p2 ^ p7, p3 ^ p7, p4, p5, p6]
}

/// Moves row `r + 1` to row `r`.
#[inline(always)]
fn next_row(plane: u128) -> u128 {
    const TOP: u128 = ROW << 24;
    ((plane >> 8) & !TOP) | ((plane & ROW) << 24)
}

/// Moves row `r + 2` to row `r`.
#[inline(always)]
fn second_next_row(plane: u128) -> u128 {
    const LOWER: u128 = ROW | (ROW << 8);
    ((plane >> 16) & LOWER) | ((plane & LOWER) << 16)
}
