//! Round keys in the form that the circuit needs: for each bit, one mask of all ones or all zeros. The S-box's constant 0x63,
//! which is not in the circuit, is added to all but the first.
//!
//! They are the round keys of FIPS 197, section 5.2, in the order of encryption, with these exceptions:
//!
//! - CTR: the key of round 1 includes what a stretch's counters have in common ([`crate::circuit::counter`]);
//! - CBC: the keys of all rounds but the first and the last are those of the equivalent inverse cipher (section 5.3.5).

use crate::circuit::counter::COMMON;
use crate::circuit::{Function, Gates, STATE, Step, evaluate, linear, substitution};
use std::sync::LazyLock;
use zeroize::Zeroizing;

/// Masks of one round key.
pub(crate) const ROUND_MASKS: usize = 128;

/// Masks of the longest key's rounds.
pub const MOST_MASKS: usize = 15 * ROUND_MASKS;

type Block = [u8; 16];

/// The masks for CTR in the stretch that `counter` is in, and zeros up to [`MOST_MASKS`].
pub fn of_counters(round_keys: &[Block], counter: u128) -> Zeroizing<Vec<u32>> {
    static ROUND: LazyLock<(Function, Vec<Step>)> =
        LazyLock::new(|| (substitution::forward(Gates::Two), linear::mix_columns_of_some(&COMMON)));
    let (substitution, mix) = &*ROUND;
    let mut masks = masks(&folded(round_keys));
    let mut wires = wires(mix);
    for (at, (wire, key)) in wires.iter_mut().zip(&masks[..ROUND_MASKS]).enumerate() {
        *wire = key ^ mask(counter.to_be_bytes()[at / 8], at % 8);
    }
    let mut places = Zeroizing::new(vec![0; substitution.wires()]);
    for byte in wires[..8 * usize::from(COMMON.end)].as_chunks_mut().0 {
        *byte = substitution.apply(*byte, &mut places);
    }
    // The sums are with the key of round 1.
    evaluate(mix, &mut wires, &masks, None);
    masks[ROUND_MASKS..2 * ROUND_MASKS].copy_from_slice(&wires[..ROUND_MASKS]);
    masks
}

/// The masks for decryption of CBC, and zeros up to [`MOST_MASKS`].
pub fn of_inverse(round_keys: &[Block]) -> Zeroizing<Vec<u32>> {
    static UNMIX: LazyLock<Vec<Step>> = LazyLock::new(linear::unmix_columns);
    let mut masks = masks(&folded(round_keys));
    let mut wires = wires(&UNMIX);
    // All rounds at once, each in a lane of its own.
    let rounds = 1..round_keys.len() - 1;
    for round in rounds.clone() {
        for (wire, mask) in wires.iter_mut().zip(&masks[ROUND_MASKS * round..][..ROUND_MASKS]) {
            *wire |= mask & 1 << round;
        }
    }
    evaluate(&UNMIX, &mut wires, &[0; ROUND_MASKS], None);
    for round in rounds {
        for (wire, mask) in wires.iter().zip(&mut masks[ROUND_MASKS * round..][..ROUND_MASKS]) {
            *mask = 0_u32.wrapping_sub(wire >> round & 1);
        }
    }
    masks
}

/// Places for the state and for all that these steps reach beyond it.
fn wires(steps: &[Step]) -> Zeroizing<Vec<u32>> {
    Zeroizing::new(vec![0; 2 * usize::from(STATE) + steps.len()])
}

fn folded(round_keys: &[Block]) -> Zeroizing<Vec<Block>> {
    let mut keys = Zeroizing::new(round_keys.to_vec());
    keys[1..].iter_mut().flatten().for_each(|byte| *byte ^= 0x63);
    keys
}

fn masks(keys: &[Block]) -> Zeroizing<Vec<u32>> {
    let mut masks = Zeroizing::new(vec![0; MOST_MASKS]);
    for (at, place) in masks.iter_mut().take(ROUND_MASKS * keys.len()).enumerate() {
        *place = mask(keys.as_flattened()[at / 8], at % 8);
    }
    masks
}

/// All ones if this bit of the byte is 1.
fn mask(byte: u8, bit: usize) -> u32 {
    0_u32.wrapping_sub(u32::from(byte >> bit & 1))
}

#[cfg(test)]
mod tests;
