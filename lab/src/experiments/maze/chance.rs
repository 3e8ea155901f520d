//! Random numbers without a state: PCG4D (Jarzynski, Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020) of a cell's
//! place, the frame and the seed. Every device gets the same, in any order.

/// Four words for a place, a frame and a seed.
#[must_use]
pub fn pcg4d(x: u32, y: u32, frame: u32, seed: u32) -> [u32; 4] {
    let [mut x, mut y, mut z, mut w] =
        [x, y, frame, seed].map(|word| word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    let mix = |x: &mut u32, y: &mut u32, z: &mut u32, w: &mut u32| {
        *x = x.wrapping_add(y.wrapping_mul(*w));
        *y = y.wrapping_add(z.wrapping_mul(*x));
        *z = z.wrapping_add(x.wrapping_mul(*y));
        *w = w.wrapping_add(y.wrapping_mul(*z));
    };
    mix(&mut x, &mut y, &mut z, &mut w);
    for word in [&mut x, &mut y, &mut z, &mut w] {
        *word ^= *word >> 16;
    }
    mix(&mut x, &mut y, &mut z, &mut w);
    [x, y, z, w]
}

/// One of the sides in `sides`, by the upper half of a random word; 0 if there are none.
pub(super) fn any_of(sides: u32, word: u32) -> u32 {
    let mut skipped = ((word >> 16) * sides.count_ones()) >> 16;
    for side in 0..4 {
        if sides & (1 << side) != 0 {
            if skipped == 0 {
                return side;
            }
            skipped -= 1;
        }
    }
    0
}

/// The first of the sides in `sides` from `turn` on, round and round; `turn` if there are none.
pub(super) fn next_of(sides: u32, turn: u32) -> u32 {
    let turned = (sides | (sides << 4)) >> turn;
    (turn + (turned | 16).trailing_zeros()) & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_is_chosen_about_as_often() {
        let mut counts = [0_u32; 4];
        for frame in 0..30_000 {
            counts[any_of(0b1011, pcg4d(5, 7, frame, 1)[0]) as usize] += 1;
        }
        assert_eq!(counts[2], 0);
        for side in [0, 1, 3] {
            assert!((9_700..10_300).contains(&counts[side]), "{counts:?}");
        }
        assert_eq!(any_of(0, u32::MAX), 0);
    }

    #[test]
    fn turns_go_round() {
        let chosen = [0, 1, 2, 3].map(|turn| next_of(0b1001, turn));
        assert_eq!(chosen, [0, 3, 3, 3]);
        assert_eq!([0, 1, 2, 3].map(|turn| next_of(0b0010, turn)), [1; 4]);
        assert_eq!(next_of(0, 2), 2);
    }
}
