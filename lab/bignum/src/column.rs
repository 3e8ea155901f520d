//! One column of the product: its partial products, summed in two accumulators whose carry is delayed.
//!
//! ```text
//!                weight 2^32k     weight 2^32(k+1)
//! product p      lo(p)            hi(p)
//! accumulators   low  (64 bits)   high (64 bits)
//! ```

use std::ops::Range;

const WORD: u64 = 0xffff_ffff;

/// Sums of the low and of the high halves of a column's products, each with room for 2^32 of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) low: u64,
    pub(crate) high: u64,
}

impl Column {
    /// Adds another column of the same weight.
    #[inline(always)]
    pub(crate) fn add(&mut self, other: Column) {
        self.low += other.low;
        self.high += other.high;
    }

    /// Takes the column's word out; what is left is the carry, as a column of the next weight.
    #[inline(always)]
    pub(crate) fn save(&mut self) -> u32 {
        let word = (self.low & WORD) as u32;
        let next = self.high + (self.low >> 32);
        *self = Column { low: next & WORD, high: next >> 32 };
        word
    }
}

/// Hands the carry on through the columns of a whole product, whose top word has none.
#[inline]
pub(crate) fn save_all<'a>(columns: impl Iterator<Item = &'a Column>, product: &mut [u32]) {
    let (top, words) = product.split_last_mut().expect("a product has at least two words");
    // What is carried to the next column, and the high halves of the column before: two sums that no column's own wait for.
    let (mut carry, mut high) = (0u64, 0u64);
    for (word, column) in words.iter_mut().zip(columns) {
        carry += column.low + high;
        high = column.high;
        *word = carry as u32;
        carry >>= 32;
    }
    *top = (carry + high) as u32;
}

/// The sum of every `a[i] * b[k - i]`.
#[inline]
pub(crate) fn sum(a: &[u32], b: &[u32], k: usize) -> Column {
    let rows = rows(a.len(), k);
    // b is read backwards: k - i falls while i rises.
    let backwards = &b[k + 1 - rows.end..=k - rows.start];
    let mut column = Column::default();
    for (&x, &y) in a[rows].iter().zip(backwards.iter().rev()) {
        let product = u64::from(x) * u64::from(y);
        column.low += product & WORD;
        column.high += product >> 32;
    }
    column
}

/// The rows i of a column k for which both `i` and `k - i` are words of operands of n words.
pub(crate) fn rows(n: usize, k: usize) -> Range<usize> {
    (k + 1).saturating_sub(n)..n.min(k + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stay_inside_both_operands() {
        assert_eq!(rows(4, 0), 0..1);
        assert_eq!(rows(4, 3), 0..4);
        assert_eq!(rows(4, 4), 1..4);
        assert_eq!(rows(4, 6), 3..4);
    }

    #[test]
    fn saving_hands_the_rest_on() {
        let mut column = Column { low: 0x3_0000_0007, high: 0x5_0000_0001 };
        assert_eq!(column.save(), 7);
        assert_eq!(column, Column { low: 4, high: 5 });
    }
}
