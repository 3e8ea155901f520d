//! One stream's translation: its ciphers, its lengths, and the step that takes a run of segments from a source to an
//! output. Segments are independent, so any worker may take any range of them.
//!
//! ```text
//! encrypt   read plaintext ───────────────> seal ─> write
//! decrypt   read ciphertext ─> open ─────────────> write
//! verify    read ciphertext ─> open
//! ```
//!
//! Re-keying stands in `rekeying.rs`. Where the bytes come from and go to is another's concern ([`Ends`]): files (`passage.rs`) or memory (`pieces.rs`).

mod rekeying;

use super::buffers::{Buffer, Buffers};
use super::job::Work;
use super::span::{Span, offset_in};
use crate::Error;
use crate::format::{LastSegment, Layout, Stream};
use crate::plan::{Operation, RUN_LEN};
use crate::report::Observer;
use std::ops::Range;

/// The longest header of any format.
const HEADER_ROOM: usize = 128;

/// Where no cipher is involved, a segment is just what one read moves.
const PLAIN: Layout = Layout {
    header: 0,
    segment: RUN_LEN as u32,
    overhead: 0,
    first_deficit: 0,
    last: LastSegment::MayBeFull,
};

/// A stream's source and output.
pub(super) trait Ends {
    /// Fills `buffer[..len]` from `offset`. `buffer` has one byte more, by which a file that grew is noticed.
    fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error>;
    /// Writes all of `bytes` at `offset`; not called when verifying.
    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error>;
}

/// What a stream's translation needs to know, the same for all of its segments.
pub(super) struct Translation {
    pub(super) operation: Operation,
    opening: Option<Stream>,
    sealing: Option<Stream>,
    header: [u8; HEADER_ROOM],
    source_len: u64,
    pub(super) plaintext_len: u64,
    /// How many segments there are to divide among workers: the output's if there is one to seal, else the source's.
    pub(super) segments: u64,
    /// Bytes that one read moves, if segments allow.
    run_len: usize,
}

