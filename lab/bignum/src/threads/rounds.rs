//! Workers that are made once and do one round of work each time they are asked: they spin for a while for the next
//! round, then park, so that a product that follows soon finds them awake and an idle pool costs nothing.
//!
//! ```text
//! caller   round += 1, unpark who is parked ──> own share ──> spin, then park, until running == 0
//! worker   spin, then park, until round changes ──> share ──> running -= 1, unpark the caller if it was the last
//! ```
//!
//! Parking cannot miss its wake-up: who parks first says so and then looks again, who wakes first changes the counter and
//! then looks who has parked, both in one total order; and an `unpark` that comes before its `park` is kept.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, Thread};

/// Looks at a counter, before a thread parks: some tens of microseconds, less than a scheduler's time slice by far.
pub(crate) const SPINS: usize = 20_000;

/// Looks between two offers of the processor to others: where the scheduler has put the thread that is waited for on this
/// same processor, it could not run until a time slice ends.
const YIELD_EVERY: usize = 256;

struct Shared<State> {
    state: State,
    work: fn(&State, usize),
    spins: usize,
    round: AtomicUsize,
    running: AtomicUsize,
    end: AtomicBool,
    failed: AtomicBool,
    sleepers: Vec<Sleeper>,
    caller: Mutex<Option<Thread>>,
    caller_sleeps: AtomicBool,
}

#[repr(align(128))]
struct Sleeper {
    parked: AtomicBool,
}

/// A team of threads around a state that all of them see.
pub(crate) struct Rounds<State: Send + Sync + 'static> {
    shared: Arc<Shared<State>>,
    handles: Vec<JoinHandle<()>>,
}

impl<State: Send + Sync + 'static> Rounds<State> {
    /// Starts `threads - 1` workers; the caller is the one with index 0. Each calls `begin` with its index, once.
    pub(crate) fn new(
        threads: usize,
        spins: usize,
        state: State,
        work: fn(&State, usize),
        begin: fn(usize),
    ) -> Rounds<State> {
        let workers = threads.saturating_sub(1);
        let shared = Arc::new(Shared {
            state,
            work,
            spins,
            round: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            end: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            sleepers: (0..workers).map(|_| Sleeper { parked: AtomicBool::new(false) }).collect(),
            caller: Mutex::new(None),
            caller_sleeps: AtomicBool::new(false),
        });
        let start = |worker: usize| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                begin(worker + 1);
                shared.serve(worker);
            })
        };
        let handles = (0..workers).map(start).collect();
        Rounds { shared, handles }
    }

    pub(crate) fn state(&self) -> &State {
        &self.shared.state
    }

    pub(crate) fn threads(&self) -> usize {
        self.handles.len() + 1
    }

    /// Does one round: every thread works once on its own index. Gives back when all are done.
    ///
    /// # Panics
    /// If the work panicked in a worker, now or in an earlier round.
    pub(crate) fn run(&mut self) {
        let shared = &*self.shared;
        shared.running.store(self.handles.len(), Ordering::SeqCst);
        shared.round.fetch_add(1, Ordering::SeqCst);
        self.wake();
        (shared.work)(&shared.state, 0);
        let done = || shared.running.load(Ordering::SeqCst) == 0;
        if !spin_until(shared.spins, done) {
            *lock(&shared.caller) = Some(thread::current());
            shared.caller_sleeps.store(true, Ordering::SeqCst);
            while !done() {
                thread::park();
            }
            shared.caller_sleeps.store(false, Ordering::SeqCst);
        }
        assert!(!shared.failed.load(Ordering::SeqCst), "a worker of the pool panicked");
    }

    fn wake(&self) {
        for (sleeper, handle) in self.shared.sleepers.iter().zip(&self.handles) {
            if sleeper.parked.load(Ordering::SeqCst) {
                handle.thread().unpark();
            }
        }
    }
}

impl<State: Send + Sync + 'static> Drop for Rounds<State> {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::SeqCst);
        self.shared.round.fetch_add(1, Ordering::SeqCst);
        for handle in self.handles.drain(..) {
            handle.thread().unpark();
            // A worker catches its work's panics and tells them in `run`.
            let _ = handle.join();
        }
    }
}

impl<State> Shared<State> {
    fn serve(&self, worker: usize) {
        let mut seen = 0;
        loop {
            let changed = || self.round.load(Ordering::SeqCst) != seen;
            if !spin_until(self.spins, changed) {
                let parked = &self.sleepers[worker].parked;
                parked.store(true, Ordering::SeqCst);
                while !changed() {
                    thread::park();
                }
                parked.store(false, Ordering::SeqCst);
            }
            seen = self.round.load(Ordering::SeqCst);
            if self.end.load(Ordering::SeqCst) {
                return;
            }
            let work = || (self.work)(&self.state, worker + 1);
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {
                self.failed.store(true, Ordering::SeqCst);
            }
            let was_last = self.running.fetch_sub(1, Ordering::SeqCst) == 1;
            if was_last
                && self.caller_sleeps.load(Ordering::SeqCst)
                && let Some(caller) = &*lock(&self.caller)
            {
                caller.unpark();
            }
        }
    }
}

/// A lock whose holder panicked is as good as any: what it guards is set anew for each product.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spin_until(spins: usize, done: impl Fn() -> bool) -> bool {
    for spin in 1..=spins {
        if done() {
            return true;
        }
        if spin.is_multiple_of(YIELD_EVERY) { thread::yield_now() } else { std::hint::spin_loop() }
    }
    done()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    fn count(state: &[AtomicU64; 5], index: usize) {
        state[index].fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn every_thread_works_once_in_each_round_however_it_waits() {
        for spins in [0, 10, SPINS] {
            for threads in [1, 2, 5] {
                let state = [const { AtomicU64::new(0) }; 5];
                let mut rounds = Rounds::new(threads, spins, state, count, |_| ());
                for round in 1..=500 {
                    rounds.run();
                    for counter in &rounds.state()[..threads] {
                        assert_eq!(counter.load(Ordering::Relaxed), round);
                    }
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "a worker of the pool panicked")]
    fn a_panic_in_a_worker_is_told() {
        let mut rounds = Rounds::new(2, SPINS, (), |(), index| assert_eq!(index, 0), |_| ());
        rounds.run();
    }
}
