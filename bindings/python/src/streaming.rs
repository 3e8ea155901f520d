//! `StreamingAead`: Tink Streaming AEAD over bytes in memory, on several cores where that pays.
//!
//! ```text
//! lent buffer   |  piece 0  |  piece 1  |  piece 2  | ...       a piece: segments of about a mebibyte together
//!                   | copied, sealed (or opened) in place       one atomic step takes the next piece
//! bytes object  | header | piece 0 | piece 1 | piece 2 | ...
//! ```
//!
//! Each segment is copied once, into the result or through a scratch buffer of one segment, and worked on while it is
//! in the core's cache.

use crate::buffer::Lent;
use crate::errors::exception;
use crate::fresh;
use crate::keyset::Keyset;
use crate::machine;
use crate::watch::Watch;
use cipherloom::format::{Layout, Stream};
use cipherloom::plan::CipherCost;
use cipherloom::{Error, Format, Machine, Observer, Operation, Plan, Request};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::mem::MaybeUninit;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::{Zeroize, Zeroizing};

/// Bytes that a thread takes at a time, if segments allow.
const PIECE_LEN: u32 = 1 << 20;

/// Encrypts and decrypts bytes in memory with a keyset, as Tink's primitive of this name does with streams.
#[pyclass(frozen, module = "cipherloom")]
pub(crate) struct StreamingAead {
    format: Arc<Format>,
    machine: Machine,
    threads: Option<NonZeroUsize>,
}

#[pymethods]
impl StreamingAead {
    #[new]
    #[pyo3(signature = (key, *, threads = None))]
    fn new(py: Python<'_>, key: &Keyset, threads: Option<NonZeroUsize>) -> PyResult<StreamingAead> {
        Ok(StreamingAead { format: Arc::clone(key.format()), machine: machine::detect(py)?, threads })
    }

    /// The ciphertext of `data`, bound to the associated data.
    #[pyo3(signature = (data, aad = None))]
    #[expect(unsafe_code, reason = "answers for all bytes of the result")]
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        aad: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, aad) = lent(data, aad)?;
        let layout = self.format.layout();
        let len = layout.ciphertext_len(data.len() as u64);
        let threads = self.threads(Operation::Encrypt, data.len());
        let fill = |output: &mut [MaybeUninit<u8>]| {
            let watch = Watch::new(None);
            let sealed = watch.during(py, || seal(&self.format, &aad, &data, output, threads, &watch))?;
            sealed.map_err(|error| exception(&error, None))
        };
        // SAFETY: without an error every piece was sealed into its place, and the pieces and the header are all of it.
        unsafe { fresh::bytes(py, length(len), fill) }
    }

    /// The plaintext of `data`; all of it is authentic, or there is none.
    #[pyo3(signature = (data, aad = None))]
    #[expect(unsafe_code, reason = "answers for all bytes of the result")]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        data: &Bound<'py, PyAny>,
        aad: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (data, aad) = lent(data, aad)?;
        let stream = open_stream(&self.format, &aad, &data).map_err(|error| exception(&error, None))?;
        let len = stream.layout().plaintext_len(data.len() as u64);
        let len = len.map_err(|error| exception(&error, None))?;
        let threads = self.threads(Operation::Decrypt, data.len());
        let fill = |output: &mut [MaybeUninit<u8>]| {
            let watch = Watch::new(None);
            let opened = watch.during(py, || open(&stream, &data, output, threads, &watch));
            let opened = opened.and_then(|opened| opened.map_err(|error| exception(&error, None)));
            // Segments that were authentic by themselves are not to be found in freed memory.
            opened.inspect_err(|_| output.zeroize())
        };
        // SAFETY: without an error every piece was opened into its place, and the pieces are all of it.
        unsafe { fresh::bytes(py, length(len), fill) }
    }

    fn __repr__(&self) -> &'static str {
        "<cipherloom.StreamingAead>"
    }
}

impl StreamingAead {
    /// How many threads pay for so many bytes: the planner's word, as for a file of that size.
    fn threads(&self, operation: Operation, len: usize) -> usize {
        if len <= PIECE_LEN as usize {
            return 1;
        }
        let request = Request {
            operation,
            threads: self.threads,
            backend: self.machine.backend,
            cipher: CipherCost::of(&self.format),
            key_iterations: 0,
            largest_segment: self.format.largest_segment() as usize,
            open_files: self.machine.open_files,
        };
        Plan::new(&[len as u64], &self.machine, &request).threads()
    }
}

fn lent(data: &Bound<'_, PyAny>, aad: Option<&Bound<'_, PyAny>>) -> PyResult<(Lent, Vec<u8>)> {
    let aad = aad.map(|aad| Ok::<_, PyErr>(Lent::get(aad)?.to_vec())).transpose()?.unwrap_or_default();
    Ok((Lent::get(data)?, aad))
}

