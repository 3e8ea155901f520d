//! One entry's way through the pipeline: its ciphers, its lengths, and the loop that reads a run of segments,
//! transforms it in place and writes it. Any worker may take any range of segments.
//!
//! ```text
//! encrypt   read plaintext ───────────────> seal ─> write
//! decrypt   read ciphertext ─> open ─────────────> write
//! verify    read ciphertext ─> open
//! re-key    read ciphertext ─> open ─> copy ─> seal ─> write
//! ```

use super::buffers::{Buffer, Buffers};
use super::input::Input;
use super::job::Work;
use super::output::Output;
use crate::Error;
use crate::format::{LastSegment, Layout, Segment, Stream};
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

pub(super) struct Passage {
    operation: Operation,
    input: Input,
    output: Option<Output>,
    opening: Option<Stream>,
    sealing: Option<Stream>,
    header: [u8; HEADER_ROOM],
    plaintext_len: u64,
    /// Whether one read brings everything, and so sees by itself that the source has not changed.
    is_one_read: bool,
    /// Bytes that one read moves, if segments allow.
    run_len: usize,
    /// How many segments there are to divide among workers: the output's if there is one to seal, else the source's.
    pub(super) segments: u64,
}

/// What a range of segments came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Passage {
    /// Derives the keys. For an encrypted source this reads its beginning into `buffers.main`; the returned number
    /// says how many of its bytes stand there, so that the first run need not read them again.
    pub(super) fn begin(
        work: Work<'_>,
        run_len: usize,
        input: Input,
        output: Option<Output>,
        buffers: &mut Buffers,
    ) -> Result<(Passage, usize), Error> {
        let mut header = [0; HEADER_ROOM];
        let mut at_hand = 0;
        let mut plaintext_len = input.len();
        let mut segments = PLAIN.segments(plaintext_len);
        let mut opening = None;
        if let Some(format) = work.opening() {
            // What is re-keyed is read as the output's runs ask for it.
            let first_run = if matches!(work, Work::Rekey { .. }) { 0 } else { RUN_LEN };
            let wanted = format.head_len().max(first_run) as u64;
            at_hand = usize::try_from(wanted.min(input.len())).expect("a buffer's length");
            let head = buffers.main.first(at_hand + 1);
            input.read(head, at_hand, 0)?;
            // Keys are tried on a copy of the first segment, of which no more than this is at hand.
            let scratch: &mut [u8] = if format.head_len() > format.layout().header as usize {
                buffers.second.first(at_hand)
            } else {
                &mut []
            };
            let is_whole = at_hand as u64 == input.len();
            let stream = format.open_stream(&buffers.associated_data, &head[..at_hand], is_whole, scratch)?;
            plaintext_len = stream.layout().plaintext_len(input.len())?;
            segments = stream.layout().segments_of_ciphertext(input.len())?;
            opening = Some(stream);
        }
        let mut sealing = None;
        if let Some(format) = work.sealing() {
            let header = &mut header[..format.layout().header as usize];
            let stream = format.seal_stream(&buffers.associated_data, header)?;
            segments = stream.layout().segments(plaintext_len);
            sealing = Some(stream);
        }
        let operation = work.operation();
        let mut passage = Passage {
            operation,
            input,
            output,
            opening,
            sealing,
            header,
            plaintext_len,
            is_one_read: false,
            run_len,
            segments,
        };
        passage.is_one_read = match operation {
            Operation::Encrypt | Operation::Copy => passage.run_end(0, segments) == segments,
            Operation::Decrypt | Operation::Verify => at_hand as u64 == passage.input.len(),
            Operation::Rekey => false,
        };
        Ok((passage, at_hand))
    }

    /// Takes the segments in `range` through. `at_hand`: how many bytes of the source's beginning stand in
    /// `buffers.main`. `observer` is told the source bytes of each run, and asked before it whether to stop.
    pub(super) fn advance(
        &self,
        range: Range<u64>,
        buffers: &mut Buffers,
        mut at_hand: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        let mut moved = Moved::default();
        let mut next = range.start;
        while next < range.end {
            if observer.is_stopped() {
                return Err(Error::Stopped);
            }
            let run = next..self.run_end(next, range.end);
            next = run.end;
            let step = match self.operation {
                Operation::Encrypt => self.seal_run(run, &mut buffers.main)?,
                Operation::Decrypt | Operation::Verify => self.open_run(run, &mut buffers.main, at_hand)?,
                Operation::Rekey => self.rekey_run(run, buffers)?,
                Operation::Copy => self.copy_run(run, &mut buffers.main)?,
            };
            at_hand = 0;
            observer.advanced(step.read);
            moved.read += step.read;
            moved.written += step.written;
        }
        Ok(moved)
    }

    /// The whole entry, by one worker.
    pub(super) fn advance_whole(
        &self,
        buffers: &mut Buffers,
        at_hand: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        self.advance(0..self.segments, buffers, at_hand, observer)
    }

    /// Checks that the source is still what was listed, and hands out the complete output.
    pub(super) fn finish(self) -> Result<Option<Output>, Error> {
        if !self.is_one_read {
            self.input.check_unchanged()?;
        }
        Ok(self.output)
    }

    /// The layout whose segments are divided among workers.
    fn layout(&self) -> &Layout {
        self.sealing.as_ref().or(self.opening.as_ref()).map_or(&PLAIN, Stream::layout)
    }

    /// As many whole segments as one read should move, at least one.
    fn run_end(&self, start: u64, end: u64) -> u64 {
        let layout = self.layout();
        let fitting = (self.run_len as u64 / u64::from(layout.segment)).max(1);
        end.min(start + fitting)
    }

    fn copy_run(&self, run: Range<u64>, main: &mut Buffer) -> Result<Moved, Error> {
        let span = Span::plaintext(&PLAIN, &run, self.plaintext_len);
        let buffer = main.first(span.plaintext_len + 1);
        self.input.read(buffer, span.plaintext_len, span.plaintext_offset)?;
        self.write(&buffer[..span.plaintext_len], span.plaintext_offset)?;
        Ok(Moved { read: span.plaintext_len as u64, written: span.plaintext_len as u64 })
    }

    fn seal_run(&self, run: Range<u64>, main: &mut Buffer) -> Result<Moved, Error> {
        let (span, place) = self.sealing_place(&run);
        let buffer =
            main.aligned_at(place.plaintext, place.end.max(place.plaintext + span.plaintext_len) + 1);
        let plaintext = &mut buffer[place.plaintext..=place.plaintext + span.plaintext_len];
        self.input.read(plaintext, span.plaintext_len, span.plaintext_offset)?;
        let written = self.seal_and_write(run, &span, &place, buffer)?;
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
        self.write(&buffer[..place.end], span.ciphertext_offset - place.lead as u64)?;
        Ok(place.end as u64)
    }

    fn open_run(&self, run: Range<u64>, main: &mut Buffer, at_hand: usize) -> Result<Moved, Error> {
        let stream = self.opening.as_ref().expect("an operation that opens");
        let span = Span::ciphertext(stream.layout(), &run, self.input.len())?;
        // In front of the first run stands the header, in front of others perhaps the block that CBC needs.
        let lead = match run.start {
            0 => stream.layout().header as usize,
            _ if stream.needs_block_before() => 16,
            _ => 0,
        };
        let len = lead + span.ciphertext_len;
        let start = span.ciphertext_offset - lead as u64;
        let buffer = main.first(len + 1);
        let at_hand = at_hand.min(len);
        if at_hand < len {
            self.input.read(&mut buffer[at_hand..], len - at_hand, start + at_hand as u64)?;
        }
        let mut before = block_before(&buffer[..lead]);
        let mut filled = lead;
        let run = if stream.is_seamless() {
            let last = stream.layout().ciphertext_segment(run.end - 1, self.input.len())?.last;
            let before = before.as_ref().filter(|_| run.start > 0);
            filled += stream.open_seamless(run.start, last, before, &mut buffer[lead..len])?;
            0..0
        } else {
            run
        };
        for index in run {
            let segment = stream.layout().ciphertext_segment(index, self.input.len())?;
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
        if self.output.is_some() {
            self.write(plaintext, span.plaintext_offset)?;
        }
        let header = if start == 0 { lead as u64 } else { 0 };
        Ok(Moved { read: header + span.ciphertext_len as u64, written: plaintext.len() as u64 })
    }

    /// Opens the source segments that cover a run of the output's segments, and seals these.
    fn rekey_run(&self, run: Range<u64>, buffers: &mut Buffers) -> Result<Moved, Error> {
        let source = self.opening.as_ref().expect("re-keying opens");
        let layout = source.layout();
        let (span, place) = self.sealing_place(&run);
        let buffer =
            buffers.main.aligned_at(place.plaintext, place.end.max(place.plaintext + span.plaintext_len) + 1);
        let wanted = span.plaintext_offset..span.plaintext_offset + span.plaintext_len as u64;
        let first = layout.segment_at(wanted.start);
        // The last run opens all that is left: an empty last segment holds no plaintext, but it is to be authentic too.
        let is_end = run.end == self.segments;
        let source_segments = layout.segments_of_ciphertext(self.input.len())?;
        let end = if is_end { source_segments } else { layout.segment_at(wanted.end - 1) + 1 };
        let mut read = 0;
        if first < end {
            let covering = Span::ciphertext(layout, &(first..end), self.input.len())?;
            let ciphertexts = buffers.second.first(covering.ciphertext_len + 1);
            self.input.read(ciphertexts, covering.ciphertext_len, covering.ciphertext_offset)?;
            for index in first..end {
                let segment = layout.ciphertext_segment(index, self.input.len())?;
                let from = offset_in(segment.ciphertext_offset, covering.ciphertext_offset);
                let ciphertext = &mut ciphertexts[from..from + segment.ciphertext_len as usize];
                let count = source.open_segment(index, segment.last, None, ciphertext)?;
                let has = segment.plaintext_offset..segment.plaintext_offset + count as u64;
                let both = has.start.max(wanted.start)..has.end.min(wanted.end);
                if both.start < both.end {
                    let from = offset_in(both.start, has.start);
                    let to = place.plaintext + offset_in(both.start, wanted.start);
                    let len = offset_in(both.end, both.start);
                    buffer[to..to + len].copy_from_slice(&ciphertext[from..from + len]);
                }
            }
            read = covering.ciphertext_len as u64;
        }
        let written = self.seal_and_write(run, &span, &place, buffer)?;
        Ok(Moved { read, written })
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.output.as_ref().expect("an operation that writes").write(bytes, offset)
    }
}

