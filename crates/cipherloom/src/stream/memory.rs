//! Bytes in memory, on several cores where that pays.
//!
//! ```text
//! source  |  piece 0  |  piece 1  |  piece 2  | ...       a piece: segments of about a mebibyte together
//!         | copied, sealed (or opened) by the thread that takes it
//! output  | header | piece 0 | piece 1 | piece 2 | ...
//! ```
//!
//! Each segment is copied once, into the output or through a buffer of one segment, and worked on while it is in the core's
//! cache. What a [`Source`] is and what the output consists of is its owner's concern: Python lends memory that others may
//! write to meanwhile, and takes results in memory that has no value yet.

use crate::Error;
use crate::engine::{Workers, lock};
use crate::format::{Format, Layout, Stream};
use crate::machine::Machine;
use crate::plan::{CipherCost, Operation, Plan, RUN_LEN, Request};
use crate::report::Observer;
use crate::segments::{self, Run, no_memory, offset_in};
use std::mem;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use zeroize::{Zeroize, Zeroizing};

/// Bytes that a thread takes at a time, if segments allow.
pub const PIECE_LEN: usize = RUN_LEN;

/// Bytes in memory, and the way into an output.
#[expect(clippy::len_without_is_empty, reason = "nobody asks for that")]
pub trait Source: Sync {
    /// A byte of the output, which need not have a value yet.
    type Byte: Send;

    /// Length in bytes.
    fn len(&self) -> usize;
    /// Copies the bytes from `offset` on into all of `target`.
    fn copy(&self, offset: usize, target: &mut [u8]);
    /// Puts `len` bytes from `offset` on at the front of `output`, and gives the others any value.
    fn copy_to_output<'o>(&self, offset: usize, len: usize, output: &'o mut [Self::Byte]) -> &'o mut [u8];
    /// Puts these bytes into all of `output`.
    fn put(output: &mut [Self::Byte], bytes: &[u8]);
}

/// Bytes that are borrowed, to an output that has values.
pub(super) struct Slice<'s>(pub(super) &'s [u8]);

impl Source for Slice<'_> {
    type Byte = u8;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn copy(&self, offset: usize, target: &mut [u8]) {
        target.copy_from_slice(&self.0[offset..offset + target.len()]);
    }

    fn copy_to_output<'o>(&self, offset: usize, len: usize, output: &'o mut [u8]) -> &'o mut [u8] {
        self.copy(offset, &mut output[..len]);
        output
    }

    fn put(output: &mut [u8], bytes: &[u8]) {
        output.copy_from_slice(bytes);
    }
}

/// Memory for an output. Fresh zeros from the system cost nothing before they are touched.
pub(super) fn zeros(len: u64) -> Result<Vec<u8>, Error> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    // Asked first, for `vec!` ends the process where there is no memory.
    Vec::<u8>::new().try_reserve_exact(len).map_err(no_memory)?;
    Ok(vec![0; len])
}

/// The number of threads that pays for `len` bytes: that for a file of this size.
#[must_use]
pub fn threads(
    machine: &Machine,
    wanted: Option<NonZeroUsize>,
    format: &Format,
    operation: Operation,
    len: usize,
) -> usize {
    let request = Request {
        operation,
        threads: wanted,
        cipher: CipherCost::of(format),
        key_iterations: 0,
        largest_segment: format.largest_segment() as usize,
        names_in_turns: false,
    };
    Plan::new(&[len as u64], machine, &request).threads()
}

/// A ciphertext that was begun: its keys are derived, and its header is made.
#[derive(Debug)]
pub struct Sealing {
    sealing: segments::Sealing,
    is_chained: bool,
}

impl Sealing {
    /// Begins a stream with fresh keys.
    ///
    /// # Errors
    /// As [`super::encrypt_with_format`], but for the memory of the result.
    pub fn begin(format: &Format, associated_data: &[u8]) -> Result<Sealing, Error> {
        let sealing = segments::Sealing::begin(format, associated_data)?;
        Ok(Sealing { sealing, is_chained: format.is_chained() })
    }

