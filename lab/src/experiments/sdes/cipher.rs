//! The forms that are measured: permutations for every block, as published; a table of 256 bytes; five shuffles of whole
//! vector registers. All encrypt in place, in ECB mode.

use pulp::{Arch, Simd, WithSimd};

/// Permutations, as the bit of the input (from the left, 0 first) that each bit of the output takes.
const IP: [u8; 8] = [1, 5, 2, 0, 3, 7, 4, 6];
const IP_INVERSE: [u8; 8] = [3, 0, 2, 4, 6, 1, 7, 5];
const EP: [u8; 8] = [3, 0, 1, 2, 1, 2, 3, 0];
const P4: [u8; 4] = [1, 3, 2, 0];
const P10: [u8; 10] = [2, 4, 1, 6, 3, 9, 0, 8, 7, 5];
const P8: [u8; 8] = [5, 2, 6, 3, 7, 4, 9, 8];
/// By the four bits as they stand: row from the outer bits, column from the inner ones.
const S0: [u8; 16] = [1, 3, 0, 2, 3, 1, 2, 0, 0, 3, 2, 1, 1, 3, 3, 2];
const S1: [u8; 16] = [0, 2, 1, 0, 2, 1, 3, 3, 3, 2, 0, 1, 1, 0, 0, 3];

fn permute<const OUT: usize>(value: u16, width: u8, from: &[u8; OUT]) -> u16 {
    from.iter().fold(0, |out, place| out << 1 | (value >> (width - 1 - place) & 1))
}

/// The two keys of the rounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key([u8; 2]);

impl Key {
    /// From the lowest ten bits.
    pub(super) fn new(key: u16) -> Key {
        let mixed = permute(key & 0x3ff, 10, &P10);
        let rotate = |half: u16, places: u32| (half << places | half >> (5 - places)) & 0x1f;
        let round =
            |places| permute(rotate(mixed >> 5, places) << 5 | rotate(mixed & 0x1f, places), 10, &P8) as u8;
        // The second key is rotated by two places more.
        Key([round(1), round(3)])
    }

    /// What the right half (four bits) adds to the left one in a round.
    fn mix(self, round: usize, right: u8) -> u8 {
        let mixed = permute(u16::from(right), 4, &EP) as u8 ^ self.0[round];
        let found = S0[usize::from(mixed >> 4)] << 2 | S1[usize::from(mixed & 15)];
        permute(u16::from(found), 4, &P4) as u8
    }

    /// One block, through every permutation.
    pub(super) fn block(self, block: u8) -> u8 {
        let start = permute(u16::from(block), 8, &IP) as u8;
        let (left, right) = (start >> 4, start & 15);
        let left = left ^ self.mix(0, right);
        let right = right ^ self.mix(1, left);
        permute(u16::from(right << 4 | left), 8, &IP_INVERSE) as u8
    }

    /// The cipher as a table.
    pub(super) fn table(self) -> [u8; 256] {
        std::array::from_fn(|block| self.block(block as u8))
    }

    /// The cipher as five tables of sixteen bytes.
    pub(super) fn shuffles(self) -> Shuffles {
        let nibbles = |entry: &dyn Fn(u8) -> u8| std::array::from_fn(|index| entry(index as u8));
        let ip = |byte: u8| permute(u16::from(byte), 8, &IP) as u8;
        let out = |byte: u8| permute(u16::from(byte), 8, &IP_INVERSE) as u8;
        Shuffles {
            start_low: nibbles(&ip),
            start_high: nibbles(&|nibble| ip(nibble << 4)),
            // Added to the left half, which stands above.
            first: nibbles(&|right| self.mix(0, right) << 4),
            // The halves have changed places by now: what was right comes out on top.
            end_low: nibbles(&|right| out(right << 4)),
            end_high: nibbles(&|left| out(self.mix(1, left) << 4 | left)),
        }
    }
}

/// S-DES as substitutions of nibbles: a permutation of bits is linear, so each half of a byte goes by itself, and the
/// second round and the last permutation need only what the first round left.
///
/// ```text
/// x ── start_low[x & 15] ^ start_high[x >> 4] = L R ── L ^= first[R] ── end_low[R] ^ end_high[L] ──> out
/// ```
#[derive(Debug, Clone, Copy)]
pub(super) struct Shuffles {
    start_low: [u8; 16],
    start_high: [u8; 16],
    first: [u8; 16],
    end_low: [u8; 16],
    end_high: [u8; 16],
}

