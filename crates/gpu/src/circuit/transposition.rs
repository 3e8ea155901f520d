//! Converts between 32 blocks and their bit planes. Each 32-bit word of the blocks is a square of 32 x 32 bits, transposed by
//! five rounds of exchanges. A transposition is its own inverse, so the same steps convert in both directions.
//!
//! Before, wire 32 w + k holds word w of block k; afterwards, bit planes of word w's bits.

use super::{Step, Wire};

pub(super) fn steps() -> impl Iterator<Item = Step> {
    const ROUNDS: [(u32, u32); 5] =
        [(16, 0x0000_ffff), (8, 0x00ff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)];
    (0..4_u16).flat_map(|word| {
        ROUNDS.into_iter().flat_map(move |(shift, mask)| {
            let rows = (0..32_u16).filter(move |row| u32::from(*row) & shift == 0);
            rows.map(move |row| {
                let low = 32 * word + row;
                Step::Exchange { low, high: low + shift as Wire, shift, mask }
            })
        })
    })
}
