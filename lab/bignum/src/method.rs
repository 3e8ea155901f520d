//! The two published ways to cut one product into parts that need not know of each other, and to put them together.
//!
//! ```text
//! TwoHalves   part 0: words 0..n and the two accumulators that are still unsaved
//! (2x)        part 1: words n..2n, as if nothing came in from below
//!             join:   part 0's accumulators added at words n and n + 1, carries up to word 2n - 1
//! Columns     part t: the accumulators of columns s(t)..s(t+1), no word saved
//! (Mx)        join:   one pass over all columns that hands the carry on
//! ```
//!
//! The printed pseudo-code of both has slips, step by step:
//!
//! | step | as printed it | here |
//! |---|---|---|
//! | 2x, end of the first half | hands over accumulators that are private to a thread | hands over the two that are unsaved *after* the last shift: the lowest ones |
//! | 2x, correction | adds one of them at word n and stops | adds them at words n and n + 1 and ripples through word 2n - 1 inclusive |
//! | 2x, top word | is left to the correction | comes from the second half's last accumulator |
//! | 2x, n = 1 | reads a second column that does not exist | has an empty second half |
//! | Mx, start of a column | counts rows with a counter that threads share | computes the first row, k - n + 1, from the column alone |
//! | Mx, pass of carries | drops the carry between the sums of halves | adds low to low and high to high, with both carries, and shifts |

use crate::column::{self, Column};
use crate::vector;
use std::ops::Range;

/// How a product is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Two parts, each with its own carries; published as "2x".
    TwoHalves,
    /// As many parts as there are threads, carries at the end; published as "Mx".
    Columns,
}

/// What one thread makes of its share. Reused from product to product, it allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// TwoHalves: saved words.
    words: Vec<u32>,
    /// TwoHalves, part 0: the accumulators handed over. Columns: one for each column.
    columns: Vec<Column>,
    /// Room for sums in vector registers.
    extended: Vec<u64>,
}

/// How the partial products of columns are summed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sums {
    /// One after the other, as published.
    Plain,
    /// Many columns at once in vector registers.
    Vector,
}

impl Method {
    /// The name used in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::TwoHalves => "2x",
            Method::Columns => "Mx",
        }
    }

    /// How many parts this method makes for `threads` threads.
    #[must_use]
    pub fn parts(self, threads: usize) -> usize {
        match self {
            Method::TwoHalves => 2,
            Method::Columns => threads.max(1),
        }
    }

    /// Computes part `index` of `parts`.
    pub(crate) fn compute(
        self,
        sums: Sums,
        a: &[u32],
        b: &[u32],
        index: usize,
        parts: usize,
        part: &mut Part,
    ) {
        let n = a.len();
        part.words.clear();
        part.columns.clear();
        let columns = match self {
            Method::TwoHalves if index == 0 => 0..n,
            Method::TwoHalves => n..2 * n - 1,
            Method::Columns => share(n, index, parts),
        };
        match sums {
            Sums::Plain => part.columns.extend(columns.map(|k| column::sum(a, b, k))),
            Sums::Vector => {
                vector::sum_columns(a, b, columns, &mut part.extended, &mut part.columns);
            }
        }
        if self == Method::TwoHalves {
            let mut carry = Column::default();
            for column in &part.columns {
                carry.add(*column);
                part.words.push(carry.save());
            }
            part.columns.clear();
            if index == 0 {
                part.columns.push(carry);
            } else {
                part.words.push(carry.save());
            }
        }
    }

    /// Puts the parts together, in order. Serial in both methods.
    pub(crate) fn join<'a>(self, parts: impl Iterator<Item = &'a Part>, product: &mut [u32]) {
        match self {
            Method::TwoHalves => {
                let n = product.len() / 2;
                let mut carry = Column::default();
                for (part, words) in parts.zip(product.chunks_exact_mut(n)) {
                    words.copy_from_slice(&part.words);
                    ripple(carry, words);
                    carry = part.columns.first().copied().unwrap_or_default();
                }
            }
            Method::Columns => {
                column::save_all(parts.flat_map(|part| &part.columns), product);
            }
        }
    }
}

/// Adds a column at the first of `words` and carries on until nothing is left. For n = 1 the second accumulator has no
/// word of its own, and is zero, since a product has no more than 2n words.
fn ripple(mut carry: Column, words: &mut [u32]) {
    for word in words {
        if carry == Column::default() {
            return;
        }
        carry.low += u64::from(*word);
        *word = carry.save();
    }
}

/// The columns of share `index`: contiguous, and with about as many partial products as every other share.
fn share(n: usize, index: usize, parts: usize) -> Range<usize> {
    start_of_share(n, index, parts)..start_of_share(n, index + 1, parts)
}

/// The first column that has at least `index / parts` of all n² partial products before it. Below column n there are
/// k(k+1)/2 before column k, and above it what is missing from n² mirrors that.
fn start_of_share(n: usize, index: usize, parts: usize) -> usize {
    let triangle = |products: f64| (((8.0 * products + 1.0).sqrt() - 1.0) / 2.0) as usize;
    let all = (n * n) as f64;
    let before = all * index as f64 / parts as f64;
    let last = 2 * n - 1;
    if before * 2.0 <= all { triangle(before).min(last) } else { last - triangle(all - before).min(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_every_column_once_and_weigh_the_same() {
        for n in [1, 2, 3, 7, 32, 100, 4096] {
            for parts in [1, 2, 3, 4, 7, 64] {
                let shares: Vec<_> = (0..parts).map(|index| share(n, index, parts)).collect();
                let columns: Vec<usize> = shares.iter().cloned().flatten().collect();
                assert_eq!(columns, (0..2 * n - 1).collect::<Vec<_>>(), "n {n}, {parts} parts");
                let weight =
                    |share: &Range<usize>| share.clone().map(|k| column::rows(n, k).len()).sum::<usize>();
                for share in &shares {
                    let ideal = (n * n).div_ceil(parts);
                    assert!(weight(share) <= ideal + 2 * n, "n {n}, {parts} parts: {share:?}");
                }
            }
        }
    }
}
