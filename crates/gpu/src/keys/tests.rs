//! What the circuit makes of keys, against rounds in bytes that are checked by the standard's example.

use super::*;
use crate::circuit::counter::STRETCH_BLOCKS;
use crate::self_test::round_keys;
use crate::tests::noise;
use std::ops::Range;

/// Replaces these bytes by S of them, without its constant, and the others by nothing.
fn substitute(state: &mut Block, bytes: &Range<usize>) {
    let function = substitution::forward(Gates::Two);
    for (place, byte) in state.iter_mut().enumerate() {
        let inputs = std::array::from_fn(|bit| u32::from(*byte >> bit & 1));
        let outputs = function.apply(inputs, &mut vec![0; function.wires()]);
        let value = outputs.iter().rev().fold(0, |value, wire| value << 1 | (wire & 1) as u8);
        *byte = if bytes.contains(&place) { value } else { 0 };
    }
}

fn shift_rows(state: &mut Block) {
    let was = *state;
    for (place, byte) in state.iter_mut().enumerate() {
        *byte = was[(place + 4 * (place % 4)) % 16];
    }
}

fn double(byte: u8) -> u8 {
    (byte << 1) ^ (0x1b & 0_u8.wrapping_sub(byte >> 7))
}

fn mix_columns(state: &mut Block) {
    for column in state.as_chunks_mut::<4>().0 {
        let was = *column;
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

#[test]
fn what_the_circuit_makes_of_keys_is_what_rounds_in_bytes_make() {
    for size in [16, 24, 32] {
        let keys = round_keys(&noise(size));
        for counter in [0, STRETCH_BLOCKS, (1 << 96) - 5, u128::MAX] {
            let mut expected = folded(&keys);
            let mut state = counter.to_be_bytes();
            state.iter_mut().zip(&keys[0]).for_each(|(byte, key)| *byte ^= key);
            substitute(&mut state, &(0..usize::from(COMMON.end)));
            shift_rows(&mut state);
            mix_columns(&mut state);
            expected[1].iter_mut().zip(&state).for_each(|(key, byte)| *key ^= byte);
            assert!(*of_counters(&keys, counter) == *masks(&expected), "{size} {counter:#x}");
        }
        let mut expected = folded(&keys);
        let last = keys.len() - 1;
        expected[1..last].iter_mut().for_each(unmix_columns);
        assert!(*of_inverse(&keys) == *masks(&expected), "{size}");
    }
}
