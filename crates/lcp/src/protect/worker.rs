//! A worker: opens books, and takes their parts until none is left.

use super::Job;
use super::book::{Begun, Book, Work};
use super::checksum::{self, ReadBack};
use super::committer::Finished;
use super::deflation::Deflation;
use super::event::{Event, Outcome, Tally};
use super::fill::Scratch;
use super::known::Known;
use super::lane::Lane;
use super::naming::Outputs;
use super::plan::{MOST_PIECES, PIECE, Plan};
use super::queue::{Queue, Survey, Task};
use super::round::{Arena, encrypt};
use crate::Error;
use crate::container::Inflation;
use crate::package::Coding;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use zeroize::Zeroize;

pub(super) struct Worker<'r, 'j> {
    job: &'j Job,
    queue: &'r Queue<'j>,
    tally: &'r Tally<'r>,
    known: &'r Known,
    outputs: &'r Outputs,
    finished: Sender<Finished>,
    arena: Arena,
    lanes: Vec<Option<Lane>>,
    scratch: Scratch,
    /// For reading outputs back.
    read_back: ReadBack<'r>,
    header: Vec<u8>,
    /// States of inflate and deflate that no lane uses.
    inflations: Vec<Inflation>,
    deflations: Vec<Deflation>,
}

impl<'r, 'j> Worker<'r, 'j> {
    pub(super) fn new(
        job: &'j Job,
        plan: &Plan,
        queue: &'r Queue<'j>,
        tally: &'r Tally<'r>,
        known: &'r Known,
        outputs: &'r Outputs,
        finished: Sender<Finished>,
    ) -> Worker<'r, 'j> {
        Worker {
            job,
            queue,
            tally,
            known,
            outputs,
            finished,
            arena: Arena::new(plan.buffer_len),
            lanes: (0..MOST_PIECES).map(|_| None).collect(),
            scratch: Scratch::default(),
            read_back: ReadBack::new(tally.observer),
            header: Vec::new(),
            inflations: Vec::new(),
            deflations: Vec::new(),
        }
    }

    pub(super) fn work(&mut self) {
        let observer = self.tally.observer;
        while let Some(task) = self.queue.take(&|| observer.is_stopped()) {
            match task {
                Task::Open(survey) => {
                    if let Some(book) = self.open(survey) {
                        let share = self.queue.share_of_opener(&book);
                        self.advance(&book, share);
                    }
                }
                Task::Help(book, share) => self.advance(&book, share),
            }
        }
    }

    /// Looks at a publication; `None` if that was its end.
    fn open(&mut self, survey: Survey<'_, '_>) -> Option<Arc<Book>> {
        let source = survey.source;
        let begun = Book::begin(self.job, source, self.outputs, self.known, &mut self.read_back);
        let tell = |output: Option<&std::path::Path>, outcome| {
            self.tally.tell(&Event { source: &source.path, output, bytes: source.size, outcome });
            None
        };
        let book = match begun {
            Ok(Begun::Book(book)) => Some(Arc::new(*book)),
            Ok(Begun::Skipped(output)) => tell(Some(&output), Outcome::Skipped),
            Err((error, output)) => tell(output.as_deref(), Outcome::Failed(&error)),
        };
        survey.end(book.as_ref());
        book
    }

    /// Takes parts of a book until none is left to take, with up to `share` in flight.
    fn advance(&mut self, book: &Book, share: usize) {
        loop {
            let filled = self.fill(book, share);
            let Some(filled) = filled else { return };
            self.arena.used_to(filled);
            encrypt(book, &mut self.arena.aligned()[..filled], &mut self.lanes[..share]);
            for slot in 0..share {
                self.write(book, slot);
            }
        }
    }

