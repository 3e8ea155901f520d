//! CBC encryption of many entries at once. Within an entry each block waits for the one before it, so a core that
//! works on a single entry idles most of the time; here each worker keeps as many entries in flight as its backend
//! has lanes. A round takes one piece of each open entry (small entries whole), encrypts all pieces interleaved,
//! writes them, and fills the places of entries that have ended from the queue, as long as it has no more than its share
//! of what is left: a worker without chains would be a core without work.

use super::indexing::StreamEnds;
use super::tally::Ended;
use super::worker::{Run, Worker};
use crate::Error;
use crate::engine::{CbcPiece, MOST_PIECES, encrypt_pieces};
use crate::files::{Input, Output};
use crate::format::{LastSegment, Layout, pad};
use crate::plan::{LANE_LEN, Task};
use crate::segments::Sealing;
use std::ops::Range;

/// How a lane cuts its entry.
const PIECES: Layout =
    Layout { header: 0, segment: LANE_LEN as u32, overhead: 0, first_deficit: 0, last: LastSegment::Padded };

const BLOCK: usize = 16;
const LINE: usize = 64;

/// What a piece takes in the buffer beyond its plaintext: header, padding, the way to the next line, and the byte by
/// which growth is noticed.
const AROUND: usize = 2 * BLOCK + 2 * LINE + 1;

/// An entry in flight.
struct Lane {
    /// The entry's index.
    entry: u32,
    input: Input,
    output: Output,
    sealing: Sealing,
    /// The ciphertext block in front of the next piece.
    before: [u8; BLOCK],
    /// Plaintext bytes that are through.
    done: u64,
    written: u64,
    /// Where this round's piece is in the buffer, header included.
    piece: Range<usize>,
    /// Where its part to encrypt begins.
    body: usize,
    /// Whether this piece is the entry's last.
    is_last: bool,
}

pub(super) fn work(worker: &mut Worker<'_>) {
    let slots = worker.run.plan.slots.min(MOST_PIECES);
    let mut lanes: [Option<Lane>; MOST_PIECES] = [const { None }; MOST_PIECES];
    // Entries of the task that was taken last.
    let mut supply = 0..0;
    while !worker.run.observer.is_stopped() {
        let mut filled = 0;
        let mut through = 0;
        let mut is_active = false;
        let mut own = lanes.iter().flatten().map(|lane| lane.rest() as u64).sum();
        let mut may_open = true;
        for slot in &mut lanes[..slots] {
            if slot.is_none() && may_open {
                *slot = next_lane(worker, &mut supply, filled, own);
                // Why there was none holds for the rest of this round.
                may_open = slot.is_some();
                own += slot.as_ref().map_or(0, |lane| lane.rest() as u64);
            }
            let Some(lane) = slot else { continue };
            if filled + LANE_LEN.min(lane.rest()) + AROUND > worker.run.plan.buffer_len {
                // The buffer is full: what is left waits for the next round.
                is_active = true;
                lane.piece = 0..0;
                continue;
            }
            match lane.read(worker, filled) {
                Ok(len) => {
                    filled = lane.piece.end;
                    through += len as u64;
                    is_active = true;
                }
                Err(error) => {
                    // There may be more in the queue, though nothing is in flight.
                    is_active = true;
                    end(worker, slot, Err(error));
                }
            }
        }
        if !is_active {
            return;
        }
        worker.run.queue.count_through(through);
        let buffer = worker.buffers.main.first(filled).expect("it has been filled so far");
        encrypt(buffer, &mut lanes[..slots]);
        for slot in &mut lanes[..slots] {
            write(worker, slot);
        }
    }
}

/// The next entry of the queue that can be opened; those that cannot, or are to be skipped, are reported. `own`: the
/// bytes that this worker's lanes have still to do.
fn next_lane(worker: &mut Worker<'_>, supply: &mut Range<u32>, filled: usize, own: u64) -> Option<Lane> {
    // Nothing is opened that could not be read in this round.
    if filled + LANE_LEN + AROUND > worker.run.plan.buffer_len {
        return None;
    }
    loop {
        let position = match supply.next() {
            Some(position) => position,
            None => match worker.run.queue.take_share(own, |task| bytes_of(worker.run, task))? {
                Task::Entries(range) => {
                    *supply = range.clone();
                    continue;
                }
                Task::Part { .. } => unreachable!("chained entries are never cut"),
            },
        };
        let entry = worker.run.plan.order[position as usize];
        let ended = match open(worker, entry) {
            Ok(Some(lane)) => return Some(lane),
            Ok(None) => Ok(Ended::Skipped),
            Err(error) => Err(error),
        };
        worker.run.queue.count_through(worker.run.tree.entries.get(entry).size());
        worker.run.tally.end_entry(entry, ended);
    }
}