impl Shuffles {
    pub(super) fn encrypt(&self, blocks: &mut [u8]) {
        Arch::new().dispatch(Encrypt { shuffles: self, blocks });
    }

    fn block(&self, block: u8) -> u8 {
        let of = |table: &[u8; 16], nibble: u8| table[usize::from(nibble & 15)];
        let start = of(&self.start_low, block) ^ of(&self.start_high, block >> 4);
        let once = start ^ of(&self.first, start);
        of(&self.end_low, once) ^ of(&self.end_high, once >> 4)
    }
}

struct Encrypt<'a> {
    shuffles: &'a Shuffles,
    blocks: &'a mut [u8],
}

impl WithSimd for Encrypt<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rest = vectors(simd, self.shuffles, self.blocks);
        rest.iter_mut().for_each(|block| *block = self.shuffles.block(*block));
    }
}

/// As many blocks as fill whole registers; gives the rest.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn vectors<'a, S: Simd>(simd: S, shuffles: &Shuffles, blocks: &'a mut [u8]) -> &'a mut [u8] {
    use pulp::x86::{V3, V4};
    use std::any::Any;
    use std::arch::x86_64::{__m128i, __m256i, __m512i};
    let simd: &dyn Any = &simd;
    let tables =
        [shuffles.start_low, shuffles.start_high, shuffles.first, shuffles.end_low, shuffles.end_high];
    if let Some(cpu) = simd.downcast_ref::<V4>() {
        let (avx512f, avx512bw) = (cpu.avx512f, cpu.avx512bw);
        let [start_low, start_high, first, end_low, end_high] =
            tables.map(|table| avx512f._mm512_broadcast_i32x4(pulp::cast::<[u8; 16], __m128i>(table)));
        let nibble = avx512f._mm512_set1_epi8(15);
        let low = |table, byte| avx512bw._mm512_shuffle_epi8(table, avx512f._mm512_and_si512(byte, nibble));
        let high = |table, byte| low(table, avx512bw._mm512_srli_epi16::<4>(byte));
        let add = |left, right| avx512f._mm512_xor_si512(left, right);
        let (whole, rest) = blocks.as_chunks_mut::<64>();
        for chunk in whole {
            let byte = pulp::cast::<[u8; 64], __m512i>(*chunk);
            let start = add(low(start_low, byte), high(start_high, byte));
            let once = add(start, low(first, start));
            *chunk = pulp::cast::<__m512i, [u8; 64]>(add(low(end_low, once), high(end_high, once)));
        }
        rest
    } else if let Some(cpu) = simd.downcast_ref::<V3>() {
        let (avx, avx2) = (cpu.avx, cpu.avx2);
        let [start_low, start_high, first, end_low, end_high] =
            tables.map(|table| avx2._mm256_broadcastsi128_si256(pulp::cast::<[u8; 16], __m128i>(table)));
        let nibble = avx._mm256_set1_epi8(15);
        let low = |table, byte| avx2._mm256_shuffle_epi8(table, avx2._mm256_and_si256(byte, nibble));
        let high = |table, byte| low(table, avx2._mm256_srli_epi16::<4>(byte));
        let add = |left, right| avx2._mm256_xor_si256(left, right);
        let (whole, rest) = blocks.as_chunks_mut::<32>();
        for chunk in whole {
            let byte = pulp::cast::<[u8; 32], __m256i>(*chunk);
            let start = add(low(start_low, byte), high(start_high, byte));
            let once = add(start, low(first, start));
            *chunk = pulp::cast::<__m256i, [u8; 32]>(add(low(end_low, once), high(end_high, once)));
        }
        rest
    } else {
        blocks
    }
}

/// Elsewhere byte by byte.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn vectors<'a, S: Simd>(_: S, _: &Shuffles, blocks: &'a mut [u8]) -> &'a mut [u8] {
    blocks
}

#[cfg(test)]
mod tests {
    use super::super::textbook;
    use super::*;

    #[test]
    fn every_form_is_the_textbook_s_cipher_for_every_key_and_block() {
        // An odd length, so that registers and the rest both have work.
        let clear: Vec<u8> = (0..=255).cycle().take(3 * 256 + 77).collect();
        for key in 0..1024 {
            let expected = textbook::substitution(key);
            let key = Key::new(key);
            assert_eq!(key.table(), expected);
            let mut blocks = clear.clone();
            key.shuffles().encrypt(&mut blocks);
            assert!(blocks.iter().enumerate().all(|(index, block)| *block == expected[index % 256]));
            assert!((0..=255).all(|block| key.shuffles().block(block) == expected[usize::from(block)]));
        }
    }
}
