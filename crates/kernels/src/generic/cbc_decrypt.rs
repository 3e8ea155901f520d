//! CBC decryption (SP 800-38A, section 6.2): blocks do not wait for each other, so they run in rows of vectors.
//!
//! It works in place. A row is read completely first, and then written from its end to its beginning. The ciphertext
//! before a vector therefore still exists when the vector is XORed with it.

use crate::generic::cipher;
use crate::schedule::Schedule;
use crate::vector::Vector;

/// Decrypts `buffer`; `chain` is the IV on entry, and the last ciphertext block on return.
///
/// # Safety
/// Needs the CPU features of `V`; `buffer` is whole blocks.
#[inline(always)]
pub(crate) unsafe fn cbc_decrypt<V: Vector, const ROWS: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    chain: &mut [u8; 16],
    buffer: &mut [u8],
) {
    let Some(last) = buffer.last_chunk::<16>().copied() else { return };
    let mut text = buffer.as_mut_ptr();
    let mut left = buffer.len();
    // SAFETY: the caller has the CPU features. A row runs only if `left` bytes at `text` hold it.
    unsafe {
        let mut previous = V::broadcast(chain);
        while left >= ROWS * V::BYTES {
            previous = row::<V, ROWS, ROUNDS>(schedule, previous, text);
            text = text.add(ROWS * V::BYTES);
            left -= ROWS * V::BYTES;
        }
        if ROWS > 4 && left >= 4 * V::BYTES {
            previous = row::<V, 4, ROUNDS>(schedule, previous, text);
            text = text.add(4 * V::BYTES);
            left -= 4 * V::BYTES;
        }
        if ROWS > 2 && left >= 2 * V::BYTES {
            previous = row::<V, 2, ROUNDS>(schedule, previous, text);
            text = text.add(2 * V::BYTES);
            left -= 2 * V::BYTES;
        }
        if ROWS > 1 && left >= V::BYTES {
            previous = row::<V, 1, ROUNDS>(schedule, previous, text);
            text = text.add(V::BYTES);
            left -= V::BYTES;
        }
        if left > 0 {
            const { assert!(V::BYTES <= 128) };
            let mut staged = [0u8; 128];
            for offset in (0..left).step_by(16) {
                copy_block(text.add(offset), staged.as_mut_ptr().add(offset));
            }
            row::<V, 1, ROUNDS>(schedule, previous, staged.as_mut_ptr());
            for offset in (0..left).step_by(16) {
                copy_block(staged.as_ptr().add(offset), text.add(offset));
            }
        }
    }
    *chain = last;
}

/// Decrypts `N` vectors and returns the last of their ciphertext; `previous` ends with the block before them.
///
/// # Safety
/// Needs the CPU features of `V`; `text` is valid for `N` vectors.
#[inline(always)]
unsafe fn row<V: Vector, const N: usize, const ROUNDS: usize>(
    schedule: &Schedule,
    previous: V,
    text: *mut u8,
) -> V {
    // SAFETY: the caller has the CPU features and gives `N` vectors of text; the load at `place - 16` starts in
    // the vector before, which is inside the row for every `index` but 0.
    unsafe {
        let key = V::broadcast(&schedule.decrypt[0]);
        let mut states = [V::load(text).whiten(key); N];
        for (index, state) in states.iter_mut().enumerate().skip(1) {
            *state = V::load(text.add(index * V::BYTES)).whiten(key);
        }
        cipher::decrypt::<V, N, ROUNDS>(schedule, &mut states);
        let last = V::load(text.add((N - 1) * V::BYTES));
        for index in (1..N).rev() {
            let place = text.add(index * V::BYTES);
            states[index].xor(V::load(place.sub(16))).store(place);
        }
        states[0].xor(V::load(text).shift_in(previous)).store(text);
        last
    }
}

/// # Safety
/// Both are valid for 16 bytes and do not overlap.
#[inline(always)]
unsafe fn copy_block(source: *const u8, target: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { core::ptr::copy_nonoverlapping(source, target, 16) }
}
