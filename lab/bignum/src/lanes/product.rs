//! The product of digit strings: a few rows at a time, each a digit of `a` against all digits of `b`, summed into columns.
//!
//! ```text
//! b, with a margin of zeros on both sides:      0 … 0 b[0] b[1] … b[m-1] 0 … 0
//! columns[i + j] += a[i] * b[j] + a[i+1] * b[j-1] + … + a[i+ROWS-1] * b[j-ROWS+1]      for each j
//! ```
//!
//! The loop over j has no cases and no carries, so that the compiler turns it into vector instructions. Several rows
//! share one load and one store of a column.

use super::digits::{self, BITS, DIGIT};

/// Rows that are summed together.
const ROWS: usize = 4;
/// Zeros on each side of b, which stand for the rows that a column does not have.
const MARGIN: usize = ROWS - 1;
/// Rows after which columns are folded: 2^56 * 252 + 2^28 < 2^64, and 255 is not a multiple of [`ROWS`].
const ROOM: usize = 252;

/// The operands' digits.
#[derive(Debug, Clone, Default)]
pub(super) struct Digits {
    /// Zeros behind, up to a multiple of [`ROWS`].
    a: Vec<u32>,
    b: Vec<u32>,
    /// The product's columns: sums of digit products that may exceed a digit.
    columns: Vec<u64>,
    /// What was folded out of a column, in units of the next one.
    over: Vec<u64>,
}

impl Digits {
    #[inline(always)]
    pub(super) fn multiply(&mut self, a: &[u32], b: &[u32], product: &mut [u32]) {
        let count = digits::count(a.len());
        let rows = count.next_multiple_of(ROWS);
        refill(&mut self.a, rows);
        digits::split(a, &mut self.a);
        refill(&mut self.b, count + 2 * MARGIN);
        digits::split(b, &mut self.b[MARGIN..]);
        refill(&mut self.columns, count + rows);
        let folds = count > ROOM;
        refill(&mut self.over, if folds { count + rows } else { 0 });
        for (group, a) in self.a.chunks_exact(ROWS).enumerate() {
            let first = group * ROWS;
            if folds && first.is_multiple_of(ROOM) {
                fold(&mut self.columns, &mut self.over);
            }
            add_rows(a.try_into().expect("ROWS digits"), &self.b, &mut self.columns[first..]);
        }
        carry(&self.columns, &self.over, product);
    }
}

/// Zeros in the place of what was there.
#[inline(always)]
fn refill<T: Copy + Default>(buffer: &mut Vec<T>, count: usize) {
    buffer.clear();
    buffer.resize(count, T::default());
}

#[inline(always)]
fn add_rows(a: &[u32; ROWS], b: &[u32], columns: &mut [u64]) {
    let a = a.map(u64::from);
    let width = b.len() - MARGIN;
    // Row r meets the digit r places below.
    let (b0, b1, b2, b3) = (&b[3..], &b[2..][..width], &b[1..][..width], &b[..width]);
    for (j, column) in columns[..width].iter_mut().enumerate() {
        *column += a[0] * u64::from(b0[j])
            + a[1] * u64::from(b1[j])
            + a[2] * u64::from(b2[j])
            + a[3] * u64::from(b3[j]);
    }
}

/// Leaves a digit in each column and sets the rest aside.
#[inline(always)]
fn fold(columns: &mut [u64], over: &mut [u64]) {
    for (column, over) in columns.iter_mut().zip(over) {
        *over += *column >> BITS;
        *column &= u64::from(DIGIT);
    }
}

/// The only pass of carries, from digits back to words.
#[inline(always)]
fn carry(columns: &[u64], over: &[u64], product: &mut [u32]) {
    let mut columns = columns.iter();
    let mut over = over.iter();
    let (mut carry, mut folded) = (0u128, 0u64);
    let next = || {
        let column = columns.next().copied().unwrap_or(0);
        carry += u128::from(column) + u128::from(folded);
        folded = over.next().copied().unwrap_or(0);
        let digit = carry as u32 & DIGIT;
        carry >>= BITS;
        digit
    };
    digits::join(next, product);
}
