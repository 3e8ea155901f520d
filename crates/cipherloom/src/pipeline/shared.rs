//! Entries that several workers share: whoever takes the first part opens the entry, whoever ends the last part
//! commits it, and the first failure ends it for all.

use super::passage::Passage;
use crate::Error;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

    /// One of `parts` parts has ended, having written so many bytes; the last one gets the ending. The caller has
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
