//! The segment walker: seals and opens consecutive segments of a stream in one buffer.
//!
//! ```text
//! open    | lead | segment 5 | segment 6 | segment 7 |      lead: the header, or the block before (CBC)
//!         | lead | plaintext             |
//! seal    | plaintext             | room      |
//!         | segment 5 | segment 6 | segment 7 |
//! ```
//!
//! Files, parts of files, pipes, objects and memory all pass through [`seal`] and [`open`]; what they add is where bytes
//! come from and where they go. A [`Run`] says which segments a buffer holds, and whether the last of them ends the
//! stream. Whoever knows the stream's length makes it with [`Run::of`]. Whoever does not reads on until something follows
//! the run's last segment or nothing more comes, and makes it with [`Run::in_bytes`].

mod buffer;

pub(crate) use buffer::{Buffer, no_memory};

use crate::Error;
use crate::format::{
    Form, Format, LastSegment, Layout, Predecessor, SHORT_HEADER, Stream, StreamHeader, pad,
};
use std::fmt;
use std::ops::Range;

/// Bytes that a buffer needs beyond a run's ciphertext: a header or a block in front, padding, and one byte that shows
/// whether more follows. For a longer header the buffer grows.
pub(crate) const AROUND: usize = SHORT_HEADER + 2 * BLOCK;

/// Bytes of an AES block, to which CBC pads.
const BLOCK: usize = 16;

/// Consecutive segments of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) segments: Range<u64>,
    /// Whether the last of them is the stream's last.
    pub(crate) ends: bool,
}

impl Run {
    /// These segments, of a stream that has `all` of them.
    pub(crate) fn of(segments: Range<u64>, all: u64) -> Run {
        let ends = segments.end == all;
        Run { segments, ends }
    }

    /// The segments in `len` bytes from segment `first` on. If the stream ends with these bytes: all segments. If not:
    /// those that are followed by another, whatever comes; the bytes behind them are to be shown again with more.
    pub(crate) fn in_bytes(layout: &Layout, first: u64, len: usize, form: Form, ends: bool) -> Run {
        let before_last = layout.segments_before_last(first, len as u64, form);
        Run { segments: first..first + before_last + u64::from(ends), ends }
    }

    /// Length of the ciphertext that [`seal`] makes from `len` plaintext bytes.
    pub(crate) fn sealed_len(&self, layout: &Layout, len: usize) -> usize {
        if self.pads(layout) {
            return (len / BLOCK + 1) * BLOCK;
        }
        len + (self.segments.end - self.segments.start) as usize * layout.overhead as usize
    }

    fn pads(&self, layout: &Layout) -> bool {
        self.ends && layout.last == LastSegment::Padded
    }

    fn is_last(&self, index: u64) -> bool {
        self.ends && index + 1 == self.segments.end
    }
}

/// A stream that is being sealed, and its header.
pub(crate) struct Sealing {
    pub(crate) stream: Stream,
    header: StreamHeader,
}

impl Sealing {
    /// Begins a stream with fresh keys.
    pub(crate) fn begin(format: &Format, associated_data: &[u8]) -> Result<Sealing, Error> {
        Sealing::begin_after(format, associated_data, None)
    }

    /// As [`Sealing::begin`]; the stream takes the place of `predecessor`, if that is known.
    pub(crate) fn begin_after(
        format: &Format,
        associated_data: &[u8],
        predecessor: Option<&Predecessor>,
    ) -> Result<Sealing, Error> {
        let mut header = StreamHeader::new();
        let stream = format.seal_stream(associated_data, predecessor, &mut header)?;
        Ok(Sealing { stream, header })
    }

    /// What is written in front of the segment `first`: the header, if that is the first of all.
    pub(crate) fn lead(&self, first: u64) -> &[u8] {
        if first == 0 { self.header.bytes() } else { &[] }
    }
}

impl fmt::Debug for Sealing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stream.fmt(formatter)
    }
}