/// What a range of segments came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Translation {
    /// Derives the keys. `head`: the first [`crate::Format::head_len`] bytes of an encrypted source, or more, or all of
    /// it. `scratch`: room for a copy of them where several keys are to be tried.
    pub(super) fn begin(
        work: Work<'_>,
        source_len: u64,
        associated_data: &[u8],
        head: &[u8],
        scratch: &mut [u8],
    ) -> Result<Translation, Error> {
        let mut header = [0; HEADER_ROOM];
        let mut plaintext_len = source_len;
        let mut segments = PLAIN.segments(plaintext_len);
        let mut opening = None;
        if let Some(format) = work.opening() {
            let is_whole = head.len() as u64 == source_len;
            let stream = format.open_stream(associated_data, head, is_whole, scratch)?;
            plaintext_len = stream.layout().plaintext_len(source_len)?;
            segments = stream.layout().segments_of_ciphertext(source_len)?;
            opening = Some(stream);
        }
        let mut sealing = None;
        if let Some(format) = work.sealing() {
            let header = &mut header[..format.layout().header as usize];
            let stream = format.seal_stream(associated_data, header)?;
            segments = stream.layout().segments(plaintext_len);
            sealing = Some(stream);
        }
        let operation = work.operation();
        Ok(Translation {
            operation,
            opening,
            sealing,
            header,
            source_len,
            plaintext_len,
            segments,
            run_len: RUN_LEN,
        })
    }

    /// The same in runs of so many bytes, as the plan says.
    pub(super) fn in_runs_of(self, run_len: usize) -> Translation {
        Translation { run_len, ..self }
    }

    /// Takes the segments in `range` through. `at_hand`: how many bytes of the source's beginning stand in
    /// `buffers.main`. `observer` is told the source bytes of each run, and asked before it whether to stop.
    pub(super) fn advance(
        &self,
        ends: &impl Ends,
        range: Range<u64>,
        buffers: &mut Buffers,
        mut at_hand: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        let mut window = self.window(&range)?;
        let mut moved = Moved::default();
        let mut next = range.start;
        while next < range.end {
            if observer.is_stopped() {
                return Err(Error::Stopped);
            }
            let run = next..self.run_end(next, range.end);
            next = run.end;
            let step = match self.operation {
                Operation::Encrypt => self.seal_run(ends, run, &mut buffers.main)?,
                Operation::Decrypt | Operation::Verify => {
                    self.open_run(ends, run, &mut buffers.main, at_hand)?
                }
                Operation::Rekey => self.rekey_run(ends, run, buffers, &mut window)?,
                Operation::Copy => self.copy_run(ends, run, &mut buffers.main)?,
            };
            at_hand = 0;
            observer.advanced(step.read);
            moved.read += step.read;
            moved.written += step.written;
        }
        Ok(moved)
    }

    /// Which bytes of the source the segments in `range` (not empty) are made of.
    pub(super) fn source_range(&self, range: &Range<u64>) -> Result<Range<u64>, Error> {
        let span = |start: u64, len: usize| start..start + len as u64;
        match self.operation {
            Operation::Encrypt | Operation::Copy => {
                let wanted = Span::plaintext(self.layout(), range, self.plaintext_len);
                Ok(span(wanted.plaintext_offset, wanted.plaintext_len))
            }
            Operation::Decrypt | Operation::Verify => {
                let stream = self.opening.as_ref().expect("an operation that opens");
                let wanted = Span::ciphertext(stream.layout(), range, self.source_len)?;
                let lead = lead(stream, range.start) as u64;
                Ok(wanted.ciphertext_offset - lead..wanted.ciphertext_offset + wanted.ciphertext_len as u64)
            }
            Operation::Rekey => self.covering_bytes(range),
        }
    }

    /// The layout whose segments are divided among workers.
    fn layout(&self) -> &Layout {
        self.sealing.as_ref().or(self.opening.as_ref()).map_or(&PLAIN, Stream::layout)
    }

    /// As many whole segments as one read should move, at least one.
    pub(super) fn run_end(&self, start: u64, end: u64) -> u64 {
        end.min(start + self.fitting(self.layout()))
    }

    /// How many segments of this layout one read should move.
    fn fitting(&self, layout: &Layout) -> u64 {
        (self.run_len as u64 / u64::from(layout.segment)).max(1)
    }

    fn copy_run(&self, ends: &impl Ends, run: Range<u64>, main: &mut Buffer) -> Result<Moved, Error> {
        let span = Span::plaintext(&PLAIN, &run, self.plaintext_len);
        let buffer = main.first(span.plaintext_len + 1)?;
        ends.read(buffer, span.plaintext_len, span.plaintext_offset)?;
        ends.write(&buffer[..span.plaintext_len], span.plaintext_offset)?;
        Ok(Moved { read: span.plaintext_len as u64, written: span.plaintext_len as u64 })
    }

    fn seal_run(&self, ends: &impl Ends, run: Range<u64>, main: &mut Buffer) -> Result<Moved, Error> {
        let (span, place) = self.sealing_place(&run);
        let buffer =
            main.aligned_at(place.plaintext, place.end.max(place.plaintext + span.plaintext_len) + 1)?;
        let plaintext = &mut buffer[place.plaintext..=place.plaintext + span.plaintext_len];
        ends.read(plaintext, span.plaintext_len, span.plaintext_offset)?;
        let written = self.seal_and_write(ends, run, &span, &place, buffer)?;
        Ok(Moved { read: span.plaintext_len as u64, written })
    }

    /// Where a run's plaintext and ciphertext stand in a buffer: the ciphertext behind the header (in the first run),
    /// the plaintext right-aligned with it, so that segments move left past their tags one by one; a single segment
    /// is not moved at all.
    fn sealing_place(&self, run: &Range<u64>) -> (Span, Place) {
        let layout = self.layout();
        let span = Span::plaintext(layout, run, self.plaintext_len);
        let lead = if run.start == 0 { layout.header as usize } else { 0 };
        let end = lead + span.ciphertext_len;
        let plaintext = if run.end - run.start == 1 { lead } else { end - span.plaintext_len };
        (span, Place { lead, plaintext, end })
    }

    fn seal_and_write(
        &self,
        ends: &impl Ends,
        run: Range<u64>,
        span: &Span,
        place: &Place,
        buffer: &mut [u8],
    ) -> Result<u64, Error> {
        let stream = self.sealing.as_ref().expect("an operation that seals");
        buffer[..place.lead].copy_from_slice(&self.header[..place.lead]);
        let run = if stream.is_seamless() && place.plaintext == place.lead {
            stream.seal_seamless(run.start, &mut buffer[place.lead..place.end])?;
            0..0
        } else {
            run
        };
        for index in run {
            let segment = stream.layout().segment(index, self.plaintext_len);
            let from = place.plaintext + offset_in(segment.plaintext_offset, span.plaintext_offset);
            let to = place.lead + offset_in(segment.ciphertext_offset, span.ciphertext_offset);
            if from != to {
                buffer.copy_within(from..from + segment.plaintext_len as usize, to);
            }
            stream.seal_segment(
                index,
                segment.last,
                &mut buffer[to..to + segment.ciphertext_len as usize],
            )?;
        }
        ends.write(&buffer[..place.end], span.ciphertext_offset - place.lead as u64)?;
        Ok(place.end as u64)
    }

    fn open_run(
        &self,
        ends: &impl Ends,
        run: Range<u64>,
        main: &mut Buffer,
        at_hand: usize,
    ) -> Result<Moved, Error> {
        let stream = self.opening.as_ref().expect("an operation that opens");
        let span = Span::ciphertext(stream.layout(), &run, self.source_len)?;
        let lead = lead(stream, run.start);
        let len = lead + span.ciphertext_len;
        let start = span.ciphertext_offset - lead as u64;
        let buffer = main.first(len + 1)?;
        let at_hand = at_hand.min(len);
        if at_hand < len {
            ends.read(&mut buffer[at_hand..], len - at_hand, start + at_hand as u64)?;
        }
        let mut before = block_before(&buffer[..lead]);
        let mut filled = lead;
        let run = if stream.is_seamless() {
            let last = stream.layout().ciphertext_segment(run.end - 1, self.source_len)?.last;
            let before = before.as_ref().filter(|_| run.start > 0);
            filled += stream.open_seamless(run.start, last, before, &mut buffer[lead..len])?;
            0..0
        } else {
            run
        };
        for index in run {
            let segment = stream.layout().ciphertext_segment(index, self.source_len)?;
            let from = lead + offset_in(segment.ciphertext_offset, span.ciphertext_offset);
            let ciphertext = &mut buffer[from..from + segment.ciphertext_len as usize];
            let following = block_before(ciphertext);
            let count = stream.open_segment(
                index,
                segment.last,
                before.as_ref().filter(|_| index > 0),
                ciphertext,
            )?;
            before = following;
            if filled != from {
                buffer.copy_within(from..from + count, filled);
            }
            filled += count;
        }
        let plaintext = &buffer[lead..filled];
        if self.operation != Operation::Verify {
            ends.write(plaintext, span.plaintext_offset)?;
        }
        let header = if start == 0 { lead as u64 } else { 0 };
        Ok(Moved { read: header + span.ciphertext_len as u64, written: plaintext.len() as u64 })
    }
}

/// How many bytes in front of a run are read with it: before the first the header, before others perhaps the block
/// that CBC needs.
fn lead(stream: &Stream, start: u64) -> usize {
    match start {
        0 => stream.layout().header as usize,
        _ if stream.needs_block_before() => 16,
        _ => 0,
    }
}

/// Where it stands in a buffer.
struct Place {
    lead: usize,
    plaintext: usize,
    end: usize,
}

/// The last 16 bytes, if there are so many.
fn block_before(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.last_chunk().copied()
}
