//! What a worker's kernel is given of the key, in the place of the product's masks (`keys.rs` of `crates/gpu`).
//!
//! ```text
//! Tile, Direct   128 masks a round, for a stretch of counters
//! Tables         0 … 59 the rounds' words, little-endian │ 60 … 63 nothing │ 64 … 319 the table
//! ```

use super::Worker;
use cipherloom_gpu::internal::{MOST_MASKS, of_counters};
use zeroize::Zeroizing;

/// Where the table begins.
pub(super) const TABLE: usize = 64;

/// `counter`: one of the stretch that the launch is in.
pub(super) fn material(worker: Worker, round_keys: &[[u8; 16]], counter: u128) -> Zeroizing<Vec<u32>> {
    match worker {
        Worker::Tile(_) | Worker::Direct => of_counters(round_keys, counter),
        Worker::Tables(_) => {
            let mut words = Zeroizing::new(vec![0; MOST_MASKS]);
            for (place, word) in words.iter_mut().zip(round_keys.iter().flat_map(|key| key.as_chunks().0)) {
                *place = u32::from_le_bytes(*word);
            }
            words[TABLE..TABLE + 256].copy_from_slice(&table());
            words
        }
    }
}

/// What a byte of the first row brings to its column: S-box and MixColumns in one (Daemen and Rijmen, "The Design of
/// Rijndael", section 4.2), rows from the lowest byte on.
fn table() -> [u32; 256] {
    substitution().map(|byte| {
        let s = u32::from(byte);
        let double = (s << 1) ^ (0x11b * (s >> 7));
        double | s << 8 | s << 16 | (double ^ s) << 24
    })
}

/// The S-box (FIPS 197, section 5.1.1): inverses go in step with powers of 3 and of its inverse.
fn substitution() -> [u8; 256] {
    let mut substituted = [0x63; 256];
    let double = |byte: u8| (byte << 1) ^ (0x1b * (byte >> 7));
    let (mut power, mut inverse) = (1_u8, 1_u8);
    for _ in 0..255 {
        let turned = |bits: u32| inverse.rotate_left(bits);
        substituted[usize::from(power)] = inverse ^ turned(1) ^ turned(2) ^ turned(3) ^ turned(4) ^ 0x63;
        power ^= double(power);
        // Division by 3 is multiplication by 0xf6.
        inverse = (0..8)
            .filter(|bit| 0xf6_u8 >> bit & 1 == 1)
            .fold(0, |sum, bits| sum ^ (0..bits).fold(inverse, |value, _| double(value)));
    }
    substituted
}