    /// Fills a piece for each lane; returns up to where the buffer is used, `None` if nothing is in flight.
    fn fill(&mut self, book: &Book, share: usize) -> Option<usize> {
        if self.tally.observer.is_stopped() {
            book.fail(cipherloom::Error::Stopped.into());
        }
        let mut filled = 0;
        let mut is_active = false;
        let capacity = self.arena.aligned().len();
        for slot in 0..share {
            if self.lanes[slot].is_none() && filled + PIECE + 256 <= capacity {
                self.lanes[slot] = self.next_lane(book);
            }
            let Some(lane) = &mut self.lanes[slot] else { continue };
            is_active = true;
            lane.body = 0..0;
            if filled + lane.room(book) > capacity {
                // The buffer is full: what is left waits for the next round.
                continue;
            }
            let buffer = self.arena.aligned();
            let start = lane.body_start(book, filled);
            let result = if book.has_failed() {
                Err(Error::SourceChanged)
            } else {
                lane.fill(book, &mut buffer[start..], &mut self.scratch)
            };
            match result {
                Ok(len) => {
                    lane.filled(book, buffer, start, len);
                    filled = lane.body.end;
                    self.tally.observer.advanced(len as u64);
                }
                Err(error) => self.end(book, slot, Err(error)),
            }
        }
        is_active.then_some(filled)
    }

    /// The next part of the book; what is no part is done at once.
    fn next_lane(&mut self, book: &Book) -> Option<Lane> {
        loop {
            let part = match book.take()? {
                Work::Part(part) if !book.has_failed() => part,
                Work::SourceChecksum if !book.has_failed() => {
                    match checksum::of_source(book.package.source(), &mut self.read_back) {
                        Ok(sha256) => book.source_hashed(sha256),
                        Err(error) => book.fail(error),
                    }
                    self.end_one(book);
                    continue;
                }
                Work::Part(_) | Work::SourceChecksum => {
                    self.end_one(book);
                    continue;
                }
            };
            match Lane::begin(book, part) {
                Ok(mut lane) => {
                    self.equip(book, &mut lane);
                    return Some(lane);
                }
                Err(error) => {
                    book.fail(error);
                    self.end_one(book);
                }
            }
        }
    }

    /// Lends a lane the states that it needs.
    fn equip(&mut self, book: &Book, lane: &mut Lane) {
        let entry = book.package.entry(&book.package.parts[lane.part]);
        if lane.needs_inflation(entry) {
            let mut inflation = self.inflations.pop().unwrap_or_default();
            inflation.restart();
            lane.inflation = Some(Box::new(inflation));
        }
        if lane.coding == Coding::Deflated {
            let new = || Deflation::new(self.job.level);
            let mut deflation = self.deflations.pop().unwrap_or_else(new);
            deflation.restart();
            lane.deflation = Some(Box::new(deflation));
        }
    }

    fn write(&mut self, book: &Book, slot: usize) {
        let Some(lane) = &mut self.lanes[slot] else { return };
        if lane.body.is_empty() && !lane.is_last {
            return;
        }
        let written = lane.write(book, self.arena.aligned(), &mut self.header);
        match written {
            Ok(None) => {}
            Ok(Some((place, crc32))) => {
                let part = lane.part;
                let ended = book.part_ended(part, place, crc32, &mut self.read_back);
                self.end(book, slot, ended);
            }
            Err(error) => self.end(book, slot, Err(error)),
        }
    }

    /// A part has ended, well or not.
    fn end(&mut self, book: &Book, slot: usize, result: Result<(), Error>) {
        if let Some(lane) = self.lanes[slot].take() {
            self.inflations.extend(lane.inflation.map(|inflation| *inflation));
            self.deflations.extend(lane.deflation.map(|deflation| *deflation));
        }
        if let Err(error) = result {
            book.fail(error);
        }
        self.end_one(book);
    }

    /// One thing of a book has ended; who ends the last one finishes the book.
    fn end_one(&mut self, book: &Book) {
        if !book.end_one() {
            return;
        }
        match book.finish(&mut self.read_back) {
            // The committer goes on until every worker has ended.
            Ok(finished) => self.finished.send(finished).expect("the committer outlives the workers"),
            Err(error) => self.tally.tell(&Event {
                source: &book.source.path,
                output: Some(&book.output),
                bytes: book.source.size,
                outcome: Outcome::Failed(&error),
            }),
        }
    }
}

impl Drop for Worker<'_, '_> {
    fn drop(&mut self) {
        self.scratch.input.zeroize();
        self.scratch.window.zeroize();
    }
}
