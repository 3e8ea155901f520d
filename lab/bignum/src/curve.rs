//! Scalar multiplication on Curve25519 (RFC 7748), many at once: each vector lane has a point and a scalar of its own.
//!
//! The field is that of 2^255 - 19, by Montgomery multiplication in ten digits of 28 bits with R = 2^280: the delayed carry where
//! 32 by 32 bits are what a vector unit multiplies. R is so much larger than the prime p that products of factors below 4p are
//! below p + 2^244, so that nothing is compared or subtracted before the end. The same code with one lane is the serial form.

#![expect(clippy::needless_range_loop, reason = "a lane is a place in several arrays, and a digit in two")]

use crate::lanes::digits::{self, BITS, DIGIT};
use std::hint::black_box;

/// Points at once: four registers of AVX-512 for the sums of a digit, or eight of AVX2. Of fewer lanes the compiler makes no loop, and
/// finds no vectors.
pub const LANES: usize = 32;

const DIGITS: usize = 10;
/// p = 2^255 - 19.
const PRIME: [u32; DIGITS] = [DIGIT - 18, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, DIGIT, 7];
/// -1/p modulo 2^28: the inverse of 19, since p is -19 there.
const INVERSE: u32 = {
    let (mut inverse, mut step) = (19_u32, 0);
    while step < 4 {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(19_u32.wrapping_mul(inverse)));
        step += 1;
    }
    inverse & DIGIT
};
/// R^2 = 2^560 = 361 * 2^50 modulo p, since 2^510 = 19^2.
const SQUARE_OF_R: [u32; DIGITS] = [0, (361 & 63) << 22, 361 >> 6, 0, 0, 0, 0, 0, 0, 0];
const ONE: [u32; DIGITS] = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// (486662 - 2) / 4 of RFC 7748, section 5.
const A24: [u32; DIGITS] = [121_665, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A field element in every lane, digit by digit; the highest digit takes what the others cannot.
#[derive(Clone, Copy)]
struct Elements<const L: usize>([[u32; L]; DIGITS]);

impl<const L: usize> Elements<L> {
    #[inline(always)]
    fn all(digits: [u32; DIGITS]) -> Elements<L> {
        Elements(digits.map(|digit| [digit; L]))
    }

    /// a * b / R.
    #[inline(always)]
    fn times(&self, other: &Elements<L>) -> Elements<L> {
        // 56 bits, 20 of them in a sum, and a carry: below 2^61.
        let mut sums = [[0_u64; L]; 2 * DIGITS];
        // Unrolled, the whole product would be too long for the compiler to find vectors in it.
        let count = if L == 1 { DIGITS } else { black_box(DIGITS).min(DIGITS) };
        for i in 0..count {
            let row = &mut sums[i..i + DIGITS];
            for (sum, digit) in row.iter_mut().zip(&other.0[..count]) {
                add_products(sum, &self.0[i], digit);
            }
            let mut quotient = [0_u32; L];
            for lane in 0..L {
                quotient[lane] = (row[0][lane] as u32).wrapping_mul(INVERSE) & DIGIT;
            }
            for (sum, digit) in row.iter_mut().zip(&PRIME[..count]) {
                add_products(sum, &quotient, &[*digit; L]);
            }
            for lane in 0..L {
                sums[i + 1][lane] += sums[i][lane] >> BITS;
            }
        }
        let mut product = [[0; L]; DIGITS];
        for j in 0..DIGITS - 1 {
            for lane in 0..L {
                product[j][lane] = sums[DIGITS + j][lane] as u32 & DIGIT;
                sums[DIGITS + j + 1][lane] += sums[DIGITS + j][lane] >> BITS;
            }
        }
        for lane in 0..L {
            product[DIGITS - 1][lane] = sums[2 * DIGITS - 1][lane] as u32;
        }
        Elements(product)
    }

    /// a + sign * b + bias * p, with its carries: below 4p for products a and b, and not negative.
    #[inline(always)]
    fn combined(&self, other: &Elements<L>, sign: i32, bias: i32) -> Elements<L> {
        let (mut made, mut carry) = ([[0; L]; DIGITS], [0_i32; L]);
        for j in 0..DIGITS {
            for lane in 0..L {
                let sum = self.0[j][lane] as i32
                    + sign * other.0[j][lane] as i32
                    + bias * PRIME[j] as i32
                    + carry[lane];
                let is_top = j == DIGITS - 1;
                made[j][lane] = if is_top { sum as u32 } else { sum as u32 & DIGIT };
                carry[lane] = sum >> BITS;
            }
        }
        Elements(made)
    }

    #[inline(always)]
    fn plus(&self, other: &Elements<L>) -> Elements<L> {
        self.combined(other, 1, 0)
    }

    #[inline(always)]
    fn minus(&self, other: &Elements<L>) -> Elements<L> {
        self.combined(other, -1, 2)
    }

    /// Exchanges both in the lanes whose mask is all ones.
    #[inline(always)]
    fn exchange(&mut self, other: &mut Elements<L>, masks: &[u32; L]) {
        for (left, right) in self.0.iter_mut().zip(&mut other.0) {
            for lane in 0..L {
                let both = (left[lane] ^ right[lane]) & masks[lane];
                left[lane] ^= both;
                right[lane] ^= both;
            }
        }
    }

    /// Squared so often, and then times another.
    #[inline(always)]
    fn squared_and_times(&self, squarings: u32, other: &Elements<L>) -> Elements<L> {
        let mut element = *self;
        for _ in 0..squarings {
            element = element.times(&element);
        }
        element.times(other)
    }

    /// The power p - 2 = 2^255 - 21, which is the inverse (Fermat).
    #[inline(always)]
    fn inverse(&self) -> Elements<L> {
        // x to the 2^n - 1: the sum of two such n is reached by squaring the one as often as the other says.
        let two = self.squared_and_times(1, self);
        let four = two.squared_and_times(2, &two);
        let five = four.squared_and_times(1, self);
        let ten = five.squared_and_times(5, &five);
        let twenty = ten.squared_and_times(10, &ten);
        let forty = twenty.squared_and_times(20, &twenty);
        let fifty = forty.squared_and_times(10, &ten);
        let hundred = fifty.squared_and_times(50, &fifty);
        let two_hundred = hundred.squared_and_times(100, &hundred);
        let most = two_hundred.squared_and_times(50, &fifty);
        // 2^255 - 21 is 250 ones and then 01011.
        most.squared_and_times(2, self).squared_and_times(2, self).squared_and_times(1, self)
    }
}

#[inline(always)]
fn add_products<const L: usize>(sum: &mut [u64; L], left: &[u32; L], right: &[u32; L]) {
    for lane in 0..L {
        sum[lane] += u64::from(left[lane]) * u64::from(right[lane]);
    }
}

/// The work as a value, since a closure is not inlined into the function that has the CPU's features.
struct Ladder<'a, const L: usize> {
    scalars: &'a [[u8; 32]; L],
    points: &'a [[u8; 32]; L],
}

