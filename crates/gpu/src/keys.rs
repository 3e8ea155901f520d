//! Round keys as the circuit wants them: one mask of all ones or none for each bit. The S-box's constant 0x63, which is not in
//! the circuit, is added to all but the first.
//!
//! Beside the round keys of FIPS 197, section 5.2, in the order of encryption, there is in the place of
//!
//! - CTR: the key of round 1, that with what a stretch's counters have in common ([`crate::circuit::counter`]);
//! - CBC: the keys of all rounds but the first and the last, those of the equivalent inverse cipher (section 5.3.5).

use crate::circuit::counter::COMMON;
use crate::circuit::{Function, Gates, substitution};
use std::ops::Range;
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Masks of one round key.
pub(crate) const ROUND_MASKS: usize = 128;

/// Masks of the longest key's rounds.
pub(crate) const MOST_MASKS: usize = 15 * ROUND_MASKS;

type Block = [u8; 16];

/// The masks for CTR in the stretch that `counter` is in, and zeros up to [`MOST_MASKS`].
pub(crate) fn of_counters(round_keys: &[Block], counter: u128) -> Zeroizing<Vec<u32>> {
    let mut keys = folded(round_keys);
    let mut state = Zeroizing::new(counter.to_be_bytes());
    add(&mut state, &keys[0]);
    substitute(&mut state, &COMMON);
    shift_rows(&mut state);
    mix_columns(&mut state);
    add(&mut keys[1], &state);
    masks(&keys)
}

/// The masks for decryption of CBC, and zeros up to [`MOST_MASKS`].
pub(crate) fn of_inverse(round_keys: &[Block]) -> Zeroizing<Vec<u32>> {
    let mut keys = folded(round_keys);
    let last = keys.len() - 1;
    for key in &mut keys[1..last] {
        unmix_columns(key);
    }
    masks(&keys)
}

fn folded(round_keys: &[Block]) -> Zeroizing<Vec<Block>> {
    let mut keys = Zeroizing::new(round_keys.to_vec());
    keys[1..].iter_mut().flatten().for_each(|byte| *byte ^= 0x63);
    keys
}

fn masks(keys: &[Block]) -> Zeroizing<Vec<u32>> {
    let mut masks = Zeroizing::new(vec![0; MOST_MASKS]);
    for (place, byte) in masks.chunks_exact_mut(8).zip(keys.as_flattened()) {
        for (bit, mask) in place.iter_mut().enumerate() {
            *mask = 0_u32.wrapping_sub(u32::from(byte >> bit & 1));
        }
    }
    masks
}

fn add(state: &mut Block, key: &Block) {
    state.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
}

/// Replaces these bytes by S of them, without its constant, and the others by nothing. By the circuit, a byte in a lane: a table's
/// look-ups would show in their timing.
fn substitute(state: &mut Block, bytes: &Range<usize>) {
    static FUNCTION: LazyLock<Function> = LazyLock::new(|| substitution::forward(Gates::Two));
    let mut wires = Zeroizing::new(vec![0; FUNCTION.wires()]);
    let lanes = Zeroizing::new(std::array::from_fn(|bit| {
        state.iter().rev().fold(0, |lanes, byte| lanes << 1 | u32::from(byte >> bit & 1))
    }));
    let lanes = Zeroizing::new(FUNCTION.apply(*lanes, &mut wires));
    for (place, byte) in state.iter_mut().enumerate() {
        let bit = |bit: usize| (lanes[bit] >> place & 1) as u8;
        *byte = if bytes.contains(&place) { (0..8).fold(0, |byte, at| byte | bit(at) << at) } else { 0 };
    }
}

fn shift_rows(state: &mut Block) {
    let was = Zeroizing::new(*state);
    for (place, byte) in state.iter_mut().enumerate() {
        *byte = was[(place + 4 * (place % 4)) % 16];
    }
}

fn double(byte: u8) -> u8 {
    (byte << 1) ^ (0x1b & 0_u8.wrapping_sub(byte >> 7))
}

fn mix_columns(state: &mut Block) {
    for column in state.as_chunks_mut::<4>().0 {
        let was = Zeroizing::new(*column);
        let all = was.iter().fold(0, |sum, byte| sum ^ byte);
        for (row, byte) in column.iter_mut().enumerate() {
            *byte ^= all ^ double(was[row] ^ was[(row + 1) % 4]);
        }
    }
}

/// MixColumns of a state to whose rows 4 (a[r] + a[r+2]) was added before.
fn unmix_columns(state: &mut Block) {
    for column in state.as_chunks_mut::<4>().0 {
        let sums = [column[0] ^ column[2], column[1] ^ column[3]].map(|sum| double(double(sum)));
        column.iter_mut().zip(sums.into_iter().cycle()).for_each(|(byte, sum)| *byte ^= sum);
    }
    mix_columns(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 197, appendix B: the state before and after the first round's ShiftRows and MixColumns.
    #[test]
    fn rounds_are_those_of_the_standard() {
        let block = |text: u128| text.to_be_bytes();
        let mut state = block(0x193de3bea0f4e22b9ac68d2ae9f84808);
        substitute(&mut state, &(0..16));
        assert_eq!(state.map(|byte| byte ^ 0x63), block(0xd42711aee0bf98f1b8b45de51e415230));
        state = state.map(|byte| byte ^ 0x63);
        shift_rows(&mut state);
        assert_eq!(state, block(0xd4bf5d30e0b452aeb84111f11e2798e5));
        mix_columns(&mut state);
        assert_eq!(state, block(0x046681e5e0cb199a48f8d37a2806264c));
        unmix_columns(&mut state);
        assert_eq!(state, block(0xd4bf5d30e0b452aeb84111f11e2798e5));
    }
}