/// What a task's entries hold together.
fn bytes_of(run: Run<'_>, task: &Task) -> u64 {
    match task {
        Task::Entries(range) => run.plan.order[range.start as usize..range.end as usize]
            .iter()
            .map(|&index| run.tree.entries.get(index).size())
            .sum(),
        Task::Part { .. } => unreachable!("chained entries are never cut"),
    }
}

fn open(worker: &mut Worker<'_>, entry: u32) -> Result<Option<Lane>, Error> {
    let format = worker.run.job.work.sealing().expect("lanes encrypt");
    let Some((input, output)) = worker.open(entry)? else { return Ok(None) };
    let sealing = Sealing::begin(format, &worker.buffers.associated_data)?;
    let (_, before) = sealing.stream.chain().expect("a chained format");
    let output = output.expect("encryption writes");
    Ok(Some(Lane {
        entry,
        input,
        output,
        sealing,
        before,
        done: 0,
        written: 0,
        piece: 0..0,
        body: 0,
        is_last: false,
    }))
}

impl Lane {
    /// Plaintext bytes still to come.
    fn rest(&self) -> usize {
        usize::try_from(self.input.len() - self.done).unwrap_or(usize::MAX)
    }

    /// Reads this round's piece to `buffer[at..]`: the header in front of the first, padding behind the last. Returns how
    /// many bytes of plaintext it has.
    fn read(&mut self, worker: &mut Worker<'_>, at: usize) -> Result<usize, Error> {
        self.is_last = PIECES.segments(self.rest() as u64) == 1;
        let len = self.rest().min(LANE_LEN);
        let header = self.sealing.lead(self.done);
        let lead = header.len();
        // Reads go to the beginning of a cache line (see `Buffer::aligned_at`). Pieces are a power of two long, but do not
        // begin that far apart, or all lanes would fall into one set of the cache.
        let at = (at + lead + LINE).next_multiple_of(LINE) - lead;
        let buffer = &mut worker.buffers.main.first(at + lead + len + BLOCK + 1)?[at..];
        buffer[..lead].copy_from_slice(header);
        self.input.read(&mut buffer[lead..], len, self.done)?;
        let sealed = if self.is_last { pad(&mut buffer[lead..], len) } else { len };
        self.body = at + lead;
        self.piece = at..at + lead + sealed;
        self.done += len as u64;
        worker.run.observer.advanced(len as u64);
        Ok(len)
    }
}

/// Encrypts every lane's piece in place, interleaved where they share a key.
fn encrypt(buffer: &mut [u8], lanes: &mut [Option<Lane>]) {
    let active = lanes.iter_mut().flatten().filter(|lane| !lane.piece.is_empty());
    encrypt_pieces(
        buffer,
        active.map(|Lane { sealing, before, piece, body, .. }| {
            let (aes, _) = sealing.stream.chain().expect("a chained format");
            CbcPiece { aes, chain: before, body: *body..piece.end }
        }),
    );
}

/// Writes a lane's piece, and commits its entry if that was the last one.
fn write(worker: &mut Worker<'_>, slot: &mut Option<Lane>) {
    let Some(lane) = slot.as_mut().filter(|lane| !lane.piece.is_empty()) else { return };
    let buffer = worker.buffers.main.first(lane.piece.end).expect("it has been filled so far");
    let bytes = &buffer[lane.piece.clone()];
    if let Err(error) = lane.output.write(bytes, lane.written) {
        return end(worker, slot, Err(error.of_destination()));
    }
    lane.written += lane.piece.len() as u64;
    if lane.is_last {
        end(worker, slot, Ok(()));
    }
}

fn end(worker: &mut Worker<'_>, slot: &mut Option<Lane>, result: Result<(), Error>) {
    let Some(lane) = slot.take() else { return };
    worker.run.queue.count_through(lane.rest() as u64);
    let Lane { entry, input, output, written, .. } = lane;
    let ended = result
        .and_then(|()| input.check_unchanged(false))
        .and_then(|()| worker.name_output(entry))
        .and_then(|()| worker.commit_output(entry, output, &StreamEnds::new(&[], &[], written)));
    worker.run.tally.end_entry(entry, ended);
}
