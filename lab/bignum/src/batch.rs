//! Threads over many products, each of them on one thread: parallel where nothing is shared.

use crate::lanes::LaneMultiplier;
use crate::serial;

/// How each product of a batch is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Each {
    /// Serial Modified Comba.
    Serial,
    /// 28-bit digits in vector registers.
    Lanes,
}

impl Each {
    /// The name used in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Each::Serial => "serial",
            Each::Lanes => "lanes",
        }
    }
}

/// Multiplies pairs of operands of `words` words, which stand one after the other in `a` and in `b`, into `products`,
/// where each has twice as many. The pairs are dealt out to `threads` threads in contiguous runs; with one thread the
/// caller computes all of them.
///
/// # Panics
/// If `words` is 0 or above [`MOST_WORDS`](crate::MOST_WORDS), or the lengths are not those of the same number of pairs.
pub fn multiply(each: Each, threads: usize, words: usize, a: &[u32], b: &[u32], products: &mut [u32]) {
    assert!(words > 0, "operands have at least one word");
    assert!(a.len().is_multiple_of(words), "operands have {words} words each");
    assert_eq!(a.len(), b.len(), "there are as many second operands as first ones");
    assert_eq!(products.len(), 2 * a.len(), "each product has twice as many words as an operand");
    let pairs = a.len() / words;
    let run = pairs.div_ceil(threads.max(1)).max(1) * words;
    if run >= a.len() {
        return in_turn(each, words, a, b, products);
    }
    std::thread::scope(|scope| {
        let mut shares = a.chunks(run).zip(b.chunks(run)).zip(products.chunks_mut(2 * run));
        let own = shares.next();
        for ((a, b), products) in shares {
            scope.spawn(move || in_turn(each, words, a, b, products));
        }
        if let Some(((a, b), products)) = own {
            in_turn(each, words, a, b, products);
        }
    });
}

fn in_turn(each: Each, words: usize, a: &[u32], b: &[u32], products: &mut [u32]) {
    let mut lanes = LaneMultiplier::new();
    let pairs = a.chunks_exact(words).zip(b.chunks_exact(words));
    for ((a, b), product) in pairs.zip(products.chunks_exact_mut(2 * words)) {
        match each {
            Each::Serial => serial::multiply(a, b, product),
            Each::Lanes => lanes.multiply(a, b, product),
        }
    }
}