    /// The length in bytes of the ciphertext of a plaintext of this length.
    #[must_use]
    pub fn ciphertext_len(&self, plaintext_len: u64) -> u64 {
        self.sealing.stream.layout().ciphertext_len(plaintext_len)
    }

    /// Encrypts all of `source` into `output`, which has [`Sealing::ciphertext_len`] bytes. Only once: a stream has one
    /// plaintext.
    ///
    /// # Errors
    /// [`Error::TooManySegments`]; [`Error::Stopped`] if the observer stopped it.
    ///
    /// # Panics
    /// If `output` has another length.
    pub fn seal<S: Source>(
        self,
        source: &S,
        output: &mut [S::Byte],
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<(), Error> {
        let len = source.len() as u64;
        let stream = &self.sealing.stream;
        let layout = *stream.layout();
        assert_eq!(output.len() as u64, layout.ciphertext_len(len), "room for the ciphertext");
        let (header, body) = output.split_at_mut(layout.header as usize);
        S::put(header, self.sealing.lead(0));
        let all = layout.segments(len);
        let begin = |index| layout.ciphertext_offset(index) - u64::from(layout.header);
        let work = |run: &Run, output: &mut [S::Byte], _: &mut Vec<u8>| {
            let plaintext = layout.plaintext_range(&run.segments, len);
            let (from, count) = (offset_in(plaintext.start, 0), offset_in(plaintext.end, plaintext.start));
            let buffer = source.copy_to_output(from, count, output);
            segments::seal(stream, run, None, buffer, count)?;
            Ok(count)
        };
        let at_once = if self.is_chained { all } else { segments_at_once(&layout) };
        let todo = Todo { segments: 0..all, output: body };
        in_pieces(stream, todo, &begin, at_once, threads, observer, &work).map(|_| ())
    }
}

/// A ciphertext in memory whose key was found.
#[derive(Debug)]
pub struct Opening {
    stream: Stream,
    segments: u64,
    plaintext_len: u64,
}

impl Opening {
    /// Finds the key that opens `source`.
    ///
    /// # Errors
    /// As [`super::decrypt_with_format`], as far as the stream's length and beginning tell.
    pub fn begin(format: &Format, associated_data: &[u8], source: &impl Source) -> Result<Opening, Error> {
        let len = source.len();
        let mut head = Vec::new();
        loop {
            let wanted = format.head_len(&head).min(len);
            if wanted <= head.len() {
                break;
            }
            head.resize(wanted, 0);
            source.copy(0, &mut head);
        }
        // With several keys the right one is found on a copy of the first segment.
        let mut scratch = Zeroizing::new(vec![0; head.len()]);
        let stream = format.open_stream(associated_data, &head, head.len() == len, &mut scratch)?;
        let segments = stream.layout().segments_of_ciphertext(len as u64)?;
        let plaintext_len = stream.layout().plaintext_len(len as u64)?;
        Ok(Opening { stream, segments, plaintext_len })
    }

    /// Length of the plaintext in bytes; of a padded one (CBC): the most that it can have.
    #[must_use]
    pub fn plaintext_len(&self) -> u64 {
        self.plaintext_len
    }

