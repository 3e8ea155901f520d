//! Many publications at once: which worker opens the next one, and which takes a part of one that is open.
//!
//! ```text
//!            ┌ open publications with parts left ─> take a part, work on it ┐
//! worker ────┼ else the next publication          ─> open it                ├─> again
//!            ├ else somebody is opening one       ─> wait to be woken       ┘
//!            └ else                               ─> done
//! ```
//!
//! So one large publication occupies all workers, thousands of small ones do too, and at most as many are open as there
//! are workers. Whoever ends a publication's last part closes it.

mod check;
mod clear;
mod decrypt;
mod found;
mod inspect;
mod issue_all;
#[cfg(test)]
mod tests;

pub use check::{Check, Checked, LicenceSummary, Subject, check, check_unless};
pub use decrypt::{Decrypt, Decrypted, decrypt, decrypt_unless};
pub use found::{Findings, Unlistable, find_protected};
pub use inspect::{Inspected, inspect};
pub use issue_all::{Issued, Place, Request, issue_all, issue_all_unless};

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a worker that waits asks whether to stop.
const WAIT: Duration = Duration::from_millis(20);

/// What is done with each publication.
pub(crate) trait Task: Sync {
    /// A publication that is open.
    type Open: Send + Sync;
    /// What a worker keeps from part to part.
    type Worker: Default;

    /// Whether to stop: what is not closed by then never is. Asked before each part and while waiting.
    fn is_stopped(&self) -> bool;

    /// Opens a publication and says how many parts it has. Without parts it is not closed any more.
    fn open(&self, index: usize, worker: &mut Self::Worker) -> Option<(Self::Open, usize)>;

    /// Works on one part.
    fn part(&self, open: &Self::Open, part: usize, worker: &mut Self::Worker);

    /// Called once, after the last part.
    fn close(&self, open: &Self::Open, worker: &mut Self::Worker);
}

struct Shared<O> {
    open: O,
    parts: usize,
    left: AtomicUsize,
}

struct State<O> {
    /// The next publication that nobody has opened.
    next: usize,
    /// Workers that are opening one.
    opening: usize,
    /// Open publications with parts that nobody has taken, and the first of these.
    waiting: VecDeque<(Arc<Shared<O>>, usize)>,
}

struct Queue<'t, T: Task> {
    task: &'t T,
    count: usize,
    state: Mutex<State<T::Open>>,
    news: Condvar,
}

/// Does `task` for `count` publications with `workers` threads, of which this is one.
pub(crate) fn run<T: Task>(task: &T, count: usize, workers: NonZeroUsize) {
    let state = State { next: 0, opening: 0, waiting: VecDeque::new() };
    let queue = Queue { task, count, state: Mutex::new(state), news: Condvar::new() };
    cipherloom::on_watched_workers(workers.get(), &|| queue.work(), &|| _ = task.is_stopped());
}

/// A publication that is being opened. Others wait for its parts until this is dropped, also by a panic.
struct Opening<'q, 't, T: Task> {
    queue: &'q Queue<'t, T>,
    opened: Option<(T::Open, usize)>,
}

impl<T: Task> Drop for Opening<'_, '_, T> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.opening -= 1;
        if let Some((open, parts)) = self.opened.take().filter(|(_, parts)| *parts > 0) {
            state.waiting.push_back((Arc::new(Shared { open, parts, left: AtomicUsize::new(parts) }), 0));
        }
        drop(state);
        self.queue.news.notify_all();
    }
}

impl<T: Task> Queue<'_, T> {
    fn work(&self) {
        let mut worker = T::Worker::default();
        let mut state = self.lock();
        loop {
            if self.task.is_stopped() {
                return;
            }
            if let Some((shared, part)) = take_part(&mut state) {
                drop(state);
                self.work_on(&shared, part, &mut worker);
            } else if state.next < self.count {
                let index = state.next;
                state.next += 1;
                state.opening += 1;
                drop(state);
                let mut opening = Opening { queue: self, opened: None };
                opening.opened = self.task.open(index, &mut worker);
                drop(opening);
            } else if state.opening > 0 {
                state = self.news.wait_timeout(state, WAIT).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            } else {
                return;
            }
            state = self.lock();
        }
    }

    fn work_on(&self, shared: &Shared<T::Open>, part: usize, worker: &mut T::Worker) {
        self.task.part(&shared.open, part, worker);
        // Whoever ends the last part must see what the others have noted.
        if shared.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        self.task.close(&shared.open, worker);
    }

    fn lock(&self) -> MutexGuard<'_, State<T::Open>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take_part<O>(state: &mut State<O>) -> Option<(Arc<Shared<O>>, usize)> {
    let (shared, next) = state.waiting.front_mut()?;
    let taken = (Arc::clone(shared), *next);
    *next += 1;
    if *next == shared.parts {
        state.waiting.pop_front();
    }
    Some(taken)
}
