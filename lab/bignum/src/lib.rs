//! Products of long integers by Modified Comba multiplication; no files, no clock, no unsafe code.
//!
//! The algorithms are those of a publication that asked from which length on threads *inside one product* pay. A
//! product of two integers of n words is computed column by column: column k holds every `a[i] * b[k - i]`. The low and
//! the high halves of the partial products are summed apart, in accumulators twice as wide as a word, so that no carry is
//! looked at before a column is complete.
//!
//! ```text
//! serial::multiply   one column after the other, the carry handed on
//! Method             the two published ways to share one product among threads
//!   TwoHalves (2x)     columns 0..n and n..2n-1, then the first half's carry into the second
//!   Columns   (Mx)     any number of shares of independent columns, then one serial pass of carries
//! vector::VectorMultiplier   the same sums for many columns at once in vector registers
//! threads::Threads   who computes the shares: threads spawned for each product, or a pool that spins, then parks
//! batch::multiply    threads over many products, each of them serial
//! lanes::LaneMultiplier  28-bit digits, eight columns at once in vector registers: the delayed carry where it pays today
//! montgomery::Modulus    Montgomery multiplication by the same columns
//! curve::multiply_all    scalar multiplication on Curve25519, a point in every vector lane
//! ```
//!
//! Integers are little-endian slices of 32-bit words. Both operands have n words and the product 2n: leading zero words
//! are multiplied like others, and nothing depends on the values.
#![forbid(unsafe_code)]

pub mod batch;
mod column;
pub mod curve;
pub mod lanes;
mod method;
pub mod montgomery;
pub mod serial;
pub mod threads;
pub mod vector;

pub use method::{Method, Part, Sums};

/// The longest operands whose column sums fit the accumulators: each sums at most this many halves of 32 bits, and the
/// carry of the column before.
pub const MOST_WORDS: usize = 1 << 30;

/// Panics unless the three slices have lengths n, n and 2n with n in 1..=[`MOST_WORDS`].
fn check_lengths(a: &[u32], b: &[u32], product: &[u32]) {
    assert!((1..=MOST_WORDS).contains(&a.len()), "operands have 1 to {MOST_WORDS} words, not {}", a.len());
    assert_eq!(a.len(), b.len(), "both operands have the same number of words");
    assert_eq!(product.len(), 2 * a.len(), "the product has twice as many words as an operand");
}
