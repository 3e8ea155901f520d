//! Modified Comba in vector registers: the same sums of low and high halves, for many columns at once.
//!
//! ```text
//! b, with a margin of zeros on both sides:   0 … 0 b[0] b[1] … b[n-1] 0 … 0      each word in 64 bits
//! columns k … k+WIDTH-1, row i:              a[i] times b[k-i] … b[k-i+WIDTH-1]
//! ```
//!
//! A lane is a column. Rows that a column does not have meet the margin. A row is one multiplication of 32 by 32 bits, a
//! shift and two additions for each lane: the whole products are summed, modulo 2^64, and their high halves; the sum of the
//! low halves follows from the two. The code is ordinary loops over arrays of constant length, compiled by the `pulp` crate once
//! for each vector width and chosen when the program runs.

use crate::column::{self, Column};
use std::ops::Range;

const WORD: u64 = 0xffff_ffff;

/// Words of operands up to which blocks of 8 and of 16 columns are the fastest; wider ones meet more of the margin.
const NARROW: usize = 20;
const MIDDLE: usize = 56;

/// Multiplies with one thread; holds buffers, so that products of one length allocate once.
#[derive(Debug, Clone, Default)]
pub struct VectorMultiplier {
    extended: Vec<u64>,
    columns: Vec<Column>,
}

impl VectorMultiplier {
    /// An empty multiplier.
    #[must_use]
    pub fn new() -> VectorMultiplier {
        VectorMultiplier::default()
    }

    /// Sets `product` to `a * b`.
    ///
    /// # Panics
    /// If the lengths are not n, n and 2n words with n from 1 to [`MOST_WORDS`](crate::MOST_WORDS).
    pub fn multiply(&mut self, a: &[u32], b: &[u32], product: &mut [u32]) {
        crate::check_lengths(a, b, product);
        self.columns.clear();
        sum_columns(a, b, 0..2 * a.len() - 1, &mut self.extended, &mut self.columns);
        column::save_all(self.columns.iter(), product);
    }
}

/// Appends the sums of these columns to `columns`; `extended` is room for b.
pub(crate) fn sum_columns(
    a: &[u32],
    b: &[u32],
    range: Range<usize>,
    extended: &mut Vec<u64>,
    columns: &mut Vec<Column>,
) {
    pulp::Arch::new().dispatch(Sum { a, b, range, extended, columns });
}

/// The work as a value, since a closure is not inlined into the function that has the CPU's features.
struct Sum<'a> {
    a: &'a [u32],
    b: &'a [u32],
    range: Range<usize>,
    extended: &'a mut Vec<u64>,
    columns: &'a mut Vec<Column>,
}

impl pulp::WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let words = self.a.len();
        if words <= NARROW {
            self.sum::<8>();
        } else if words <= MIDDLE {
            self.sum::<16>();
        } else {
            self.sum::<32>();
        }
    }
}

impl Sum<'_> {
    #[inline(always)]
    fn sum<const WIDTH: usize>(self) {
        let Sum { a, b, range, extended, columns } = self;
        let n = a.len();
        extended.clear();
        extended.resize(n + 2 * WIDTH, 0);
        extended[WIDTH..].iter_mut().zip(b).for_each(|(wide, word)| *wide = u64::from(*word));
        for k in range.clone().step_by(WIDTH) {
            let rows = (k + 1).saturating_sub(n)..n.min(k + WIDTH);
            let block = sum_block::<WIDTH>(&a[rows.clone()], extended, k + WIDTH - rows.start);
            columns.extend_from_slice(&block[..WIDTH.min(range.end - k)]);
        }
    }
}

/// Rows of `a`, the first of them against `b[at..]`, each further one against what starts a word below.
#[inline(always)]
fn sum_block<const WIDTH: usize>(a: &[u32], b: &[u64], at: usize) -> [Column; WIDTH] {
    let (mut sums, mut high) = ([0u64; WIDTH], [0u64; WIDTH]);
    for (&word, row) in a.iter().zip(b[..at + WIDTH].windows(WIDTH).rev()) {
        let word = u64::from(word);
        let row: &[u64; WIDTH] = row.try_into().expect("a window is as long as asked for");
        for lane in 0..WIDTH {
            // The mask says that 32 bits are enough; it costs nothing.
            let product = word * (row[lane] & WORD);
            sums[lane] = sums[lane].wrapping_add(product);
            high[lane] += product >> 32;
        }
    }
    std::array::from_fn(|lane| Column { low: sums[lane].wrapping_sub(high[lane] << 32), high: high[lane] })
}
