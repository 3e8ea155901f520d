//! Montgomery multiplication by Modified Comba: product and reduction in the same columns, whose carry is delayed as in a product.
//!
//! ```text
//! column k < n     a[0]b[k] … a[k]b[0]  +  q[0]m[k] … q[k]m[0]       q[k] is chosen so that the column's word is zero
//! column k >= n    the rest of both                                 its word is word k - n of the result
//! ```
//!
//! P. Montgomery, "Modular multiplication without trial division", 1985; by columns as in Koç, Acar and Kaliski, "Analyzing and
//! comparing Montgomery multiplication algorithms", 1996 (finely integrated product scanning).

use crate::column::{self, Column};

/// An odd modulus of n words, and room for one multiplication.
#[derive(Debug, Clone)]
pub struct Modulus {
    words: Vec<u32>,
    /// -1/m modulo 2^32.
    inverse: u32,
    quotient: Vec<u32>,
}

impl Modulus {
    /// A modulus from its words, lowest first.
    ///
    /// # Panics
    /// If it is even, has no words or more than [`MOST_WORDS`](crate::MOST_WORDS).
    #[must_use]
    pub fn new(words: &[u32]) -> Modulus {
        assert!(
            (1..=crate::MOST_WORDS).contains(&words.len()),
            "a modulus has 1 to {} words",
            crate::MOST_WORDS
        );
        assert!(words[0] % 2 == 1, "a modulus of Montgomery multiplication is odd");
        // Newton: each step doubles the number of right bits; an odd number is its own inverse modulo 8.
        let inverse = (0..4).fold(words[0], |inverse, _| {
            inverse.wrapping_mul(2_u32.wrapping_sub(words[0].wrapping_mul(inverse)))
        });
        Modulus { words: words.to_vec(), inverse: inverse.wrapping_neg(), quotient: vec![0; words.len()] }
    }

    /// Sets `result` to `a * b / 2^32n` modulo m, where a and b are below m.
    ///
    /// # Panics
    /// If one of the three does not have n words.
    pub fn multiply(&mut self, a: &[u32], b: &[u32], result: &mut [u32]) {
        let Modulus { words: m, inverse, quotient: q } = self;
        let n = m.len();
        assert!([a.len(), b.len(), result.len()] == [n; 3], "all have {n} words");
        q.fill(0);
        let mut carry = Column::default();
        for k in 0..n {
            carry.add(column::sum(a, b, k));
            carry.add(column::sum(q, m, k));
            q[k] = (carry.low as u32).wrapping_mul(*inverse);
            let last = u64::from(q[k]) * u64::from(m[0]);
            carry.add(Column { low: last & 0xffff_ffff, high: last >> 32 });
            carry.save();
        }
        for (k, word) in (n..2 * n).zip(result.iter_mut()) {
            if k < 2 * n - 1 {
                carry.add(column::sum(a, b, k));
                carry.add(column::sum(q, m, k));
            }
            *word = carry.save();
        }
        if carry.save() != 0 || result.iter().rev().ge(m.iter().rev()) {
            subtract(result, m);
        }
    }
}

fn subtract(from: &mut [u32], what: &[u32]) {
    let mut borrow = false;
    for (word, what) in from.iter_mut().zip(what) {
        let (less, first) = word.overflowing_sub(*what);
        let (less, second) = less.overflowing_sub(u32::from(borrow));
        (*word, borrow) = (less, first || second);
    }
}
