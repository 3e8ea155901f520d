//! The queue: books that nobody has looked at, and books under way that a worker without one may help with.

use super::book::Book;
use super::plan::{MOST_PIECES, Plan};
use super::{Job, Source};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a worker that waits asks whether to stop.
const WAIT: Duration = Duration::from_millis(20);

/// What a worker gets to do.
pub(super) enum Task<'q, 'j> {
    /// Look at this publication and begin with it.
    Open(Survey<'q, 'j>),
    /// Help with one under way, with so many parts in flight.
    Help(Arc<Book>, usize),
}

/// A publication that is being looked at. Others wait for the book that may come of it until this is dropped, also by a
/// panic.
pub(super) struct Survey<'q, 'j> {
    pub(super) source: &'j Source,
    queue: &'q Queue<'j>,
    book: Option<Arc<Book>>,
}

impl Survey<'_, '_> {
    /// It has ended, with a book to work on or without.
    pub(super) fn end(mut self, book: Option<&Arc<Book>>) {
        self.book = book.cloned();
    }
}

impl Drop for Survey<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.surveys -= 1;
        state.open.retain(|book| book.untaken() > 0);
        state.open.extend(self.book.take());
        drop(state);
        self.queue.changed.notify_all();
    }
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
}

impl<'j> Queue<'j> {
    pub(super) fn new(job: &'j Job, plan: &Plan) -> Queue<'j> {
        let mut sources: Vec<&Source> = job.sources.iter().collect();
        // The largest first, so that the threads end together.
        sources.sort_by_key(|source| std::cmp::Reverse(source.size));
        Queue { sources, threads: plan.threads, state: Mutex::default(), changed: Condvar::new() }
    }

    /// The next thing to do; waits while one may still turn up; `None` when all is taken or the run is to stop.
    pub(super) fn take(&self, is_stopped: &dyn Fn() -> bool) -> Option<Task<'_, 'j>> {
        let mut state = self.lock();
        loop {
            if is_stopped() {
                return None;
            }
            if let Some(source) = self.sources.get(state.next) {
                state.next += 1;
                state.surveys += 1;
                return Some(Task::Open(Survey { source, queue: self, book: None }));
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

    /// How many parts whoever has just opened a book should have in flight.
    pub(super) fn share_of_opener(&self, book: &Book) -> usize {
        let others_are_busy = self.lock().next < self.sources.len();
        if others_are_busy { MOST_PIECES } else { self.share(book) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom::{Backend, IfExists};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;

    #[test]
    fn nobody_waits_for_a_survey_that_panicked() {
        let source = Source { path: "a".into(), size: 1, folder: PathBuf::new(), root: None };
        let job = Job {
            sources: vec![source],
            out: PathBuf::new(),
            key_file: PathBuf::new(),
            if_exists: IfExists::Fail,
            checksums: false,
            durable: false,
            identity: super::super::Identity::default(),
            level: 6,
            backend: Backend::Soft,
        };
        let plan = Plan { threads: 2, lanes: 1, buffer_len: 0, reasons: Vec::new() };
        let queue = Queue::new(&job, &plan);
        let Some(Task::Open(survey)) = queue.take(&|| false) else { panic!("nothing to look at") };
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _survey = survey;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        // Would wait for ever; the limit turns that into a failure.
        let asked = std::cell::Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) > 100;
        assert!(queue.take(&is_stopped).is_none());
        assert_eq!(asked.get(), 1, "it waited");
    }
}
