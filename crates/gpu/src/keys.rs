//! Round keys as the circuit wants them: one mask of all ones or none for each bit.

use zeroize::Zeroizing;

/// Masks of one round key.
pub(crate) const ROUND_MASKS: usize = 128;

/// Masks of the longest key's rounds.
pub(crate) const MOST_MASKS: usize = 15 * ROUND_MASKS;

/// The masks of these round keys (FIPS 197, section 5.2, in the order of encryption), the S-box's constant added to all
/// but the first, and zeros up to [`MOST_MASKS`].
pub(crate) fn masks(round_keys: &[[u8; 16]]) -> Zeroizing<Vec<u32>> {
    let mut masks = Zeroizing::new(vec![0; MOST_MASKS]);
    for (round, key) in round_keys.iter().enumerate() {
        let folded = if round == 0 { 0 } else { 0x63 };
        for (byte, value) in key.iter().enumerate() {
            for bit in 0..8 {
                let is_set = (value ^ folded) >> bit & 1;
                masks[ROUND_MASKS * round + 8 * byte + bit] = 0_u32.wrapping_sub(u32::from(is_set));
            }
        }
    }
    masks
}
