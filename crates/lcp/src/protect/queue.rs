//! The queue: books that nobody has looked at, and books under way that a worker without one may help with.

use super::book::Book;
use super::plan::{MOST_PIECES, Plan};
use super::{Job, Source};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a worker that waits asks whether to stop.
const WAIT: Duration = Duration::from_millis(20);

/// What a worker gets to do.
pub(super) enum Task<'j> {
    /// Look at this publication and begin with it.
    Open(&'j Source),
    /// Help with one under way, with so many parts in flight.
    Help(Arc<Book>, usize),
}

pub(super) struct Queue<'j> {
    sources: Vec<&'j Source>,
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    next: usize,
    /// Surveys under way, which may bring books to help with.
    surveys: usize,
    open: Vec<Arc<Book>>,
    /// Outputs of this run.
    claimed: HashSet<PathBuf>,
}

impl<'j> Queue<'j> {
    pub(super) fn new(job: &'j Job, plan: &Plan) -> Queue<'j> {
        let mut sources: Vec<&Source> = job.sources.iter().collect();
        // The largest first, so that the threads end together.
        sources.sort_by_key(|source| std::cmp::Reverse(source.size));
        Queue { sources, threads: plan.threads, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The next thing to do; waits while one may still turn up; `None` when all is taken or the run is to stop.
    pub(super) fn take(&self, is_stopped: &dyn Fn() -> bool) -> Option<Task<'j>> {
        let mut state = self.lock();
        loop {
            if is_stopped() {
                return None;
            }
            if let Some(source) = self.sources.get(state.next) {
                state.next += 1;
                state.surveys += 1;
                return Some(Task::Open(source));
            }
            state.open.retain(|book| book.untaken() > 0);
            if let Some(book) = state.open.first() {
                return Some(Task::Help(Arc::clone(book), self.share(book)));
            }
            if state.surveys == 0 {
                return None;
            }
            state = self.changed.wait_timeout(state, WAIT).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A survey has ended, with a book to work on or without.
    pub(super) fn surveyed(&self, book: Option<&Arc<Book>>) {
        let mut state = self.lock();
        state.surveys -= 1;
        state.open.retain(|book| book.untaken() > 0);
        state.open.extend(book.cloned());
        drop(state);
        self.changed.notify_all();
    }

    /// How many parts whoever has just opened a book should have in flight.
    pub(super) fn share_of_opener(&self, book: &Book) -> usize {
        let others_are_busy = self.lock().next < self.sources.len();
        if others_are_busy { MOST_PIECES } else { self.share(book) }
    }

    /// Whether `output` is this run's only one of that name; from now on it is taken.
    pub(super) fn claim(&self, output: &Path) -> bool {
        self.lock().claimed.insert(output.to_owned())
    }

    /// An even share of what is left, but enough to fill the AES unit half.
    fn share(&self, book: &Book) -> usize {
        if self.threads == 1 {
            return MOST_PIECES;
        }
        book.untaken().div_ceil(self.threads).clamp(4, MOST_PIECES)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