/// A length that Python's allocator refuses if there is not so much memory.
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(isize::MAX as usize)
}

fn seal(
    format: &Format,
    aad: &[u8],
    data: &Lent,
    output: &mut [MaybeUninit<u8>],
    threads: usize,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    let layout = format.layout();
    let len = data.len() as u64;
    let (header, body) = output.split_at_mut(layout.header as usize);
    let mut header_bytes = vec![0; header.len()];
    let stream = format.seal_stream(aad, &mut header_bytes)?;
    header.write_copy_of_slice(&header_bytes);
    let place = |index| layout.segment(index, len).ciphertext_offset - u64::from(layout.header);
    let pieces = cut(&layout, layout.segments(len), body, &place);
    in_parallel(pieces, threads, watch, &|piece: Piece<'_>| {
        let mut rest = piece.output;
        for index in piece.segments {
            let segment = layout.segment(index, len);
            let (buffer, after) = rest.split_at_mut(segment.ciphertext_len as usize);
            let len = segment.plaintext_len as usize;
            let buffer = fresh::written(buffer, data, segment.plaintext_offset as usize, len);
            stream.seal_segment(index, segment.last, buffer)?;
            rest = after;
        }
        Ok(())
    })
}

fn open_stream(format: &Format, aad: &[u8], data: &Lent) -> Result<Stream, Error> {
    let len = format.head_len().min(data.len());
    let mut head = vec![0; len];
    data.copy_to(0, &mut head);
    // With several keys the right one is found on a copy of the first segment.
    let tries = format.head_len() > format.layout().header as usize;
    let mut scratch = Zeroizing::new(vec![0; if tries { len } else { 0 }]);
    format.open_stream(aad, &head, len == data.len(), &mut scratch)
}

fn open(
    stream: &Stream,
    data: &Lent,
    output: &mut [MaybeUninit<u8>],
    threads: usize,
    watch: &Watch<'_>,
) -> Result<(), Error> {
    let layout = *stream.layout();
    let len = data.len() as u64;
    let segments = layout.segments_of_ciphertext(len)?;
    let total = output.len() as u64;
    let place = |index| layout.segment(index, total).plaintext_offset;
    in_parallel(cut(&layout, segments, output, &place), threads, watch, &|piece: Piece<'_>| {
        let mut scratch = Zeroizing::new(vec![0; (layout.segment as usize).min(data.len())]);
        let mut rest = piece.output;
        for index in piece.segments {
            let segment = layout.ciphertext_segment(index, len)?;
            let buffer = &mut scratch[..segment.ciphertext_len as usize];
            data.copy_to(segment.ciphertext_offset as usize, buffer);
            let count = stream.open_segment(index, segment.last, None, buffer)?;
            let (plaintext, after) = rest.split_at_mut(count);
            plaintext.write_copy_of_slice(&buffer[..count]);
            rest = after;
        }
        Ok(())
    })
}

/// What a thread takes at a time: some segments, and their place in the result.
struct Piece<'o> {
    segments: Range<u64>,
    output: &'o mut [MaybeUninit<u8>],
}

/// Cuts the result between segments. `place`: where a segment begins in it.
fn cut<'o>(
    layout: &Layout,
    segments: u64,
    mut output: &'o mut [MaybeUninit<u8>],
    place: &dyn Fn(u64) -> u64,
) -> Vec<Piece<'o>> {
    let step = u64::from((PIECE_LEN / layout.segment).max(1));
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < segments {
        let end = segments.min(start + step);
        let len = match end == segments {
            true => output.len(),
            false => (place(end) - place(start)) as usize,
        };
        let (piece, rest) = output.split_at_mut(len);
        pieces.push(Piece { segments: start..end, output: piece });
        (output, start) = (rest, end);
    }
    pieces
}

/// Does all pieces, this thread among the workers; ends early if one fails or the watch says stop. Of several failures
/// the first piece's is told: only the first segment can tell a wrong key from damage.
fn in_parallel(
    pieces: Vec<Piece<'_>>,
    threads: usize,
    watch: &Watch<'_>,
    work: &(dyn Fn(Piece<'_>) -> Result<(), Error> + Sync),
) -> Result<(), Error> {
    let threads = threads.min(pieces.len());
    let queue = Mutex::new(pieces.into_iter());
    let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
    let is_over = AtomicBool::new(false);
    let worker = || {
        while !is_over.load(Ordering::Relaxed) {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(piece) = next else { return };
            let first = piece.segments.start;
            let done = if watch.is_stopped() { Err(Error::Stopped) } else { work(piece) };
            if let Err(error) = done {
                is_over.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(earlier, _)| first < *earlier) {
                    *failed = Some((first, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // A system that refuses another thread gets its work done by those that are there.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}
