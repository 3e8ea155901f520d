//! One stream's translation: its ciphers, its lengths, and the step that takes a run of segments from a source to an
//! output. Segments are independent, so any worker may take any range of them.
//!
//! ```text
//! encrypt   read plaintext ───────────────> seal ─> write
//! decrypt   read ciphertext ─> open ─────────────> write
//! verify    read ciphertext ─> open
//! re-key    read ciphertext ─> open ──────> seal ─> write      (rekeying.rs)
//! copy      read plaintext ──────────────────────> write
//! ```
//!
//! The segments themselves are sealed and opened by `segments`. An [`Ends`] says where bytes come from and go to: files
//! ([`Passage`]) or memory (`pieces.rs`).

mod rekeying;

use super::indexing::StreamEnds;
use super::job::Work;
use crate::Error;
use crate::engine::lock;
use crate::files::{Input, Output};
use crate::format::{LastSegment, Layout, Predecessor, Stream};
use crate::plan::{Operation, RUN_LEN};
use crate::report::Observer;
use crate::segments::{self, Buffer, Run, Sealing, offset_in};
use rekeying::Window;
use std::ffi::OsString;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

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
    sealing: Option<Sealing>,
    pub(super) source_len: u64,
    pub(super) plaintext_len: u64,
    /// How many segments there are to divide among workers: the output's if there is one to seal, else the source's.
    pub(super) segments: u64,
    /// Bytes that one read moves, if segments allow.
    run_len: usize,
}

