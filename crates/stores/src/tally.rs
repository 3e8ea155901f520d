//! Counts what becomes of the objects, and tells the observer: the calling thread's side of a run.

use crate::errand::Errand;
use crate::existing::Ended;
use crate::inventory::{Inventory, Survey};
use crate::listing::{Object, address};
use crate::place::Place;
use crate::run::{Told, WATCH};
use cipherloom::{Error, Event, GivingUp, Observer, Outcome, Summary, Unlisted, Verdict};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;
use tokio::sync::watch;

pub(crate) struct Tally<'r> {
    place: &'r Place,
    errand: &'r Errand,
    observer: &'r dyn Observer,
    pub(crate) summary: Summary,
    /// The objects that were done.
    pub(crate) done: Survey,
    /// Objects that have ended in any way.
    ended: u64,
    giving_up: GivingUp<Object>,
    is_stopped: bool,
}

impl<'r> Tally<'r> {
    pub(crate) fn new(inventory: &'r Inventory, errand: &'r Errand, observer: &'r dyn Observer) -> Tally<'r> {
        Tally {
            place: inventory.place(),
            errand,
            observer,
            summary: Summary::default(),
            done: Survey::default(),
            ended: 0,
            giving_up: GivingUp::default(),
            is_stopped: false,
        }
    }

    /// Until nobody has anything more to tell.
    pub(crate) fn hear(&mut self, hears: &Receiver<Told>, stop: &watch::Sender<bool>) {
        let mut asked = Instant::now();
        loop {
            match hears.recv_timeout(WATCH) {
                Ok(Told::Advanced(bytes)) => self.observer.advanced(bytes),
                Ok(Told::Ended(object, ended, turn)) => {
                    self.judge(object, ended);
                    if self.giving_up.has_given_up() {
                        self.stop(stop);
                    }
                    drop(turn);
                }
                Ok(Told::Unlisted(unlisted)) => self.unlisted(&unlisted),
                Ok(Told::Panicked(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if asked.elapsed() >= WATCH {
                asked = Instant::now();
                if self.observer.is_stopped() {
                    self.stop(stop);
                }
            }
        }
    }

    fn stop(&mut self, stop: &watch::Sender<bool>) {
        self.is_stopped = true;
        let _ = stop.send(true);
    }

    /// When nothing more comes: tells what was held back, and counts what was left.
    pub(crate) fn end(&mut self, inventory: &Inventory) {
        for (object, error) in self.giving_up.held() {
            self.count(&object, &Err(error));
        }
        if self.giving_up.has_given_up() {
            // Of a bucket, those that had been listed by then.
            self.summary.untried = inventory.found().0.saturating_sub(self.ended);
        }
    }

    pub(crate) fn unlisted(&mut self, unlisted: &Unlisted) {
        self.summary.failed += 1;
        self.done.unlisted += 1;
        let outcome = Outcome::Failed(&unlisted.error);
        self.observer.ended(&Event { source: &unlisted.path, output: None, bytes: 0, outcome });
    }

    /// Counts and tells of an object, unless the run ends for what it ended with.
    fn judge(&mut self, object: Object, ended: Result<Ended, Error>) {
        // What nobody stopped may not vanish from the report.
        if self.is_stopped && matches!(ended, Err(Error::Stopped)) {
            return;
        }
        match self.giving_up.judge(object, ended, self.observer.wants_every_event()) {
            Verdict::TellOne(object, ended) => self.count(&object, &ended),
            Verdict::Tell(all) => all.iter().for_each(|(object, ended)| self.count(object, ended)),
            Verdict::TellOneFor(object, error, others) => {
                let others = others as u64;
                self.ended += others;
                self.summary.failed += others;
                self.summary.unauthentic += others;
                self.count(&object, &Err(error));
            }
            Verdict::Wait => {}
        }
    }

    fn count(&mut self, object: &Object, ended: &Result<Ended, Error>) {
        let summary = &mut self.summary;
        let outcome = match ended {
            Ok(Ended::Done(output_bytes)) => {
                summary.files += 1;
                summary.bytes += object.size;
                summary.output_bytes += output_bytes;
                self.done.count(object, &self.errand.limits);
                Outcome::Done { output_bytes: *output_bytes }
            }
            Ok(Ended::Skipped) => {
                summary.skipped += 1;
                Outcome::Skipped
            }
            Ok(Ended::Claimed(_)) => unreachable!("an object ends when what stands there was confirmed"),
            Err(error) => {
                summary.failed += 1;
                summary.unauthentic += u64::from(error.is_authentication());
                Outcome::Failed(error)
            }
        };
        self.ended += 1;
        self.observer.entry_ended();
        if ended.is_ok() && !self.observer.wants_every_event() {
            return;
        }
        let source = address(self.place, &object.path);
        let output = self.errand.destination.as_ref().and_then(|place| {
            let relative = self.errand.output_path(&object.path).ok()?;
            Some(address(place, &relative))
        });
        self.observer.ended(&Event {
            source: &source,
            output: output.as_deref(),
            bytes: object.size,
            outcome,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errand::Work;
    use crate::listing::Listing;
    use cipherloom::Unobserved;
    use std::path::Path;
    use std::sync::Arc;

    #[test]
    fn an_object_that_nobody_stopped_does_not_vanish_from_the_report() {
        let place = Place::open(Path::new("folder"), crate::Access::default()).unwrap();
        let inventory = Inventory::from(&Arc::new(Listing::of_objects(place, Vec::new())));
        let errand = Errand::new(Work::Copy, None);
        for is_stopped in [false, true] {
            let mut tally = Tally { is_stopped, ..Tally::new(&inventory, &errand, &Unobserved) };
            tally.judge(Object::new("a".to_owned(), 1, None), Err(Error::Stopped));
            assert_eq!(tally.summary.failed, u64::from(!is_stopped));
        }
    }
}
