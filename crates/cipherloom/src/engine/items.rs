//! Items that open into parts: a publication and its resources, for instance.
//!
//! ```text
//!            ┌ an item that nobody has opened  ─> open it, work on its parts ┐
//! worker ────┼ else an opened item with parts  ─> help with them             ├─> again
//!            ├ else somebody opens an item     ─> wait until that has ended  ┘
//!            └ else                            ─> done
//! ```
//!
//! So one large item occupies all threads, thousands of small ones do too, and at most as many are open as there are
//! threads. Give the largest items first, so that the threads end together.

use super::workers::{Workers, lock};
use crate::Error;
use crate::report::Observer;
use std::sync::{Arc, Condvar, Mutex};

/// Items, and what is done with them.
pub trait Items: Sync {
    /// An item that is open.
    type Item: Send + Sync;
    /// What a thread keeps from item to item.
    type Worker;

    /// A thread begins.
    fn start_worker(&self) -> Self::Worker;

    /// Opens an item. `None` if there is nothing more to do for it. It asks for itself whether the run is stopped.
    fn open_item(&self, index: usize, worker: &mut Self::Worker) -> Option<Self::Item>;

    /// How many parts of an open item no thread has taken.
    fn untaken_parts(&self, item: &Self::Item) -> usize;

    /// Takes parts of an open item until none is left or the run is stopped. `helpers`: how many threads may do so now.
    fn work_on(&self, item: &Self::Item, helpers: usize, worker: &mut Self::Worker);
}

impl Workers<'_> {
    /// Opens items `0..count` and works on their parts, until the run is stopped.
    ///
    /// # Errors
    /// As [`Workers::run`].
    pub fn run_items<I: Items>(&self, count: usize, items: &I) -> Result<(), Error> {
        let queue = Queue { workers: self, items, count, state: Mutex::default(), changed: Condvar::new() };
        self.run(&|| queue.work())
    }
}

struct Queue<'q, I: Items> {
    workers: &'q Workers<'q>,
    items: &'q I,
    count: usize,
    state: Mutex<State<I::Item>>,
    changed: Condvar,
}

struct State<T> {
    /// The next item to open.
    next: usize,
    /// How many threads are opening an item.
    opening: usize,
    /// Open items that may have parts left.
    open: Vec<Arc<T>>,
}

impl<T> Default for State<T> {
    fn default() -> State<T> {
        State { next: 0, opening: 0, open: Vec::new() }
    }
}

/// An item that is being opened. Others wait until this is dropped, which a panic does too.
struct Opening<'q, I: Items> {
    queue: &'q Queue<'q, I>,
    item: Option<Arc<I::Item>>,
}

impl<I: Items> Drop for Opening<'_, I> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.opening -= 1;
        self.queue.forget_taken(&mut state);
        state.open.extend(self.item.take());
        drop(state);
        self.queue.changed.notify_all();
    }
}

impl<I: Items> Queue<'_, I> {
    fn work(&self) {
        let mut worker = self.items.start_worker();
        let mut state = lock(&self.state);
        while !self.workers.is_stopped() {
            if state.next < self.count {
                let index = state.next;
                state.next += 1;
                state.opening += 1;
                drop(state);
                let mut opening = Opening { queue: self, item: None };
                opening.item = self.items.open_item(index, &mut worker).map(Arc::new);
                let opened = opening.item.clone();
                drop(opening);
                if let Some(item) = opened {
                    let has_others = lock(&self.state).next < self.count;
                    let helpers = if has_others { 1 } else { self.workers.threads() };
                    self.items.work_on(&item, helpers, &mut worker);
                }
                state = lock(&self.state);
                continue;
            }
            self.forget_taken(&mut state);
            if let Some(item) = state.open.first().map(Arc::clone) {
                drop(state);
                self.items.work_on(&item, self.workers.threads(), &mut worker);
                state = lock(&self.state);
            } else if state.opening > 0 {
                state = self.workers.wait(&self.changed, state);
            } else {
                return;
            }
        }
    }

    fn forget_taken(&self, state: &mut State<I::Item>) {
        state.open.retain(|item| self.items.untaken_parts(item) > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unobserved;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the parts that are worked on; panics where asked to, when all threads are there.
    struct Counted {
        all_there: Barrier,
        parts: usize,
        done: AtomicUsize,
        panics_opening: Option<usize>,
        panics_at_part: Option<usize>,
    }

    impl Counted {
        fn new(threads: usize) -> Counted {
            let all_there = Barrier::new(threads);
            Counted {
                all_there,
                parts: 100,
                done: AtomicUsize::new(0),
                panics_opening: None,
                panics_at_part: None,
            }
        }
    }

    impl Items for Counted {
        type Item = AtomicUsize;
        type Worker = ();

        fn start_worker(&self) {
            self.all_there.wait();
        }

        fn open_item(&self, index: usize, (): &mut ()) -> Option<AtomicUsize> {
            // Long enough for the others to find nothing to do and wait.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_ne!(Some(index), self.panics_opening, "while opening");
            Some(AtomicUsize::new(0))
        }

        fn untaken_parts(&self, item: &AtomicUsize) -> usize {
            self.parts.saturating_sub(item.load(Ordering::Relaxed))
        }

        fn work_on(&self, item: &AtomicUsize, _helpers: usize, (): &mut ()) {
            while item.fetch_add(1, Ordering::Relaxed) < self.parts {
                let done = self.done.fetch_add(1, Ordering::Relaxed);
                assert_ne!(Some(done), self.panics_at_part, "while working");
            }
        }
    }

    #[test]
    fn every_part_of_every_item_is_worked_on_once() {
        for threads in [1, 4] {
            let items = Counted::new(threads);
            Workers::new(threads, &Unobserved).run_items(3, &items).unwrap();
            assert_eq!(items.done.load(Ordering::Relaxed), 300);
        }
    }

    #[test]
    fn nobody_waits_for_a_worker_that_panicked() {
        let opening = Counted { panics_opening: Some(0), ..Counted::new(3) };
        let later = Counted { panics_opening: Some(1), ..Counted::new(3) };
        let working = Counted { panics_at_part: Some(50), ..Counted::new(3) };
        for (items, count, place) in [(opening, 1, "opening"), (later, 2, "opening"), (working, 1, "working")]
        {
            let error = Workers::new(3, &Unobserved).run_items(count, &items).unwrap_err();
            assert!(matches!(&error, Error::Internal { message } if message.contains(place)), "{error}");
        }
    }
}
