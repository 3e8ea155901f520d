//! When to end a run early: the destination takes nothing more, or the key opens none of the first files. Each is told once,
//! with the first file that it happened to.

use super::worker::Ended;
use crate::Error;
use crate::error::RunFault;
use crate::report::{Event, Observer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many files are tried with a key that opens none of them. More than one, since these may be damaged, or left from
/// another key.
pub(super) const FILES_TRIED: usize = 20;

#[derive(Default)]
pub(super) struct GivingUp {
    has_given_up: AtomicBool,
    /// Whether the key has opened a file, or a file was skipped, which an earlier run has done with it.
    key_fits: AtomicBool,
    unopened: Mutex<Unopened>,
}

/// The entries that the key did not open, while it has opened none.
#[derive(Default)]
struct Unopened {
    count: usize,
    /// Those that nobody has been told of.
    held: Vec<(u32, Error)>,
}

/// What to do about an entry that has ended.
pub(super) enum Verdict {
    /// Count and tell these.
    Tell(Vec<(u32, Result<Ended, Error>)>),
    /// Count and tell this one.
    TellOne(Result<Ended, Error>),
    /// Count and tell this one; count so many others that failed for the same reason, and do not tell them.
    TellOneFor(u32, Error, usize),
    /// Nothing now.
    Wait,
}

impl GivingUp {
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up.load(Ordering::Relaxed)
    }

    /// From now on nothing more is begun. False if that was so already.
    pub(super) fn give_up(&self) -> bool {
        !self.has_given_up.swap(true, Ordering::Relaxed)
    }

    /// Judges how an entry ended. `tells_all`: whether every event is wanted, so that none is held back.
    pub(super) fn judge(&self, index: u32, ended: Result<Ended, Error>, tells_all: bool) -> Verdict {
        match ended {
            Err(error) if error.ends_run() && !self.give_up() => Verdict::Wait,
            Err(error @ (Error::WrongKey { .. } | Error::FirstSegment))
                if !self.key_fits.load(Ordering::Relaxed) =>
            {
                self.judge_unopened(index, error, tells_all)
            }
            // A resumed run comes to the files that failed before, and skips the others.
            Ok(_) if !self.key_fits.swap(true, Ordering::Relaxed) => {
                let mut told = self.held();
                told.push((index, ended));
                Verdict::Tell(told)
            }
            ended => Verdict::TellOne(ended),
        }
    }

    fn judge_unopened(&self, index: u32, error: Error, tells_all: bool) -> Verdict {
        let mut unopened = self.unopened.lock().unwrap_or_else(PoisonError::into_inner);
        if self.key_fits.load(Ordering::Relaxed) {
            return Verdict::TellOne(Err(error));
        }
        if self.has_given_up() {
            return Verdict::Wait;
        }
        unopened.count += 1;
        let tried = unopened.count;
        if tried < FILES_TRIED {
            if tells_all {
                return Verdict::TellOne(Err(error));
            }
            unopened.held.push((index, error));
            return Verdict::Wait;
        }
        self.give_up();
        let fault = Error::Run(RunFault::KeyOpensNothing { tried });
        let others = std::mem::take(&mut unopened.held);
        Verdict::TellOneFor(others.first().map_or(index, |(first, _)| *first), fault, others.len())
    }

    /// The entries that were held back, to be counted and told.
    pub(super) fn held(&self) -> Vec<(u32, Result<Ended, Error>)> {
        let mut unopened = self.unopened.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut unopened.held).into_iter().map(|(index, error)| (index, Err(error))).collect()
    }
}

/// An observer that also stops a run that has given up.
pub(super) struct Watched<'w> {
    pub(super) observer: &'w dyn Observer,
    pub(super) giving_up: &'w GivingUp,
}

impl Observer for Watched<'_> {
    fn advanced(&self, bytes: u64) {
        self.observer.advanced(bytes);
    }
    fn entry_ended(&self) {
        self.observer.entry_ended();
    }
    fn wants_every_event(&self) -> bool {
        self.observer.wants_every_event()
    }
    fn ended(&self, event: &Event<'_>) {
        self.observer.ended(event);
    }
    fn is_stopped(&self) -> bool {
        self.giving_up.has_given_up() || self.observer.is_stopped()
    }
}
