//! The door to a thread runtime: who computes the parts of one product.
//!
//! Every runtime computes the same parts with the same code, so that what differs in a measurement is how threads are
//! started, woken and waited for. [`Alone`] is the serial twin of the others: the same parts on the caller's thread.

mod pool;
mod rounds;
mod spawned;

pub use pool::Pool;
pub use spawned::Spawned;

use crate::method::{Method, Part, Sums};

/// A way to run the parts of a product.
pub trait Threads {
    /// The name used in records.
    fn name(&self) -> &'static str;

    /// How many threads take part, the caller's included.
    fn threads(&self) -> usize;

    /// Sets `product` to `a * b`.
    ///
    /// # Panics
    /// If the lengths are not n, n and 2n words with n from 1 to [`MOST_WORDS`](crate::MOST_WORDS).
    fn multiply(&mut self, method: Method, sums: Sums, a: &[u32], b: &[u32], product: &mut [u32]);
}

/// No thread but the caller's; computes as many parts as `threads` would.
#[derive(Debug)]
pub struct Alone {
    parts: Vec<Part>,
    threads: usize,
}

impl Alone {
    /// Cuts products as for so many threads (at least 1).
    #[must_use]
    pub fn new(threads: usize) -> Alone {
        Alone { parts: Vec::new(), threads: threads.max(1) }
    }
}

impl Threads for Alone {
    fn name(&self) -> &'static str {
        "alone"
    }

    fn threads(&self) -> usize {
        1
    }

    fn multiply(&mut self, method: Method, sums: Sums, a: &[u32], b: &[u32], product: &mut [u32]) {
        crate::check_lengths(a, b, product);
        let count = method.parts(self.threads);
        self.parts.resize_with(count, Part::default);
        for (index, part) in self.parts.iter_mut().enumerate() {
            method.compute(sums, a, b, index, count, part);
        }
        method.join(self.parts.iter(), product);
    }
}