/// Bytes in front of the segment `first` that [`open`] needs to see: the header, or the block before (CBC).
pub(crate) fn lead(stream: &Stream, first: u64) -> usize {
    match first {
        0 => stream.layout().header as usize,
        _ if stream.chain().is_some() => BLOCK,
        _ => 0,
    }
}

/// Seals a run in place: the first `len` bytes of `buffer` are its plaintext. Returns the length of the ciphertext
/// ([`Run::sealed_len`]), for which `buffer` has room.
///
/// `before`: the last ciphertext block of the run in front, where the stream is a chain.
pub(crate) fn seal(
    stream: &Stream,
    run: &Run,
    before: Option<&[u8; BLOCK]>,
    buffer: &mut [u8],
    len: usize,
) -> Result<usize, Error> {
    let layout = stream.layout();
    let first = run.segments.start;
    if stream.is_seamless() {
        let len = if run.pads(layout) { pad(buffer, len) } else { len };
        stream.seal(first, run.ends, before, &mut buffer[..len])?;
        return Ok(len);
    }
    // From the last to the first: each makes room for the tags in front of it, and the first is not moved at all.
    let mut end = len;
    for index in run.segments.clone().rev() {
        let from = offset_in(layout.plaintext_offset(index), layout.plaintext_offset(first));
        let to = offset_in(layout.ciphertext_offset(index), layout.ciphertext_offset(first));
        if from != to {
            buffer.copy_within(from..end, to);
        }
        let segment = &mut buffer[to..to + (end - from) + layout.overhead as usize];
        stream.seal(index, run.is_last(index), None, segment)?;
        end = from;
    }
    Ok(run.sealed_len(layout, len))
}

/// What [`open`] made of a run.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Where the plaintext is in the buffer. All of it is authentic.
    pub(crate) plaintext: Range<usize>,
    /// Why the segment behind this plaintext did not open, or the last of it is not where it should be.
    pub(crate) fault: Option<Error>,
}

impl Opened {
    /// The plaintext of a run that opened to its end.
    pub(crate) fn whole(self) -> Result<Range<usize>, Error> {
        self.fault.map_or(Ok(self.plaintext), Err)
    }
}

/// Opens a run in place, up to the first segment that fails. `buffer` is all of the run's ciphertext, behind its [`lead`].
pub(crate) fn open(stream: &Stream, run: &Run, buffer: &mut [u8]) -> Opened {
    let layout = stream.layout();
    let first = run.segments.start;
    let lead = lead(stream, first);
    if stream.is_seamless() {
        let before = buffer[..lead].last_chunk().copied();
        return match stream.open(first, run.ends, before.as_ref(), &mut buffer[lead..]) {
            Ok(len) => Opened { plaintext: lead..lead + len, fault: None },
            Err(error) => Opened { plaintext: lead..lead, fault: Some(error) },
        };
    }
    let mut filled = lead;
    for index in run.segments.clone() {
        let from = lead + offset_in(layout.ciphertext_offset(index), layout.ciphertext_offset(first));
        let end = match index + 1 == run.segments.end {
            true => buffer.len(),
            false => lead + offset_in(layout.ciphertext_offset(index + 1), layout.ciphertext_offset(first)),
        };
        let (len, fault) = match stream.open(index, run.is_last(index), None, &mut buffer[from..end]) {
            Ok(len) => (len, None),
            Err(error) => (stream.authentic_len(&error, end - from), Some(error)),
        };
        if from != filled {
            buffer.copy_within(from..from + len, filled);
        }
        filled += len;
        if fault.is_some() {
            return Opened { plaintext: lead..filled, fault };
        }
    }
    Opened { plaintext: lead..filled, fault: None }
}

/// A place relative to a buffer's.
pub(crate) fn offset_in(offset: u64, start: u64) -> usize {
    usize::try_from(offset - start).expect("within one buffer")
}

#[cfg(test)]
mod tests;
