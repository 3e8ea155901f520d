//! Modified Comba on one thread: the yardstick of the published experiment.

use crate::check_lengths;
use crate::column::{self, Column};

/// Sets `product` to `a * b`.
///
/// # Panics
/// If the lengths are not n, n and 2n words with n from 1 to [`MOST_WORDS`](crate::MOST_WORDS).
pub fn multiply(a: &[u32], b: &[u32], product: &mut [u32]) {
    check_lengths(a, b, product);
    let mut carry = Column::default();
    let (top, words) = product.split_last_mut().expect("a product has at least two words");
    for (k, word) in words.iter_mut().enumerate() {
        carry.add(column::sum(a, b, k));
        *word = carry.save();
    }
    *top = carry.save();
}