    /// Decrypts all of `source`, the same as before, into the front of `output`, which has room for
    /// [`Opening::plaintext_len`] bytes. Returns the plaintext's length. What was put there before an error is to be wiped.
    ///
    /// # Errors
    /// As [`super::decrypt_with_format`]; [`Error::Stopped`] if the observer stopped it.
    pub fn open<S: Source>(
        &self,
        source: &S,
        output: &mut [S::Byte],
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<usize, Error> {
        let (layout, len) = (*self.stream.layout(), source.len() as u64);
        let begin = |index| layout.plaintext_offset(index);
        let work = |run: &Run, output: &mut [S::Byte], scratch: &mut Vec<u8>| {
            let bytes = layout.ciphertext_range(&run.segments, len);
            let lead = segments::lead(&self.stream, run.segments.start);
            let from = offset_in(bytes.start, lead as u64);
            let count = offset_in(bytes.end, from as u64);
            if scratch.len() < count {
                // Never made longer: that would leave plaintext behind in memory.
                scratch.zeroize();
                *scratch = vec![0; count];
            }
            let buffer = &mut scratch[..count];
            source.copy(from, buffer);
            let plaintext = segments::open(&self.stream, run, buffer).whole()?;
            S::put(&mut output[..plaintext.len()], &buffer[plaintext.clone()]);
            Ok(plaintext.len())
        };
        let todo = Todo { segments: 0..self.segments, output };
        in_pieces(&self.stream, todo, &begin, segments_at_once(&layout), threads, observer, &work)
    }
}

fn segments_at_once(layout: &Layout) -> u64 {
    (PIECE_LEN as u64 / u64::from(layout.segment)).max(1)
}

/// Segments that are to be done, and their place in the output.
struct Todo<'o, B> {
    segments: Range<u64>,
    output: &'o mut [B],
}

impl<'o, B> Todo<'o, B> {
    /// Takes some from the front. `begin`: where a segment begins in the output.
    fn take(&mut self, at_once: u64, begin: &dyn Fn(u64) -> u64) -> Option<Todo<'o, B>> {
        let Range { start, end } = self.segments;
        let next = end.min(start.saturating_add(at_once));
        let len = if next == end { self.output.len() } else { offset_in(begin(next), begin(start)) };
        let (output, rest) = mem::take(&mut self.output).split_at_mut(len);
        (self.segments.start, self.output) = (next, rest);
        (start < end).then_some(Todo { segments: start..next, output })
    }
}

/// Seals or opens one run, with a buffer that is wiped in the end. Returns the plaintext's length.
type OneRun<'w, B> = dyn Fn(&Run, &mut [B], &mut Vec<u8>) -> Result<usize, Error> + Sync + 'w;

/// Does all segments on several threads, this one among them. Ends early if a piece fails or the observer stops it.
///
/// A thread takes `at_once` segments as a piece, and works on one segment after the other, so that it stays in the cache; virtual
/// segments are done together. Returns the plaintext's length, or the error of the first piece that failed: only the first
/// segment shows whether the key is wrong or the bytes are damaged.
fn in_pieces<B: Send>(
    stream: &Stream,
    todo: Todo<'_, B>,
    begin: &(dyn Fn(u64) -> u64 + Sync),
    at_once: u64,
    threads: usize,
    observer: &dyn Observer,
    work: &OneRun<'_, B>,
) -> Result<usize, Error> {
    let all = todo.segments.end;
    let step = if stream.is_seamless() { at_once } else { 1 };
    let threads = threads.min(usize::try_from(all.div_ceil(at_once)).unwrap_or(usize::MAX));
    let queue = Mutex::new(todo);
    let done: Mutex<Result<usize, (u64, Error)>> = Mutex::new(Ok(0));
    let do_piece = |mut piece: Todo<'_, B>, scratch: &mut Vec<u8>| {
        let mut len = 0;
        while let Some(part) = piece.take(step, begin) {
            len += work(&Run::of(part.segments, all), part.output, scratch)?;
        }
        observer.advanced(len as u64);
        Ok(len)
    };
    let workers = Workers::new(threads, observer);
    workers.run(&|| {
        let mut scratch = Zeroizing::new(Vec::new());
        while lock(&done).is_ok() {
            let Some(piece) = lock(&queue).take(at_once, begin) else { return };
            let first = piece.segments.start;
            let result =
                if workers.is_stopped() { Err(Error::Stopped) } else { do_piece(piece, &mut scratch) };
            let mut done = lock(&done);
            match (result, &mut *done) {
                (Ok(len), Ok(sum)) => *sum += len,
                (Ok(_), Err(_)) => {}
                (Err(_), Err((earlier, _))) if *earlier < first => {}
                (Err(error), so_far) => *so_far = Err((first, error)),
            }
        }
    })?;
    done.into_inner().unwrap_or_else(PoisonError::into_inner).map_err(|(_, error)| error)
}
