//! Random numbers for orders, inputs and resampling: SplitMix64 (Steele, Lea, Flood 2014), repeatable from its seed.

/// A generator. Not for keys.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next_word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `end`, which is not 0 (its bias is below `end` / 2^64).
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_word()) * end as u128) >> 64) as usize
    }

    /// Fills `out`.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_word().to_le_bytes()[..chunk.len()]);
        }
    }

    /// So many bytes.
    #[must_use]
    pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        Random::new(seed).fill(&mut bytes);
        bytes
    }

    /// Puts `items` in random order (Fisher, Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (2..=items.len()).rev() {
            items.swap(end - 1, self.below(end));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_sequence() {
        // The first outputs of SplitMix64 for seed 1234567, as the reference code prints them.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_word(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_word(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Random::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