/// How many bytes a range of segments moved.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moved {
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Translation {
    /// Derives the keys. `run_len`: bytes that one read should move. `head`: the first [`crate::Format::head_len`] bytes of an
    /// encrypted source, or more, or all of it. `scratch`: room for a copy of them where several keys are to be tried.
    /// `predecessor`: the stream that a re-keyed one takes the place of, if that is to be shown.
    pub(super) fn begin(
        work: &Work,
        run_len: usize,
        source_len: u64,
        associated_data: &[u8],
        predecessor: Option<&Predecessor>,
        head: &[u8],
        scratch: &mut [u8],
    ) -> Result<Translation, Error> {
        let mut plaintext_len = source_len;
        let mut opening = None;
        if let Some(format) = work.opening() {
            let is_whole = head.len() as u64 == source_len;
            let stream = format.open_stream(associated_data, head, is_whole, scratch)?;
            plaintext_len = stream.layout().plaintext_len(source_len)?;
            opening = Some(stream);
        }
        let sealing = work
            .sealing()
            .map(|format| Sealing::begin_after(format, associated_data, predecessor))
            .transpose()?;
        let mut translation = Translation {
            operation: work.operation(),
            opening,
            sealing,
            source_len,
            plaintext_len,
            segments: 0,
            run_len,
        };
        translation.segments = translation.layout().segments(plaintext_len);
        Ok(translation)
    }

    /// Translates the segments in `range`. `present`: how many bytes of the source's beginning are in `buffers.main`
    /// already. `observer` gets the source bytes of each run, and may stop the translation before the next.
    pub(super) fn advance(
        &self,
        ends: &impl Ends,
        range: Range<u64>,
        buffers: &mut Buffers,
        mut present: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        let mut window = Window::new(self.source_segments(&range));
        let mut moved = Moved::default();
        let mut next = range.start;
        while next < range.end {
            if observer.is_stopped() {
                return Err(Error::Stopped);
            }
            let run = self.first_run(&(next..range.end), self.layout());
            next = run.end;
            let step = match self.operation {
                Operation::Decrypt | Operation::Verify => {
                    self.open_run(ends, run, &mut buffers.main, present)?
                }
                Operation::Encrypt | Operation::Rekey | Operation::Copy => {
                    self.seal_run(ends, run, buffers, &mut window)?
                }
            };
            present = 0;
            observer.advanced(step.read);
            moved.read += step.read;
            moved.written += step.written;
        }
        Ok(moved)
    }

    /// Which bytes of the source the segments in `range` (not empty) are made of.
    pub(super) fn source_range(&self, range: &Range<u64>) -> Range<u64> {
        let segments = self.source_segments(range);
        match &self.opening {
            None => self.layout().plaintext_range(range, self.plaintext_len),
            Some(_) if segments.is_empty() => 0..0,
            Some(stream) => self.source_bytes(stream, &segments),
        }
    }

    /// The layout whose segments are divided among workers.
    fn layout(&self) -> &Layout {
        let stream = self.sealing.as_ref().map(|sealing| &sealing.stream).or(self.opening.as_ref());
        stream.map_or(&PLAIN, Stream::layout)
    }

    /// As many segments from the front of a range as one read should move, at least one.
    fn first_run(&self, range: &Range<u64>, layout: &Layout) -> Range<u64> {
        let most = (self.run_len as u64 / u64::from(layout.segment)).max(1);
        range.start..range.end.min(range.start + most)
    }

    /// Seals a run of the output's segments, or just copies them. Their plaintext is the source, or is opened from it.
    fn seal_run(
        &self,
        ends: &impl Ends,
        segments: Range<u64>,
        buffers: &mut Buffers,
        window: &mut Window,
    ) -> Result<Moved, Error> {
        let layout = self.layout();
        let plaintext = layout.plaintext_range(&segments, self.plaintext_len);
        let len = offset_in(plaintext.end, plaintext.start);
        let offset = layout.ciphertext_offset(segments.start);
        let run = Run::of(segments, self.segments);
        let header = self.sealing.as_ref().map_or(&[][..], |sealing| sealing.lead(run.segments.start));
        let lead = header.len();
        let room = run.sealed_len(layout, len);
        let buffer = buffers.main.aligned_at(lead, lead + room + 1)?;
        buffer[..lead].copy_from_slice(header);
        let read = match self.opening {
            Some(_) => {
                let target = &mut buffer[lead..lead + len];
                self.fill_opened(ends, &run, plaintext.start, target, &mut buffers.second, window)?
            }
            None => {
                ends.read(&mut buffer[lead..=lead + len], len, plaintext.start)?;
                len as u64
            }
        };
        let sealed = match &self.sealing {
            Some(sealing) => segments::seal(&sealing.stream, &run, None, &mut buffer[lead..], len)?,
            None => len,
        };
        ends.write(&buffer[..lead + sealed], offset - lead as u64)?;
        Ok(Moved { read, written: (lead + sealed) as u64 })
    }

    fn open_run(
        &self,
        ends: &impl Ends,
        segments: Range<u64>,
        main: &mut Buffer,
        present: usize,
    ) -> Result<Moved, Error> {
        let offset = self.layout().plaintext_offset(segments.start);
        let (plaintext, read) = self.open_source(ends, segments, main, present)?;
        let plaintext = &main.first(plaintext.end)?[plaintext];
        if self.operation != Operation::Verify {
            ends.write(plaintext, offset)?;
        }
        Ok(Moved { read, written: plaintext.len() as u64 })
    }

    /// Reads segments of the source and opens them in `buffer`. Returns where their plaintext is in it, and how many bytes
    /// of the source they have, the header included.
    fn open_source(
        &self,
        ends: &impl Ends,
        segments: Range<u64>,
        buffer: &mut Buffer,
        present: usize,
    ) -> Result<(Range<usize>, u64), Error> {
        let stream = self.opening.as_ref().expect("an operation that opens");
        let bytes = self.source_bytes(stream, &segments);
        let len = offset_in(bytes.end, bytes.start);
        let buffer = buffer.first(len + 1)?;
        let present = present.min(len);
        if present < len {
            ends.read(&mut buffer[present..], len - present, bytes.start + present as u64)?;
        }
        let repeated = if segments.start == 0 { 0 } else { segments::lead(stream, segments.start) };
        let run = Run { segments, ends: bytes.end == self.source_len };
        let plaintext = segments::open(stream, &run, &mut buffer[..len]).whole()?;
        Ok((plaintext, (len - repeated) as u64))
    }

    /// Where these segments of the source are, with what is read in front of them.
    fn source_bytes(&self, stream: &Stream, segments: &Range<u64>) -> Range<u64> {
        let bytes = stream.layout().ciphertext_range(segments, self.source_len);
        bytes.start - segments::lead(stream, segments.start) as u64..bytes.end
    }
}

