//! Sums that many threads add to often. Each thread adds in a place of its own: a place that all of them write would go from one
//! core's cache to the next one's for every file.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How many places there are. More threads than these share them.
const PLACES: usize = 32;

/// Sums of `N` quantities.
#[derive(Debug)]
pub struct Counter<const N: usize>(Box<[Place<N>]>);

/// Two cache lines, since processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Place<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Counter<N> {
    fn default() -> Counter<N> {
        Counter((0..PLACES).map(|_| Place([const { AtomicU64::new(0) }; N])).collect())
    }
}

impl<const N: usize> Counter<N> {
    /// Adds to each sum.
    pub fn add(&self, amounts: [u64; N]) {
        let Place(place) = &self.0[place_of_thread() % PLACES];
        for (sum, amount) in place.iter().zip(amounts) {
            if amount > 0 {
                sum.fetch_add(amount, Ordering::Relaxed);
            }
        }
    }

    /// The sums of all that was added. What other threads are adding may be in some of them.
    #[must_use]
    pub fn sums(&self) -> [u64; N] {
        std::array::from_fn(|quantity| {
            self.0.iter().map(|Place(place)| place[quantity].load(Ordering::Relaxed)).sum()
        })
    }
}

/// A number for each thread, counted from 0.
fn place_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static PLACE: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    PLACE.with(|place| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_places_lose_nothing() {
        let counter = Counter::<2>::default();
        std::thread::scope(|scope| {
            for _ in 0..2 * PLACES {
                scope.spawn(|| (0..1000).for_each(|_| counter.add([1, 3])));
            }
        });
        let added = 2 * PLACES as u64 * 1000;
        assert_eq!(counter.sums(), [added, 3 * added]);
    }
}
