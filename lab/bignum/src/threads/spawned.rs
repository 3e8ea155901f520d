//! Threads made for each product and ended with it: what the published program paid for every multiplication if its
//! runtime kept no team, and the upper bound of what starting threads costs.

use super::Threads;
use crate::method::{Method, Part, Sums};

/// Spawns a thread for each part but the first, for each product.
#[derive(Debug)]
pub struct Spawned {
    parts: Vec<Part>,
    threads: usize,
}

impl Spawned {
    /// So many threads, the caller's included (at least 1).
    #[must_use]
    pub fn new(threads: usize) -> Spawned {
        Spawned { parts: Vec::new(), threads: threads.max(1) }
    }
}

impl Threads for Spawned {
    fn name(&self) -> &'static str {
        "spawned"
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn multiply(&mut self, method: Method, sums: Sums, a: &[u32], b: &[u32], product: &mut [u32]) {
        crate::check_lengths(a, b, product);
        let count = method.parts(self.threads);
        self.parts.resize_with(count, Part::default);
        let (own, others) = self.parts.split_first_mut().expect("there is at least one part");
        std::thread::scope(|scope| {
            for (index, part) in others.iter_mut().enumerate() {
                scope.spawn(move || method.compute(sums, a, b, index + 1, count, part));
            }
            method.compute(sums, a, b, 0, count, own);
        });
        method.join(self.parts.iter(), product);
    }
}
