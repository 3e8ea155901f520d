//! Between 32-bit words and 28-bit digits, both little-endian: eight digits are seven words.

/// Bits of a digit.
pub(crate) const BITS: u32 = 28;
/// The largest digit.
pub(crate) const DIGIT: u32 = (1 << BITS) - 1;

/// How many digits hold so many words.
pub(crate) fn count(words: usize) -> usize {
    (words * 32).div_ceil(BITS as usize)
}

/// Writes the digits of `words` to the front of `digits`, which has room for [`count`] of them.
#[inline(always)]
pub(crate) fn split(words: &[u32], digits: &mut [u32]) {
    let groups = words.chunks_exact(7);
    let rest = groups.remainder();
    let (whole, tail) = digits.split_at_mut(words.len() / 7 * 8);
    for (group, digits) in groups.zip(whole.chunks_exact_mut(8)) {
        digits[0] = group[0] & DIGIT;
        for index in 1..7 {
            let pair = u64::from(group[index - 1]) | u64::from(group[index]) << 32;
            digits[index] = (pair >> (32 - 4 * index)) as u32 & DIGIT;
        }
        digits[7] = group[6] >> 4;
    }
    let (mut bits, mut held) = (0u64, 0u32);
    let mut words = rest.iter();
    for digit in tail.iter_mut().take(count(rest.len())) {
        if held < BITS {
            bits |= u64::from(words.next().copied().unwrap_or(0)) << held;
            held += 32;
        }
        *digit = bits as u32 & DIGIT;
        bits >>= BITS;
        held = held.saturating_sub(BITS);
    }
}

/// Puts a stream of digits together to words. `next` gives the digits, lowest first.
#[inline(always)]
pub(crate) fn join(mut next: impl FnMut() -> u32, words: &mut [u32]) {
    let (mut bits, mut held) = (0u64, 0u32);
    for word in words {
        while held < 32 {
            bits |= u64::from(next()) << held;
            held += BITS;
        }
        *word = bits as u32;
        bits >>= 32;
        held -= 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_for_every_length_of_the_rest() {
        for words in 1..40 {
            let value: Vec<u32> = (0..words).map(|index: u32| !index.wrapping_mul(0x9e37_79b9)).collect();
            let mut digits = vec![u32::MAX; count(value.len())];
            split(&value, &mut digits);
            assert!(digits.iter().all(|digit| *digit <= DIGIT), "{words} words");
            let mut left = digits.iter();
            let mut back = vec![0; value.len()];
            join(|| left.next().copied().unwrap_or(0), &mut back);
            assert_eq!(back, value, "{words} words");
            assert_eq!(left.as_slice(), [], "{words} words");
        }
    }
}
