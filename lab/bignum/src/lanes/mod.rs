//! Reduced radix: integers as 28-bit digits, eight columns of the product at a time in vector registers.
//!
//! Where Modified Comba delays the carry by summing halves apart, 28-bit digits leave room instead: a product of two has 56
//! bits, so a 64-bit lane sums 255 of them before it can overflow. The inner loop is then one multiplication and one
//! addition for each lane and nothing else, which is what vector units do (Gueron and Krasnov, "Software implementation
//! of modular exponentiation, using advanced vector instructions architectures", 2012, use 29 bits for squarings in the
//! same way). The code is ordinary loops over arrays of constant length, compiled by the `pulp` crate once for each vector
//! width and chosen when the program runs.

pub(crate) mod digits;
mod product;

use product::Digits;

/// Multiplies with 28-bit digits; holds the buffers for the digits, so that products of one length allocate once.
#[derive(Debug, Clone, Default)]
pub struct LaneMultiplier {
    digits: Digits,
}

impl LaneMultiplier {
    /// An empty multiplier.
    #[must_use]
    pub fn new() -> LaneMultiplier {
        LaneMultiplier::default()
    }

    /// Sets `product` to `a * b`.
    ///
    /// # Panics
    /// If the lengths are not n, n and 2n words with n from 1 to [`MOST_WORDS`](crate::MOST_WORDS).
    pub fn multiply(&mut self, a: &[u32], b: &[u32], product: &mut [u32]) {
        crate::check_lengths(a, b, product);
        pulp::Arch::new().dispatch(Multiply { digits: &mut self.digits, a, b, product });
    }
}

/// The work as a value, since a closure is not inlined into the function that has the CPU's features.
struct Multiply<'a> {
    digits: &'a mut Digits,
    a: &'a [u32],
    b: &'a [u32],
    product: &'a mut [u32],
}

impl pulp::WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.digits.multiply(self.a, self.b, self.product);
    }
}
