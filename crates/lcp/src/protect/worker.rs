//! A worker: opens books, and takes their parts until none is left.

use super::Run;
use super::book::{Book, BookStep};
use super::checksum::{self, ReadBack};
use super::committer::Finished;
use super::fill::Scratch;
use super::lane::Lane;
use super::plan::PIECE;
use crate::Error;
use crate::container::Verifier;
use crate::package::Coding;
use crate::report::Outcome;
use cipherloom::Observer;
use cipherloom::internal::engine::{CbcPiece, Items, MOST_PIECES, encrypt_pieces};
use flate2::{Compress, Compression};
use std::sync::mpsc::Sender;
use zeroize::Zeroize;

/// The workers' queue. Its items are the publications.
pub(super) struct Protecting<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) finished: Sender<Finished>,
}

impl<'r> Items for Protecting<'r> {
    type Item = Box<Book>;
    type Worker = Worker<'r>;

    fn start_worker(&self) -> Worker<'r> {
        Worker {
            run: self.run,
            finished: self.finished.clone(),
            arena: Arena::new(self.run.plan.buffer_len),
            lanes: (0..MOST_PIECES).map(|_| None).collect(),
            scratch: Scratch::default(),
            read_back: ReadBack::new(self.run.workers),
            verifiers: Vec::new(),
            deflations: Vec::new(),
        }
    }

    fn open_item(&self, index: usize, worker: &mut Worker<'r>) -> Option<Box<Book>> {
        let source = self.run.sources[index];
        let mut output = None;
        let outcome = match Book::begin(self.run, source, &mut output, &mut worker.read_back) {
            Ok(Some(book)) => return Some(Box::new(book)),
            Ok(None) => Outcome::Skipped,
            Err(error) => Outcome::Failed(error),
        };
        self.run.report(source, output.as_deref(), outcome);
        None
    }

    fn untaken_parts(&self, book: &Box<Book>) -> usize {
        book.untaken()
    }

    fn work_on(&self, book: &Box<Book>, helpers: usize, worker: &mut Worker<'r>) {
        // An even share of what is left, but enough to fill the AES unit half.
        let share = match helpers {
            1 => MOST_PIECES,
            helpers => book.untaken().div_ceil(helpers).clamp(4, MOST_PIECES),
        };
        worker.advance(book, share);
    }
}

pub(super) struct Worker<'r> {
    run: &'r Run<'r>,
    finished: Sender<Finished>,
    arena: Arena,
    lanes: Vec<Option<Lane>>,
    scratch: Scratch,
    /// For reading outputs back.
    read_back: ReadBack<'r>,
    /// States of inflate and deflate that no lane uses.
    verifiers: Vec<Verifier>,
    deflations: Vec<Compress>,
}

impl Worker<'_> {
    /// Takes parts of a book until none is left to take, with up to `share` in flight.
    fn advance(&mut self, book: &Book, share: usize) {
        loop {
            let Some(filled) = self.fill(book, share) else { return };
            self.arena.used_to(filled);
            encrypt(book, &mut self.arena.aligned()[..filled], &mut self.lanes[..share]);
            for slot in 0..share {
                self.write(book, slot);
            }
        }
    }

    /// Fills a piece for each lane; returns up to where the buffer is used, `None` if nothing is in flight.
    fn fill(&mut self, book: &Book, share: usize) -> Option<usize> {
        if self.run.workers.is_stopped() {
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
                    self.run.workers.advanced(len as u64);
                }
                Err(error) => self.end(book, slot, Err(error)),
            }
        }
        is_active.then_some(filled)
    }

    /// The next part of the book; what is no part is done at once.
    fn next_lane(&mut self, book: &Book) -> Option<Lane> {
        loop {
            let done = match book.take()? {
                _ if book.has_failed() => Ok(()),
                BookStep::Part(part) => match self.begin_lane(book, part) {
                    Ok(lane) => return Some(lane),
                    Err(error) => Err(error),
                },
                BookStep::SourceChecksum => {
                    let sha256 = checksum::of_source(book.package.source(), &mut self.read_back);
                    sha256.map(|sha256| book.source_hashed(sha256))
                }
            };
            self.end_step(book, done);
        }
    }

    /// A lane with the states that it needs.
    fn begin_lane(&mut self, book: &Book, part: usize) -> Result<Lane, Error> {
        let mut verifier = self.verifiers.pop().unwrap_or_default();
        verifier.restart();
        let mut lane = Lane::begin(book, part, verifier)?;
        if lane.coding == Coding::Deflated {
            let new = || Compress::new(Compression::new(self.run.job.level), false);
            let mut deflation = self.deflations.pop().unwrap_or_else(new);
            deflation.reset();
            lane.deflation = Some(deflation);
        }
        Ok(lane)
    }

    fn write(&mut self, book: &Book, slot: usize) {
        let Some(lane) = &mut self.lanes[slot] else { return };
        if lane.body.is_empty() && !lane.is_last {
            return;
        }
        let ended = match lane.write(book, self.arena.aligned()) {
            Ok(None) => return,
            Ok(Some(record)) => book.part_ended(lane.part, record, &mut self.read_back),
            Err(error) => Err(error),
        };
        self.end(book, slot, ended);
    }

    /// A part has ended, well or not.
    fn end(&mut self, book: &Book, slot: usize, result: Result<(), Error>) {
        if let Some(lane) = self.lanes[slot].take() {
            self.verifiers.push(lane.verifier);
            self.deflations.extend(lane.deflation);
        }
        self.end_step(book, result);
    }

    /// A step of a book has ended; who ends the last one finishes the book.
    fn end_step(&mut self, book: &Book, result: Result<(), Error>) {
        if let Err(error) = result {
            book.fail(error);
        }
        if !book.end_step() {
            return;
        }
        match book.finish(&mut self.read_back) {
            // The committer goes on until every worker has ended.
            Ok(finished) => self.finished.send(finished).expect("the committer outlives the workers"),
            Err(error) => self.run.report(&book.source, Some(&book.output), Outcome::Failed(error)),
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.scratch.input.zeroize();
        self.scratch.window.zeroize();
    }
}

/// Where a line of the cache begins: buffers that the system copies to begin there.
const ALIGNMENT: usize = 64;

/// The bytes that lanes are filled in; made once a worker, wiped at its end.
struct Arena {
    bytes: Vec<u8>,
    used: usize,
}

impl Arena {
    fn new(len: usize) -> Arena {
        // Zeroed memory from the system is not touched before it is used.
        Arena { bytes: vec![0; len + ALIGNMENT], used: 0 }
    }

    /// All of it, the first byte aligned.
    fn aligned(&mut self) -> &mut [u8] {
        let start = self.bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let len = self.bytes.len() - ALIGNMENT;
        &mut self.bytes[start..start + len]
    }

    /// Up to here it has been used.
    fn used_to(&mut self, end: usize) {
        self.used = self.used.max(end);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let used = (self.used + ALIGNMENT).min(self.bytes.len());
        self.bytes[..used].zeroize();
    }
}

/// Encrypts every lane's body in place. The bodies are in the buffer in the order of the lanes.
fn encrypt(book: &Book, buffer: &mut [u8], lanes: &mut [Option<Lane>]) {
    let active = lanes.iter_mut().flatten().filter(|lane| lane.is_encrypted && !lane.body.is_empty());
    encrypt_pieces(
        buffer,
        active.map(|lane| CbcPiece { aes: &book.aes, chain: &mut lane.chain, body: lane.body.clone() }),
    );
}
