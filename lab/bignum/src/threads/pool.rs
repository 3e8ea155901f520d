//! A pool that outlives its products: what the authors of the published experiment asked for ("threads created once").
//!
//! Safe code cannot lend a slice of the caller to a thread that was started before, so the operands are copied into the
//! pool: 2n words for n² products.

use super::Threads;
use super::rounds::{Rounds, SPINS, lock};
use crate::method::{Method, Part, Sums};
use std::sync::{Mutex, PoisonError, RwLock};

/// Persistent workers that spin for some tens of microseconds after each product, then park.
pub struct Pool {
    rounds: Rounds<State>,
}

struct State {
    product: RwLock<Operands>,
    parts: Vec<Mutex<Part>>,
}

struct Operands {
    threads: usize,
    method: Method,
    sums: Sums,
    a: Vec<u32>,
    b: Vec<u32>,
}

impl Pool {
    /// A pool of so many threads, the caller's included (at least 1).
    #[must_use]
    pub fn new(threads: usize) -> Pool {
        Pool::with_spins(threads, SPINS)
    }

    /// The same, whose workers first call `begin` with their index (1, 2, …), to choose where they run: two that spin for
    /// each other on one processor wait for time slices to end.
    #[must_use]
    pub fn placed(threads: usize, begin: fn(usize)) -> Pool {
        Pool::start(threads, SPINS, begin)
    }

    /// A pool whose threads look `spins` times for the next product before they park; 0 parks at once.
    #[must_use]
    pub fn with_spins(threads: usize, spins: usize) -> Pool {
        Pool::start(threads, spins, |_| ())
    }

    fn start(threads: usize, spins: usize, begin: fn(usize)) -> Pool {
        let threads = threads.max(1);
        let parts = (0..threads.max(Method::TwoHalves.parts(threads))).map(|_| Mutex::default()).collect();
        let product = RwLock::new(Operands {
            threads,
            method: Method::Columns,
            sums: Sums::Plain,
            a: Vec::new(),
            b: Vec::new(),
        });
        Pool { rounds: Rounds::new(threads, spins, State { product, parts }, State::work, begin) }
    }
}

impl State {
    /// Thread `index` computes the parts `index`, `index + threads`, …; the number of threads is that of parts, but for
    /// two halves on one thread.
    fn work(&self, index: usize) {
        let operands = self.product.read().unwrap_or_else(PoisonError::into_inner);
        let threads = operands.threads;
        let count = operands.method.parts(threads);
        for part in (index..count).step_by(threads) {
            let Operands { method, sums, a, b, .. } = &*operands;
            method.compute(*sums, a, b, part, count, &mut lock(&self.parts[part]));
        }
    }
}

impl Threads for Pool {
    fn name(&self) -> &'static str {
        "pool"
    }

    fn threads(&self) -> usize {
        self.rounds.threads()
    }

    fn multiply(&mut self, method: Method, sums: Sums, a: &[u32], b: &[u32], product: &mut [u32]) {
        crate::check_lengths(a, b, product);
        {
            let mut operands = self.rounds.state().product.write().unwrap_or_else(PoisonError::into_inner);
            (operands.method, operands.sums) = (method, sums);
            operands.a.clear();
            operands.a.extend_from_slice(a);
            operands.b.clear();
            operands.b.extend_from_slice(b);
        }
        self.rounds.run();
        let parts: Vec<_> = self.rounds.state().parts.iter().map(lock).collect();
        let count = method.parts(self.rounds.threads());
        method.join(parts[..count].iter().map(|part| &**part), product);
    }
}
