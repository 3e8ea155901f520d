//! Counts the entries of a run as they end, notifies the observer, and ends the run early where every other entry would
//! fail too: the destination takes no more outputs, or the key opens none of the first files. Such a cause is reported
//! once, with the first file that it happened to.
//!
//! Runs over folders and runs over stores use the same tally.

use crate::Error;
use crate::engine::{Counter, lock};
use crate::report::{Action, Event, Observer, Outcome, Report, pass_on};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many files are tried with a key that opens none of them. More than one, since the first may be damaged, or left
/// from another key.
pub(super) const FILES_TRIED: usize = 20;

/// How an entry ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its output is complete and has this many bytes.
    Done(u64),
    /// Its output was there already.
    Skipped,
}

/// What a [`Tally`] asks about an entry `K`.
pub trait Entries<K>: Sync {
    /// The size of the entry's source in bytes.
    fn size(&self, entry: &K) -> u64;

    /// The paths of the entry's source and of its output, if it has one. Called only for events that the observer gets.
    fn paths(&self, entry: &K) -> (PathBuf, Option<PathBuf>);

    /// Why a synchronization processes the entry.
    fn action(&self, _entry: &K) -> Option<Action> {
        None
    }
}

/// The counts of a run, and the decision to end it early. It passes everything on to the run's observer, and is the
/// observer that the workers see: [`Observer::is_stopped`] is also true once the run is ending early.
pub struct Tally<'r, K> {
    entries: &'r dyn Entries<K>,
    observer: &'r dyn Observer,
    has_given_up: AtomicBool,
    /// Whether the key has opened a file, or a file was skipped: an earlier run has written it with this key. Changes under the
    /// lock of `state`.
    key_fits: AtomicBool,
    /// Files, bytes, bytes of output, and files skipped: of entries that ended well. These are many, and take no lock.
    done: Counter<4>,
    state: Mutex<State<K>>,
}

struct State<K> {
    /// What else was counted so far.
    report: Report,
    /// Entries that have failed.
    failed: u64,
    /// How many entries the key did not open, while it had opened none.
    unopened: usize,
    /// Those of them that were neither counted nor reported yet.
    held: Vec<(K, Error)>,
}

impl<K> fmt::Debug for Tally<'_, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tally").field("done", &self.done.sums()).finish_non_exhaustive()
    }
}