/// One entry, from file to file: its translation, and both of its ends.
pub(super) struct Passage {
    pub(super) translation: Translation,
    input: Input,
    output: Option<Output>,
    /// Of the output, as far as it is written.
    ends: Mutex<StreamEnds>,
}

impl Ends for Passage {
    fn read(&self, buffer: &mut [u8], len: usize, offset: u64) -> Result<(), Error> {
        self.input.read(buffer, len, offset)
    }

    fn write(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        let output = self.output.as_ref().expect("an operation that writes");
        output.write(bytes, offset).map_err(Error::of_destination)?;
        lock(&self.ends).add_at(bytes, offset);
        Ok(())
    }
}

impl Passage {
    /// Derives the keys. For an encrypted source this reads its beginning into `buffers.main`; the returned number
    /// says how many of its bytes are there, so that the first run need not read them again.
    pub(super) fn begin(
        work: &Work,
        run_len: usize,
        input: Input,
        output: Option<Output>,
        buffers: &mut Buffers,
    ) -> Result<(Passage, usize), Error> {
        let mut present = 0;
        let mut scratch_len = 0;
        if let Some(format) = work.opening() {
            // What is re-keyed is read as the output's runs ask for it.
            let first_run = if matches!(work, Work::Rekey { .. }) { 0 } else { RUN_LEN };
            let mut wanted = format.head_len(&[]).max(first_run) as u64;
            loop {
                let start = present;
                present = usize::try_from(wanted.min(input.len())).expect("a buffer's length");
                let room = &mut buffers.main.first(present + 1)?[start..];
                input.read(room, present - start, start as u64)?;
                wanted = format.head_len(&buffers.main.first(present)?[..present]) as u64;
                if wanted <= present as u64 || present as u64 == input.len() {
                    break;
                }
            }
            // Keys are tried on a copy of the first segment, of which no more than this is there.
            scratch_len = if format.tries_keys() { present } else { 0 };
        }
        let head = &buffers.main.first(present + 1)?[..present];
        let scratch = if scratch_len > 0 { buffers.second.first(scratch_len)? } else { &mut [] };
        let (bound, predecessor) = (&buffers.associated_data, buffers.predecessor.as_ref());
        let translation = Translation::begin(work, run_len, input.len(), bound, predecessor, head, scratch)?;
        Ok((Passage { translation, input, output, ends: Mutex::default() }, present))
    }

    /// Translates the segments in `range`: [`Translation::advance`] between this entry's files.
    pub(super) fn advance(
        &self,
        range: Range<u64>,
        buffers: &mut Buffers,
        present: usize,
        observer: &dyn Observer,
    ) -> Result<Moved, Error> {
        self.translation.advance(self, range, buffers, present, observer)
    }

    /// The source.
    pub(super) fn input(&self) -> &Input {
        &self.input
    }

    /// Checks that the source is still what was listed, and hands out the complete output with its stream's ends. `replaces`: it
    /// takes the source's place, and its owner with it where the system allows that.
    pub(super) fn finish(self, replaces: bool) -> Result<Option<(Output, StreamEnds)>, Error> {
        self.input.check_unchanged(replaces)?;
        if let Some(output) = self.output.as_ref().filter(|_| replaces) {
            output.take_owner_of(self.input.file())?;
        }
        let ends = self.ends.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(self.output.map(|output| (output, ends)))
    }
}

/// All that a worker keeps between entries: made once, used for every entry, wiped at the end. With it no entry costs a heap
/// allocation, but for its path where marks are made of it.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// What is read, transformed in place, and written.
    pub(super) main: Buffer,
    /// The second one: the source's plaintext when re-keying, scratch for finding the right key of several. Empty until
    /// it is used, unless the job is known to use it.
    pub(super) second: Buffer,
    /// The output's name.
    pub(super) name: OsString,
    /// The path bound to the ciphertext.
    pub(super) associated_data: Vec<u8>,
    /// The stream that the next output takes the place of.
    pub(super) predecessor: Option<Predecessor>,
}

impl Buffers {
    pub(super) fn new(main: usize, second: usize) -> Buffers {
        Buffers {
            main: Buffer::new(main),
            second: Buffer::new(second),
            name: OsString::with_capacity(256),
            associated_data: Vec::with_capacity(256),
            predecessor: None,
        }
    }
}
