//! Counter mode (SP 800-38A, section 6.5) with one 128-bit big-endian counter.
//!
//! Files are often small, so the rest after the full rows is not processed block by block, but in rows of four, two
//! and one vectors, which do not wait for each other. Only the last vector may be partial.

use crate::generic::cipher;
use crate::schedule::Schedule;
use crate::vector::Vector;

/// XORs the key stream that starts at counter `first` into `buffer`.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
pub(crate) unsafe fn ctr_xor<V: Vector, const ROWS: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    first: u128,
    buffer: &mut [u8],
) {
    // Vectors count in 64 bits. The buffer is cut where those wrap, which is at most once in 2^64 blocks.
    let blocks_until_carry = (1u128 << 64) - u128::from(first as u64);
    let whole = buffer.len().div_ceil(16) as u128 <= blocks_until_carry;
    let cut = if whole { buffer.len() } else { 16 * blocks_until_carry as usize };
    let (now, after) = buffer.split_at_mut(cut);
    // SAFETY: the caller has the CPU features.
    unsafe { without_carry::<V, ROWS, ROUNDS>(schedule, first, now) };
    if !after.is_empty() {
        let first = first.wrapping_add(blocks_until_carry);
        // SAFETY: as above. A buffer cannot span two carries.
        unsafe { without_carry::<V, 1, ROUNDS>(schedule, first, after) };
    }
}

/// # Safety
/// Needs the CPU features of `V`. The low 64 bits of the counter do not wrap inside `buffer`.
#[inline(always)]
unsafe fn without_carry<V: Vector, const ROWS: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    first: u128,
    buffer: &mut [u8],
) {
    let mut text = buffer.as_mut_ptr();
    let mut left = buffer.len();
    // SAFETY: the caller has the CPU features. A row runs only if `left` bytes at `text` hold it.
    unsafe {
        let mut counter = V::counter(first);
        while left >= ROWS * V::BYTES {
            row::<V, ROWS, ROUNDS>(schedule, counter, text);
            counter = V::counter_advance(counter, ROWS);
            text = text.add(ROWS * V::BYTES);
            left -= ROWS * V::BYTES;
        }
        if ROWS > 4 && left >= 4 * V::BYTES {
            row::<V, 4, ROUNDS>(schedule, counter, text);
            counter = V::counter_advance(counter, 4);
            text = text.add(4 * V::BYTES);
            left -= 4 * V::BYTES;
        }
        if ROWS > 2 && left >= 2 * V::BYTES {
            row::<V, 2, ROUNDS>(schedule, counter, text);
            counter = V::counter_advance(counter, 2);
            text = text.add(2 * V::BYTES);
            left -= 2 * V::BYTES;
        }
        if ROWS > 1 && left >= V::BYTES {
            row::<V, 1, ROUNDS>(schedule, counter, text);
            counter = V::counter_advance(counter, 1);
            text = text.add(V::BYTES);
            left -= V::BYTES;
        }
        if left > 0 {
            partial::<V, ROUNDS>(schedule, counter, core::slice::from_raw_parts_mut(text, left));
        }
    }
}

/// # Safety
/// Needs the CPU features of `V`; `text` is valid for `N` vectors.
#[inline(always)]
unsafe fn row<V: Vector, const N: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    counter: V::Counter,
    text: *mut u8,
) {
    // SAFETY: the caller has the CPU features and gives `N` vectors of text.
    unsafe {
        let states = key_stream::<V, N, ROUNDS>(schedule, counter);
        for (index, state) in states.into_iter().enumerate() {
            let place = text.add(index * V::BYTES);
            V::load(place).xor(state).store(place);
        }
    }
}

/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
unsafe fn key_stream<V: Vector, const N: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    counter: V::Counter,
) -> [V; N] {
    // SAFETY: the caller has the CPU features.
    unsafe {
        let key = V::broadcast(&schedule.encrypt[0]);
        let mut states = [V::counter_blocks(counter, 0).whiten(key); N];
        for (index, state) in states.iter_mut().enumerate().skip(1) {
            *state = V::counter_blocks(counter, index).whiten(key);
        }
        cipher::encrypt::<V, N, ROUNDS>(schedule, &mut states);
        states
    }
}

/// Less than one vector of text.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
unsafe fn partial<V: Vector, const ROUNDS: usize>(schedule: &Schedule, counter: V::Counter, text: &mut [u8]) {
    const { assert!(V::BYTES <= 128) };
    let mut stream = [0u8; 128];
    // SAFETY: the caller has the CPU features; `stream` holds a whole vector.
    unsafe { key_stream::<V, 1, ROUNDS>(schedule, counter)[0].store(stream.as_mut_ptr()) };
    let mut blocks = text.chunks_exact_mut(16);
    let mut keys = stream.chunks_exact(16);
    for (block, key) in blocks.by_ref().zip(keys.by_ref()) {
        for (byte, key) in block.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
    let rest = blocks.into_remainder();
    if let Some(key) = keys.next() {
        for (byte, key) in rest.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
}
