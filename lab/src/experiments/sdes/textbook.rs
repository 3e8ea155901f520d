//! S-DES word for word: bits in a row, numbered from 1, moved by the printed tables. Slow, plain, and the oracle of the
//! other forms; the tests follow published worked examples, intermediate values included.
//!
//! Simplified DES is Edward Schaefer's teaching cipher ("A simplified data encryption standard algorithm", Cryptologia 20,
//! 1996), in the form in which William Stallings' textbook prints it: 8-bit blocks, 10-bit keys, two rounds. It protects
//! nothing: there are 1024 keys.

const P10: [usize; 10] = [3, 5, 2, 7, 4, 10, 1, 9, 8, 6];
const P8: [usize; 8] = [6, 3, 7, 4, 8, 5, 10, 9];
const IP: [usize; 8] = [2, 6, 3, 1, 4, 8, 5, 7];
const IP_INVERSE: [usize; 8] = [4, 1, 3, 5, 7, 2, 8, 6];
const EP: [usize; 8] = [4, 1, 2, 3, 2, 3, 4, 1];
const P4: [usize; 4] = [2, 4, 3, 1];
const S0: [[usize; 4]; 4] = [[1, 0, 3, 2], [3, 2, 1, 0], [0, 2, 1, 3], [3, 1, 3, 2]];
const S1: [[usize; 4]; 4] = [[0, 1, 2, 3], [2, 0, 1, 3], [3, 0, 1, 0], [2, 1, 0, 3]];

type Bits = Vec<bool>;

/// What the key (its lowest ten bits) makes of every block: the cipher as a table.
pub(super) fn substitution(key: u16) -> [u8; 256] {
    let keys = subkeys(&bits(usize::from(key), 10));
    std::array::from_fn(|block| number(&encrypt(&bits(block, 8), &keys)) as u8)
}

fn encrypt(block: &Bits, [first, second]: &[Bits; 2]) -> Bits {
    let once = round(&permute(block, &IP), first);
    let switched = [&once[4..], &once[..4]].concat();
    permute(&round(&switched, second), &IP_INVERSE)
}

/// The left half takes what the right half and the key make; the right half stays.
fn round(halves: &Bits, key: &Bits) -> Bits {
    let (left, right) = halves.split_at(4);
    let mixed = add(&permute(right, &EP), key);
    let found = [look_up(&S0, &mixed[..4]), look_up(&S1, &mixed[4..])].concat();
    [add(left, &permute(&found, &P4)), right.to_vec()].concat()
}

/// The outer bits name the row, the inner ones the column.
fn look_up(table: &[[usize; 4]; 4], at: &[bool]) -> Bits {
    bits(table[number(&[at[0], at[3]])][number(&[at[1], at[2]])], 2)
}

fn subkeys(key: &Bits) -> [Bits; 2] {
    let rotate = |halves: &Bits, places: usize| {
        let mut halves = halves.clone();
        halves[..5].rotate_left(places);
        halves[5..].rotate_left(places);
        halves
    };
    let once = rotate(&permute(key, &P10), 1);
    let again = rotate(&once, 2);
    [permute(&once, &P8), permute(&again, &P8)]
}

fn permute(from: &[bool], table: &[usize]) -> Bits {
    table.iter().map(|place| from[place - 1]).collect()
}

fn add(left: &[bool], right: &[bool]) -> Bits {
    left.iter().zip(right).map(|(left, right)| left ^ right).collect()
}

fn bits(number: usize, count: usize) -> Bits {
    (0..count).rev().map(|place| number >> place & 1 == 1).collect()
}

fn number(bits: &[bool]) -> usize {
    bits.iter().fold(0, |number, bit| 2 * number + usize::from(*bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_textbook_s_subkeys() {
        let [first, second] = subkeys(&bits(0b10_1000_0010, 10));
        assert_eq!((number(&first), number(&second)), (0b1010_0100, 0b0100_0011));
        // Sanchis' worked example of Schaefer's key.
        let [first, second] = subkeys(&bits(0b00_1001_0111, 10));
        assert_eq!((number(&first), number(&second)), (0b0010_1111, 0b1110_1010));
    }

    #[test]
    fn published_blocks() {
        for (key, clear, secret) in [
            (0b10_1000_0010, 0b1001_0111, 0b0011_1000),
            (0b11_1000_1110, 0b1010_1010, 0b1100_1010),
            (0b00_1001_0111, 0b1010_0101, 0b0011_0110),
        ] {
            assert_eq!(substitution(key)[clear], secret, "key {key:010b}, block {clear:08b}");
        }
    }

    #[test]
    fn every_key_permutes_the_blocks() {
        for key in 0..1024 {
            let mut seen = substitution(key);
            seen.sort_unstable();
            assert!(seen.iter().enumerate().all(|(index, byte)| index == usize::from(*byte)), "key {key}");
        }
    }
}