impl<const L: usize> pulp::WithSimd for Ladder<'_, L> {
    type Output = [[u8; 32]; L];

    /// RFC 7748, section 5, for every lane.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [[u8; 32]; L] {
        let (mut u, to_field) = (Elements([[0; L]; DIGITS]), Elements::all(SQUARE_OF_R));
        let mut scalars = *self.scalars;
        for lane in 0..L {
            let mut point = self.points[lane];
            point[31] &= 0x7f;
            let mut split = [0; DIGITS];
            digits::split(&words_of(&point), &mut split);
            (0..DIGITS).for_each(|digit| u.0[digit][lane] = split[digit]);
            scalars[lane][0] &= 0xf8;
            scalars[lane][31] = scalars[lane][31] & 0x7f | 0x40;
        }
        let (x1, one) = (u.times(&to_field), Elements::all(ONE).times(&to_field));
        let a24 = Elements::all(A24).times(&to_field);
        let (mut x2, mut z2, mut x3, mut z3) = (one, Elements::all([0; DIGITS]), x1, one);
        let mut swapped = [0; L];
        for bit in (0..255).rev() {
            let mut masks = [0; L];
            for lane in 0..L {
                let mask = 0_u32.wrapping_sub(u32::from(scalars[lane][bit / 8] >> (bit % 8) & 1));
                masks[lane] = mask ^ swapped[lane];
                swapped[lane] = mask;
            }
            x2.exchange(&mut x3, &masks);
            z2.exchange(&mut z3, &masks);
            let (a, b) = (x2.plus(&z2), x2.minus(&z2));
            let (aa, bb) = (a.times(&a), b.times(&b));
            let e = aa.minus(&bb);
            let (da, cb) = (x3.minus(&z3).times(&a), x3.plus(&z3).times(&b));
            let (sum, difference) = (da.plus(&cb), da.minus(&cb));
            x3 = sum.times(&sum);
            z3 = x1.times(&difference.times(&difference));
            x2 = aa.times(&bb);
            z2 = e.times(&aa.plus(&a24.times(&e)));
        }
        x2.exchange(&mut x3, &swapped);
        z2.exchange(&mut z3, &swapped);
        let made = x2.times(&z2.inverse()).times(&Elements::all(ONE));
        std::array::from_fn(|lane| reduced(std::array::from_fn(|digit| made.0[digit][lane])))
    }
}