impl<'r, K> Tally<'r, K> {
    /// A tally of nothing yet.
    #[must_use]
    pub fn new(entries: &'r dyn Entries<K>, observer: &'r dyn Observer) -> Tally<'r, K> {
        Tally {
            entries,
            observer,
            has_given_up: AtomicBool::default(),
            key_fits: AtomicBool::default(),
            done: Counter::default(),
            state: Mutex::new(State { report: Report::default(), failed: 0, unopened: 0, held: Vec::new() }),
        }
    }

    /// Whether the run ends early, for a cause that every other entry would meet.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up.load(Ordering::Relaxed)
    }

    /// Counts and reports an entry that has ended. One that was stopped has not ended.
    pub fn end_entry(&self, entry: K, ended: Result<Ended, Error>) {
        match ended {
            // What nobody stopped may not vanish from the report.
            Err(Error::Stopped) if self.has_given_up() || self.observer.is_stopped() => {}
            Err(error) if error.ends_run() && !self.give_up() => {}
            Err(error @ (Error::WrongKey { .. } | Error::FirstSegment)) => self.end_unopened(entry, error),
            ended => self.report_entry(&entry, &ended),
        }
    }

    fn end_unopened(&self, entry: K, error: Error) {
        let mut state = lock(&self.state);
        let key_fits = self.key_fits.load(Ordering::Relaxed);
        if !key_fits && self.has_given_up() {
            return;
        }
        state.unopened += 1;
        if !key_fits && state.unopened >= FILES_TRIED {
            self.give_up();
            let others = std::mem::take(&mut state.held);
            let count = others.len() as u64;
            state.failed += count;
            state.report.failed += count;
            state.report.unauthentic += count;
            let fault = Error::KeyOpensNothing { tried: state.unopened };
            drop(state);
            let first = others.into_iter().next().map_or(entry, |(first, _)| first);
            self.report_entry(&first, &Err(fault));
        } else if key_fits || self.observer.wants_every_event() {
            drop(state);
            self.report_entry(&entry, &Err(error));
        } else {
            state.held.push((entry, error));
        }
    }

    /// From now on nothing more is begun. False if that was so already.
    fn give_up(&self) -> bool {
        !self.has_given_up.swap(true, Ordering::Relaxed)
    }

    /// Counts and reports the entries that were held back because the key might open none. The run's end calls this too.
    pub fn release_held(&self) {
        let held = std::mem::take(&mut lock(&self.state).held);
        for (entry, error) in held {
            self.report_entry(&entry, &Err(error));
        }
    }

    fn report_entry(&self, entry: &K, ended: &Result<Ended, Error>) {
        let bytes = self.entries.size(entry);
        let outcome = match ended {
            Ok(Ended::Done(output_bytes)) => {
                self.done.add([1, bytes, *output_bytes, 0]);
                Outcome::Done { output_bytes: *output_bytes }
            }
            Ok(Ended::Skipped) => {
                self.done.add([0, 0, 0, 1]);
                Outcome::Skipped
            }
            Err(error) => {
                let mut state = lock(&self.state);
                state.failed += 1;
                state.report.failed += 1;
                state.report.unauthentic += u64::from(error.is_authentication());
                Outcome::Failed(error)
            }
        };
        // A resumed run comes to the files that failed before, and skips the others.
        if ended.is_ok() && !self.key_fits.load(Ordering::Relaxed) {
            let state = lock(&self.state);
            let is_first_fit = !self.key_fits.swap(true, Ordering::Relaxed);
            drop(state);
            if is_first_fit {
                self.release_held();
            }
        }
        self.observer.entry_ended();
        if ended.is_err() || self.observer.wants_every_event() {
            let (source, output) = self.entries.paths(entry);
            let (source, output) = (tidy(&source), output.as_deref().map(tidy));
            let action = self.entries.action(entry);
            self.observer.ended(&Event { source, output, bytes, outcome, action });
        }
    }

    /// Counts and reports the failure of something that is no entry: a folder, a link, what could not be listed.
    pub fn fail_other(&self, source: &Path, output: Option<&Path>, error: &Error) {
        if error.ends_run() && !self.give_up() {
            return;
        }
        let mut state = lock(&self.state);
        state.report.failed += 1;
        state.report.unauthentic += u64::from(error.is_authentication());
        drop(state);
        let outcome = Outcome::Failed(error);
        self.observer.ended(&Event { source, output, bytes: 0, outcome, action: None });
    }

    pub(super) fn count_attributes_refused(&self) {
        lock(&self.state).report.attributes_refused += 1;
    }

    pub(super) fn count_extended_attributes(&self) {
        lock(&self.state).report.extended_attributes += 1;
    }

    /// What was counted so far; links and seconds are the caller's. `found`: how many entries there are, of which those
    /// that have not ended count as untried if the run ended early.
    #[must_use]
    pub fn report(&self, found: u64) -> Report {
        let state = lock(&self.state);
        let [files, bytes, output_bytes, skipped] = self.done.sums();
        let ended = files + skipped + state.failed;
        let untried = if self.has_given_up() { found.saturating_sub(ended) } else { 0 };
        Report { files, bytes, output_bytes, skipped, untried, ..state.report }
    }
}

impl<K: Send> Observer for Tally<'_, K> {
    pass_on!();

    fn is_stopped(&self) -> bool {
        self.has_given_up() || self.observer.is_stopped()
    }
}

/// `./name` as `name`.
fn tidy(path: &Path) -> &Path {
    path.strip_prefix(".").unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Unobserved;

    struct Numbers;

    impl Entries<u32> for Numbers {
        fn size(&self, _entry: &u32) -> u64 {
            1
        }
        fn paths(&self, entry: &u32) -> (PathBuf, Option<PathBuf>) {
            (entry.to_string().into(), None)
        }
    }

    struct Stopped;

    impl Observer for Stopped {
        fn advanced(&self, _bytes: u64) {}
        fn entry_ended(&self) {}
        fn wants_every_event(&self) -> bool {
            false
        }
        fn ended(&self, _event: &Event<'_>) {}
        fn is_stopped(&self) -> bool {
            true
        }
    }

    #[test]
    fn an_entry_that_nobody_stopped_does_not_vanish_from_the_report() {
        for (observer, failed) in [(&Unobserved as &dyn Observer, 1), (&Stopped, 0)] {
            let tally = Tally::new(&Numbers, observer);
            tally.end_entry(0, Err(Error::Stopped));
            assert_eq!(tally.report(1).failed, failed);
        }
    }

    #[test]
    fn a_key_that_opens_nothing_ends_the_run_and_one_that_fits_does_not() {
        for opens_one in [false, true] {
            let tally = Tally::new(&Numbers, &Unobserved);
            for entry in 0..2 * FILES_TRIED as u32 {
                let is_opened = opens_one && entry == 3;
                tally.end_entry(entry, if is_opened { Ok(Ended::Done(1)) } else { Err(Error::FirstSegment) });
            }
            tally.release_held();
            let (report, all) = (tally.report(100), 2 * FILES_TRIED as u64);
            assert_eq!(tally.has_given_up(), !opens_one);
            let expected = if opens_one { (1, all - 1, 0) } else { (0, all / 2, 100 - all / 2) };
            assert_eq!((report.files, report.failed, report.untried), expected);
        }
    }
}
