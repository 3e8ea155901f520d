//! The key schedule (FIPS 197, section 5.2), written once over [`Vector`]. The instruction set's last round substitutes a
//! word, so the schedule takes constant time as the cipher does.

use crate::vector::Vector;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Round keys in the order of use. Rounds that a key size does not have are zero.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub(crate) struct Schedule {
    pub(crate) encrypt: [[u8; 16]; 15],
    /// For the equivalent inverse cipher: in reverse order, with InvMixColumns applied to the inner ones.
    pub(crate) decrypt: [[u8; 16]; 15],
}

impl Schedule {
    pub(crate) const fn empty() -> Schedule {
        Schedule { encrypt: [[0; 16]; 15], decrypt: [[0; 16]; 15] }
    }
}

/// Fills `schedule` from `key`.
///
/// # Safety
/// Needs the CPU features of `V`. `key` has `4 * (ROUNDS - 6)` bytes.
#[inline(always)]
pub(crate) unsafe fn expand<V: Vector, const ROUNDS: usize>(key: &[u8], schedule: &mut Schedule) {
    let key_words = ROUNDS - 6;
    debug_assert_eq!(key.len(), 4 * key_words);
    let mut words = [0u32; 60];
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let mut round_constant = 1u8;
    for index in key_words..4 * (ROUNDS + 1) {
        let mut word = words[index - 1];
        if index % key_words == 0 {
            // SAFETY: the caller has the CPU features of `V`.
            word = unsafe { substitute_word::<V>(word.rotate_right(8)) } ^ u32::from(round_constant);
            round_constant = (round_constant << 1) ^ (0x1b * (round_constant >> 7));
        } else if key_words == 8 && index % key_words == 4 {
            // SAFETY: as above.
            word = unsafe { substitute_word::<V>(word) };
        }
        words[index] = words[index - key_words] ^ word;
    }
    for (round, block) in schedule.encrypt.iter_mut().enumerate().take(ROUNDS + 1) {
        for column in 0..4 {
            block[4 * column..4 * column + 4].copy_from_slice(&words[4 * round + column].to_le_bytes());
        }
    }
    words.zeroize();
    schedule.decrypt[0] = schedule.encrypt[ROUNDS];
    for round in 1..ROUNDS {
        // SAFETY: as above.
        schedule.decrypt[round] = unsafe { inverse_mix_columns::<V>(&schedule.encrypt[ROUNDS - round]) };
    }
    schedule.decrypt[ROUNDS] = schedule.encrypt[0];
}

/// SubWord. In a block of four equal columns ShiftRows changes nothing, so a last round with zero keys is
/// SubBytes alone.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
unsafe fn substitute_word<V: Vector>(word: u32) -> u32 {
    let mut block = [0u8; 16];
    for column in block.chunks_exact_mut(4) {
        column.copy_from_slice(&word.to_le_bytes());
    }
    // SAFETY: the caller has the CPU features.
    let block = unsafe {
        let zero = V::broadcast(&[0; 16]);
        first_block(V::broadcast(&block).encrypt_last(zero, zero))
    };
    u32::from_le_bytes([block[0], block[1], block[2], block[3]])
}

/// InvMixColumns: what remains of a last round forward and an inner round backward.
///
/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
unsafe fn inverse_mix_columns<V: Vector>(block: &[u8; 16]) -> [u8; 16] {
    // SAFETY: the caller has the CPU features.
    unsafe {
        let zero = V::broadcast(&[0; 16]);
        first_block(V::broadcast(block).encrypt_last(zero, zero).decrypt_round(zero, zero))
    }
}

/// # Safety
/// Needs the CPU features of `V`.
#[inline(always)]
unsafe fn first_block<V: Vector>(vector: V) -> [u8; 16] {
    const { assert!(V::BYTES <= 128) };
    let mut bytes = [0u8; 128];
    // SAFETY: `bytes` holds a whole vector; the caller has the CPU features.
    unsafe { vector.store(bytes.as_mut_ptr()) };
    let mut block = [0u8; 16];
    block.copy_from_slice(&bytes[..16]);
    block
}