fn words_of(bytes: &[u8; 32]) -> [u32; 8] {
    std::array::from_fn(|word| u32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[4 * word + byte])))
}

/// The bytes of a number below 2p, modulo p.
fn reduced(digits: [u32; DIGITS]) -> [u8; 32] {
    let (mut less, mut carry) = ([0; DIGITS], 0_i32);
    for j in 0..DIGITS {
        let sum = digits[j] as i32 - PRIME[j] as i32 + carry;
        less[j] = sum as u32 & DIGIT;
        carry = sum >> BITS;
    }
    let mut chosen = if carry < 0 { digits } else { less }.into_iter();
    let mut words = [0_u32; 8];
    digits::join(|| chosen.next().unwrap_or(0), &mut words);
    let mut bytes = [0; 32];
    bytes.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
    bytes
}

/// One scalar multiplication: X25519 of RFC 7748.
#[must_use]
pub fn multiply(scalar: &[u8; 32], point: &[u8; 32]) -> [u8; 32] {
    pulp::Arch::new().dispatch(Ladder { scalars: &[*scalar], points: &[*point] })[0]
}

/// Many scalar multiplications, [`LANES`] at a time, in contiguous runs on `threads` threads.
///
/// # Panics
/// If the three do not have one length.
pub fn multiply_all(threads: usize, scalars: &[[u8; 32]], points: &[[u8; 32]], products: &mut [[u8; 32]]) {
    assert!(
        scalars.len() == points.len() && points.len() == products.len(),
        "there is a point for each scalar"
    );
    let run = scalars.len().div_ceil(threads.max(1)).next_multiple_of(LANES);
    if run >= scalars.len() {
        return in_turn(scalars, points, products);
    }
    std::thread::scope(|scope| {
        for ((scalars, points), products) in
            scalars.chunks(run).zip(points.chunks(run)).zip(products.chunks_mut(run))
        {
            scope.spawn(move || in_turn(scalars, points, products));
        }
    });
}

fn in_turn(scalars: &[[u8; 32]], points: &[[u8; 32]], products: &mut [[u8; 32]]) {
    for ((scalars, points), products) in
        scalars.chunks(LANES).zip(points.chunks(LANES)).zip(products.chunks_mut(LANES))
    {
        // Lanes that are left over work on zeros.
        let filled =
            |from: &[[u8; 32]]| std::array::from_fn(|lane| from.get(lane).copied().unwrap_or([0; 32]));
        let made = pulp::Arch::new()
            .dispatch(Ladder::<LANES> { scalars: &filled(scalars), points: &filled(points) });
        products.copy_from_slice(&made[..products.len()]);
    }
}
