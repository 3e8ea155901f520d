//! The queue: the plan's tasks, taken in order by whichever worker is free. One atomic addition a task; nobody waits.

use super::translation::Passage;
use crate::Error;
use crate::plan::{Plan, Task};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) struct Queue<'p> {
    plan: &'p Plan,
    next: AtomicUsize,
    /// Source bytes that no worker has been through with; kept for chained entries only.
    left: AtomicU64,
    pub(super) shared: Vec<Shared>,
}

impl<'p> Queue<'p> {
    pub(super) fn new(plan: &'p Plan) -> Queue<'p> {
        Queue {
            plan,
            next: AtomicUsize::new(0),
            left: AtomicU64::new(plan.total_bytes),
            shared: plan.shared.iter().map(|_| Shared::default()).collect(),
        }
    }

    pub(super) fn take(&self) -> Option<&'p Task> {
        // Only the number matters: what a task refers to was there before the workers started.
        self.plan.tasks.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The next task for a worker whose entries in flight have `own` bytes to go, unless that would be more than its even
    /// share of all that is left: the others need chains to fill their lanes with, too. `bytes_of`: a task's bytes.
    pub(super) fn take_share(&self, own: u64, bytes_of: impl Fn(&Task) -> u64) -> Option<&'p Task> {
        let next = self.plan.tasks.get(self.next.load(Ordering::Relaxed))?;
        let share = self.left.load(Ordering::Relaxed) / self.plan.threads as u64;
        // By half of the task, so that shares that are no whole number of tasks are rounded. Somebody else may take this
        // task first; the one behind it is no larger, or nearly so.
        if own == 0 || own + bytes_of(next) / 2 <= share { self.take() } else { None }
    }

    /// So many bytes of chained entries are through, or will never be.
    pub(super) fn count_through(&self, bytes: u64) {
        self.left.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// An entry that several workers share: whoever takes the first part opens it, whoever ends the last part commits it, and the
/// first failure ends it for all.
#[derive(Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    ended_parts: AtomicU32,
    written: AtomicU64,
}

#[derive(Default)]
enum State {
    #[default]
    Untouched,
    Open(Arc<Passage>),
    /// Nothing more to do: told already, or its output was there.
    Closed,
    /// With the part that failed. The lowest one's reason is told: only the first segment can tell a wrong key from
    /// damage.
    Failed(u32, Error),
}

/// What the last worker finds when all parts have ended.
#[expect(clippy::large_enum_variant, reason = "moved once for each shared entry")]
pub(super) enum Ending {
    Complete { passage: Passage, written: u64 },
    Failed(Error),
    Closed,
}

impl Shared {
    /// The passage, opened by `open` if nobody has; `None` if there is nothing (more) to do. `open` returns `None` if
    /// the entry is to be skipped.
    pub(super) fn passage(
        &self,
        open: impl FnOnce() -> Result<Option<Passage>, Error>,
    ) -> Option<Arc<Passage>> {
        let mut state = self.lock();
        if matches!(*state, State::Untouched) {
            *state = match open() {
                Ok(Some(passage)) => State::Open(Arc::new(passage)),
                Ok(None) => State::Closed,
                Err(error) => State::Failed(0, error),
            };
        }
        match &*state {
            State::Open(passage) => Some(Arc::clone(passage)),
            _ => None,
        }
    }

    pub(super) fn fail(&self, part: u32, error: Error) {
        let mut state = self.lock();
        if !matches!(*state, State::Failed(earlier, _) if earlier <= part) {
            *state = State::Failed(part, error);
        }
    }

    /// Ends one of `parts` parts, which wrote `written` bytes; the last one gets the ending. The caller has
    /// dropped its share of the passage.
    pub(super) fn end_part(&self, parts: u32, written: u64) -> Option<Ending> {
        self.written.fetch_add(written, Ordering::Relaxed);
        // Acquire and release: the last one sees all that the others wrote.
        if self.ended_parts.fetch_add(1, Ordering::AcqRel) + 1 < parts {
            return None;
        }
        Some(match std::mem::replace(&mut *self.lock(), State::Closed) {
            State::Open(passage) => match Arc::try_unwrap(passage) {
                Ok(passage) => Ending::Complete { passage, written: self.written.load(Ordering::Relaxed) },
                Err(_) => unreachable!("every other part has dropped its share"),
            },
            State::Failed(_, error) => Ending::Failed(error),
            State::Untouched | State::Closed => Ending::Closed,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{Calibration, Machine};
    use crate::plan::{CipherCost, Operation, Request};
    use cipherloom_kernels::Backend;
    use std::num::NonZeroUsize;

    fn machine() -> Machine {
        Machine { backend: Backend::Soft, open_files: 4096, ..Machine::detect(Calibration::default()) }
    }

    /// How many entries of these sizes each worker has in flight when, one after the other, all have filled their lanes.
    fn taken(sizes: &[u64], threads: usize) -> Vec<usize> {
        let request = Request {
            operation: Operation::Encrypt,
            threads: NonZeroUsize::new(threads),
            cipher: CipherCost::CbcChain,
            key_iterations: 0,
            largest_segment: 1 << 20,
            names_in_turns: false,
        };
        let plan = Plan::new(sizes, &machine(), &request);
        let queue = Queue::new(&plan);
        let bytes_of = |task: &Task| match task {
            Task::Entries(range) => range.clone().map(|i| sizes[plan.order[i as usize] as usize]).sum(),
            Task::Part { .. } => unreachable!("chained entries are never cut"),
        };
        let fill = || {
            let (mut own, mut entries) = (0, 0);
            while let Some(task) = queue.take_share(own, bytes_of) {
                let Task::Entries(range) = task else { unreachable!("chained entries are never cut") };
                own += bytes_of(task);
                entries += range.len();
            }
            entries
        };
        (0..plan.threads).map(|_| fill()).collect()
    }

    #[test]
    fn few_chains_are_divided_among_the_workers() {
        assert_eq!(taken(&[2 << 20; 8], 2), [4, 4]);
        assert_eq!(taken(&[2 << 20; 8], 1), [8]);
        assert_eq!(taken(&[64 << 20; 2], 2), [1, 1]);
        assert_eq!(taken(&[1 << 30, 1 << 20, 1 << 20, 1 << 20], 2), [1, 3], "by bytes, not by number");
        assert_eq!(taken(&[0; 40], 2).iter().sum::<usize>(), 40, "empty ones are nobody's share");
    }

    #[test]
    fn shares_follow_what_is_left() {
        let sizes = [10 << 20; 4];
        let request = Request {
            operation: Operation::Encrypt,
            threads: NonZeroUsize::new(2),
            cipher: CipherCost::CbcChain,
            key_iterations: 0,
            largest_segment: 1 << 20,
            names_in_turns: false,
        };
        let plan = Plan::new(&sizes, &machine(), &request);
        let queue = Queue::new(&plan);
        let take = |own| queue.take_share(own, |_| 10 << 20).is_some();
        assert!(take(0) && take(10 << 20) && !take(20 << 20));
        // The other worker never came: this one is half through with what it has.
        queue.count_through(10 << 20);
        assert!(take(10 << 20) && !take(20 << 20));
    }
}
