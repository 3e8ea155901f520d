//! The threads of one run: started, watched, stopped and joined.

use super::spread::Parent;
use crate::Error;
use crate::report::{Observer, pass_on};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// The threads of one run, and how they learn that it is to stop: as an [`Observer`], this passes everything on to the
/// caller's observer, and reports the run as stopped once a worker has panicked.
pub struct Workers<'o> {
    threads: usize,
    observer: &'o dyn Observer,
    /// The thread that made this, which runs the work too.
    caller: ThreadId,
    has_panicked: AtomicBool,
    /// The first panic's message.
    panic: Mutex<Option<Error>>,
}

impl<'o> Workers<'o> {
    /// Up to `threads` threads, of which the calling thread is one. The others start with [`Workers::run`].
    #[must_use]
    pub fn new(threads: usize, observer: &'o dyn Observer) -> Workers<'o> {
        let caller = thread::current().id();
        Workers { threads, observer, caller, has_panicked: AtomicBool::new(false), panic: Mutex::new(None) }
    }

    /// How many threads there are at most.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs `work` on every thread. Returns when all have ended. `work` asks [`Observer::is_stopped`] of these workers
    /// between its pieces.
    ///
    /// # Errors
    /// [`Error::Internal`] if `work` panicked on one of the threads.
    pub fn run(&self, work: &(dyn Fn() + Sync)) -> Result<(), Error> {
        let guarded = || _ = self.guard(work);
        // Nothing is sent: the channel closes when the last worker has dropped its end.
        let (working, all_done) = channel::<()>();
        thread::scope(|scope| {
            for _ in 1..self.threads {
                let (parent, working) = (Parent::here(), working.clone());
                let _ = thread::Builder::new().spawn_scoped(scope, move || {
                    parent.leave();
                    guarded();
                    drop(working);
                });
            }
            drop(working);
            guarded();
            if let Some(interval) = self.observer.watch_interval() {
                while all_done.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    self.observer.is_stopped();
                }
            }
        });
        self.panic().map_or(Ok(()), Err)
    }

    /// Calls `work`. If it panics, the run is to stop.
    pub(super) fn guard<R>(&self, work: impl FnOnce() -> R) -> Option<R> {
        let ended = catch_unwind(AssertUnwindSafe(work));
        if let Err(payload) = &ended {
            lock(&self.panic).get_or_insert_with(|| Error::from_panic(&**payload));
            self.has_panicked.store(true, Ordering::Release);
        }
        ended.ok()
    }

    /// The first panic, once.
    pub(super) fn panic(&self) -> Option<Error> {
        lock(&self.panic).take()
    }

    /// Calls `work` once for each number below `count`, on whichever thread is free, until the run is stopped. Every
    /// thread makes itself a `state` first.
    ///
    /// # Errors
    /// As [`Workers::run`].
    pub fn run_each<S>(
        &self,
        count: usize,
        state: impl Fn() -> S + Sync,
        work: impl Fn(usize, &mut S) + Sync,
    ) -> Result<(), Error> {
        let next = AtomicUsize::new(0);
        self.run(&|| {
            let mut state = state();
            while !self.is_stopped() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                work(number, &mut state);
            }
        })
    }

    /// Blocks until `changed` is notified. The calling thread also wakes at its observer's interval, and asks it whether
    /// to stop.
    pub(super) fn wait<'g, T>(&self, changed: &Condvar, state: MutexGuard<'g, T>) -> MutexGuard<'g, T> {
        let interval = self.observer.watch_interval().filter(|_| thread::current().id() == self.caller);
        match interval {
            None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(interval) => changed.wait_timeout(state, interval).unwrap_or_else(PoisonError::into_inner).0,
        }
    }
}

impl Observer for Workers<'_> {
    pass_on!();

    fn is_stopped(&self) -> bool {
        self.has_panicked.load(Ordering::Relaxed) || self.observer.is_stopped()
    }
}

/// Locks a mutex whose data is valid even if another thread panicked while it held the lock.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unobserved;
    use std::sync::Barrier;
    use std::time::Duration;

    #[test]
    fn every_number_is_handled_once() {
        let seen: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        let workers = Workers::new(4, &Unobserved);
        workers
            .run_each(seen.len(), || (), |number, ()| _ = seen[number].fetch_add(1, Ordering::Relaxed))
            .unwrap();
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn a_panic_stops_the_others_and_is_the_error() {
        for panicking_is_caller in [true, false] {
            let caller = thread::current().id();
            let all_there = Barrier::new(3);
            let workers = Workers::new(3, &Unobserved);
            let has_panicked = AtomicBool::new(false);
            let error = workers
                .run(&|| {
                    all_there.wait();
                    let is_one = match panicking_is_caller {
                        true => thread::current().id() == caller,
                        false => {
                            thread::current().id() != caller && !has_panicked.swap(true, Ordering::SeqCst)
                        }
                    };
                    assert!(!is_one, "on {}", "purpose");
                    while !workers.is_stopped() {
                        thread::yield_now();
                    }
                })
                .unwrap_err();
            assert_eq!(error.to_string(), "internal error: on purpose; please report it");
        }
    }

    /// Wants to be asked by the thread that made it alone, and stops when it has been asked a few times.
    struct Asked(ThreadId, AtomicUsize);

    impl Observer for Asked {
        fn is_stopped(&self) -> bool {
            if thread::current().id() == self.0 {
                self.1.fetch_add(1, Ordering::Relaxed);
            }
            self.1.load(Ordering::Relaxed) > 5
        }
        fn watch_interval(&self) -> Option<Duration> {
            Some(Duration::from_millis(1))
        }
    }

    #[test]
    fn a_caller_without_work_goes_on_asking_if_its_observer_wants_that() {
        let caller = thread::current().id();
        let observer = Asked(caller, AtomicUsize::new(0));
        let workers = Workers::new(2, &observer);
        workers
            .run(&|| {
                while thread::current().id() != caller && !workers.is_stopped() {
                    thread::yield_now();
                }
            })
            .unwrap();
    }
}
