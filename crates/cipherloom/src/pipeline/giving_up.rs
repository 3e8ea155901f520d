//! When to end a run early: the destination takes nothing more, or the key opens none of the first files. Each is told once,
//! with the first file that it happened to.

use crate::Error;
use crate::error::RunFault;
use crate::report::{Event, Observer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many files are tried with a key that opens none of them. More than one, since these may be damaged, or left from
/// another key.
const FILES_TRIED: usize = 20;

/// Watches over a run's entries; `K` identifies an entry.
#[derive(Debug)]
pub struct GivingUp<K> {
    has_given_up: AtomicBool,
    /// Whether the key has opened a file, or a file was skipped, which an earlier run has done with it.
    key_fits: AtomicBool,
    unopened: Mutex<Unopened<K>>,
}

/// The entries that the key did not open, while it has opened none.
#[derive(Debug)]
struct Unopened<K> {
    count: usize,
    /// Those that nobody has been told of.
    held: Vec<(K, Error)>,
}

/// What to do about an entry that has ended.
#[derive(Debug)]
pub enum Verdict<K, E> {
    /// Count and tell these.
    Tell(Vec<(K, Result<E, Error>)>),
    /// Count and tell this one.
    TellOne(K, Result<E, Error>),
    /// Count and report this entry; count this many others with the same cause, without reporting them.
    TellOneFor(K, Error, usize),
    /// Nothing now.
    Wait,
}

impl<K> Default for GivingUp<K> {
    fn default() -> GivingUp<K> {
        GivingUp {
            has_given_up: AtomicBool::default(),
            key_fits: AtomicBool::default(),
            unopened: Mutex::new(Unopened { count: 0, held: Vec::new() }),
        }
    }
}

impl<K> GivingUp<K> {
    /// Whether nothing more is to be begun.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up.load(Ordering::Relaxed)
    }

    /// From now on nothing more is begun. False if that was so already.
    pub(super) fn give_up(&self) -> bool {
        !self.has_given_up.swap(true, Ordering::Relaxed)
    }

    /// Judges how an entry ended. `tells_all`: every event is wanted, so that none is held back.
    pub fn judge<E>(&self, entry: K, ended: Result<E, Error>, tells_all: bool) -> Verdict<K, E> {
        match ended {
            Err(error) if error.ends_run() && !self.give_up() => Verdict::Wait,
            Err(error @ (Error::WrongKey { .. } | Error::FirstSegment))
                if !self.key_fits.load(Ordering::Relaxed) =>
            {
                self.judge_unopened(entry, error, tells_all)
            }
            // A resumed run comes to the files that failed before, and skips the others.
            Ok(_) if !self.key_fits.swap(true, Ordering::Relaxed) => {
                let mut told: Vec<_> =
                    self.held().into_iter().map(|(entry, error)| (entry, Err(error))).collect();
                told.push((entry, ended));
                Verdict::Tell(told)
            }
            ended => Verdict::TellOne(entry, ended),
        }
    }

    fn judge_unopened<E>(&self, entry: K, error: Error, tells_all: bool) -> Verdict<K, E> {
        let mut unopened = self.unopened.lock().unwrap_or_else(PoisonError::into_inner);
        if self.key_fits.load(Ordering::Relaxed) {
            return Verdict::TellOne(entry, Err(error));
        }
        if self.has_given_up() {
            return Verdict::Wait;
        }
        unopened.count += 1;
        let tried = unopened.count;
        if tried < FILES_TRIED {
            if tells_all {
                return Verdict::TellOne(entry, Err(error));
            }
            unopened.held.push((entry, error));
            return Verdict::Wait;
        }
        self.give_up();
        let fault = Error::Run(RunFault::KeyOpensNothing { tried });
        let others = std::mem::take(&mut unopened.held);
        let count = others.len();
        Verdict::TellOneFor(others.into_iter().next().map_or(entry, |(first, _)| first), fault, count)
    }

    /// The entries that were held back, to be counted and told when the run ends.
    pub fn held(&self) -> Vec<(K, Error)> {
        std::mem::take(&mut self.unopened.lock().unwrap_or_else(PoisonError::into_inner).held)
    }
}

/// An observer that also stops a run that has given up.
pub(super) struct Watched<'w> {
    pub(super) observer: &'w dyn Observer,
    pub(super) giving_up: &'w GivingUp<u32>,
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