/// Where a run of segments stands in both streams.
struct Span {
    plaintext_offset: u64,
    plaintext_len: usize,
    ciphertext_offset: u64,
    ciphertext_len: usize,
}

/// Where it stands in a buffer.
struct Place {
    lead: usize,
    plaintext: usize,
    end: usize,
}

impl Span {
    fn plaintext(layout: &Layout, run: &Range<u64>, plaintext_len: u64) -> Span {
        Span::between(layout.segment(run.start, plaintext_len), layout.segment(run.end - 1, plaintext_len))
    }

    fn ciphertext(layout: &Layout, run: &Range<u64>, ciphertext_len: u64) -> Result<Span, Error> {
        let first = layout.ciphertext_segment(run.start, ciphertext_len)?;
        Ok(Span::between(first, layout.ciphertext_segment(run.end - 1, ciphertext_len)?))
    }

    fn between(first: Segment, last: Segment) -> Span {
        Span {
            plaintext_offset: first.plaintext_offset,
            plaintext_len: offset_in(
                last.plaintext_offset + u64::from(last.plaintext_len),
                first.plaintext_offset,
            ),
            ciphertext_offset: first.ciphertext_offset,
            ciphertext_len: offset_in(
                last.ciphertext_offset + u64::from(last.ciphertext_len),
                first.ciphertext_offset,
            ),
        }
    }
}

fn offset_in(offset: u64, start: u64) -> usize {
    usize::try_from(offset - start).expect("within one buffer")
}

/// The last 16 bytes, if there are so many.
fn block_before(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.last_chunk().copied()
}
