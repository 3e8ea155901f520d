//! A single stream of unknown length, from a pipe to a pipe: segment by segment, in order, in one thread (a pipe is
//! slower than one core's cipher).
//!
//! When decrypting, a segment's plaintext goes out as soon as that segment is authentic; that the stream is whole is
//! known only at its end. An error there means that what came out must not be used.

use super::buffers::Buffer;
use super::job::Work;
use crate::Error;
use crate::format::{Format, LastSegment, Stream};
use crate::report::{Observer, Summary};
use std::io::{Read, Write};
use std::time::Instant;

/// Translates `source` to `sink` as `work` says. Verifying writes nothing.
///
/// # Errors
/// At the first error of reading, of the cipher or of writing; what was written before stands. [`Error::Stopped`] if
/// the observer stopped it.
pub fn translate_stream(
    work: Work<'_>,
    associated_data: &[u8],
    source: &mut dyn Read,
    sink: &mut dyn Write,
    observer: &dyn Observer,
) -> Result<Summary, Error> {
    let start = Instant::now();
    let (mut bytes, mut output_bytes) = (0, 0);
    let mut pass = |read: usize, output: &[u8]| {
        bytes += read as u64;
        output_bytes += output.len() as u64;
        observer.advanced(read as u64);
        if observer.is_stopped() {
            return Err(Error::Stopped);
        }
        if matches!(work, Work::Verify(_)) {
            return Ok(());
        }
        sink.write_all(output).map_err(|error| Error::io("write the output", error))
    };
    match work {
        Work::Encrypt(format) => seal(format, associated_data, source, &mut pass)?,
        Work::Decrypt(format) | Work::Verify(format) => open(format, associated_data, source, &mut pass)?,
        Work::Rekey { from, to } => {
            let mut sealer = Sealer::begin(to, associated_data)?;
            open(from, associated_data, source, &mut |read, plaintext| {
                sealer.push(read, plaintext, &mut pass)
            })?;
            sealer.finish(&mut pass)?;
        }
        Work::Copy => copy(source, &mut pass)?,
    }
    sink.flush().map_err(|error| Error::io("write the output", error))?;
    Ok(Summary {
        files: 1,
        bytes,
        output_bytes,
        seconds: start.elapsed().as_secs_f64(),
        ..Summary::default()
    })
}

/// Takes the number of source bytes that are through and the output that they gave.
type Pass<'p> = dyn FnMut(usize, &[u8]) -> Result<(), Error> + 'p;

fn copy(source: &mut dyn Read, pass: &mut Pass<'_>) -> Result<(), Error> {
    let mut buffer = vec![0; crate::plan::RUN_LEN];
    loop {
        let len = fill(source, &mut buffer)?;
        pass(len, &buffer[..len])?;
        if len < buffer.len() {
            return Ok(());
        }
    }
}

fn seal(
    format: &Format,
    associated_data: &[u8],
    source: &mut dyn Read,
    pass: &mut Pass<'_>,
) -> Result<(), Error> {
    let mut sealer = Sealer::begin(format, associated_data)?;
    let mut buffer = Buffer::new(crate::plan::RUN_LEN);
    loop {
        let buffer = buffer.first(crate::plan::RUN_LEN)?;
        let len = fill(source, buffer)?;
        sealer.push(len, &buffer[..len], pass)?;
        if len < buffer.len() {
            return sealer.finish(pass);
        }
    }
}

/// Gathers plaintext into segments. A full segment is held back until it is known whether it is the last.
struct Sealer {
    stream: Stream,
    header: Vec<u8>,
    segment: Buffer,
    filled: usize,
    index: u64,
    /// Source bytes that the held segment stands for and that have not been passed on.
    unpassed: usize,
    chain: Option<[u8; 16]>,
}

impl Sealer {
    fn begin(format: &Format, associated_data: &[u8]) -> Result<Sealer, Error> {
        let layout = format.layout();
        let mut header = vec![0; layout.header as usize];
        let stream = format.seal_stream(associated_data, &mut header)?;
        let chain = stream.chain().map(|(_, iv)| iv);
        let segment = Buffer::new(layout.segment as usize + 16);
        Ok(Sealer { stream, header, segment, filled: 0, index: 0, unpassed: 0, chain })
    }

    /// Plaintext bytes of a full segment at the current index.
    fn capacity(&self) -> usize {
        let layout = self.stream.layout();
        let deficit = if self.index == 0 { layout.first_deficit } else { 0 };
        (layout.segment - layout.overhead - deficit) as usize
    }

    fn push(&mut self, read: usize, mut plaintext: &[u8], pass: &mut Pass<'_>) -> Result<(), Error> {
        self.unpassed += read;
        while !plaintext.is_empty() {
            if self.filled == self.capacity() {
                self.emit(false, pass)?;
            }
            let count = plaintext.len().min(self.capacity() - self.filled);
            self.segment.first(self.filled + count)?[self.filled..].copy_from_slice(&plaintext[..count]);
            self.filled += count;
            plaintext = &plaintext[count..];
        }
        Ok(())
    }

    fn finish(mut self, pass: &mut Pass<'_>) -> Result<(), Error> {
        let needs_more = match self.stream.layout().last {
            LastSegment::AlwaysShort | LastSegment::Padded => self.filled == self.capacity(),
            LastSegment::MayBeFull => false,
        };
        if needs_more {
            self.emit(false, pass)?;
        }
        self.emit(true, pass)
    }

    fn emit(&mut self, last: bool, pass: &mut Pass<'_>) -> Result<(), Error> {
        if self.index == 0 {
            pass(0, &self.header)?;
        }
        let overhead = self.stream.layout().overhead as usize;
        let padding = if self.chain.is_some() && last { 16 - self.filled % 16 } else { 0 };
        let buffer = self.segment.first(self.filled + overhead + padding)?;
        match (&mut self.chain, self.stream.chain()) {
            (Some(chain), Some((aes, _))) => {
                buffer[self.filled..].fill(u8::try_from(padding).expect("at most a block"));
                aes.cbc_encrypt(chain, buffer);
            }
            _ => self.stream.seal_segment(self.index, last, buffer)?,
        }
        pass(std::mem::take(&mut self.unpassed), buffer)?;
        self.index += 1;
        self.filled = 0;
        Ok(())
    }
}

fn open(
    format: &Format,
    associated_data: &[u8],
    source: &mut dyn Read,
    pass: &mut Pass<'_>,
) -> Result<(), Error> {
    let segment_len = format.largest_segment() as usize;
    let head_len = format.head_len().max(segment_len);
    let mut buffer = Buffer::new(head_len + segment_len + 16);
    // `filled` bytes are in the buffer; one byte beyond a segment tells that it is not the last.
    let mut filled = fill_up(source, &mut buffer, 0, head_len + 1)?;
    let head = buffer.first(filled.min(head_len))?;
    // Keys are tried on a copy of the first segment, of which no more than this is there.
    let mut scratch = Buffer::new(head.len());
    let scratch = scratch.first(head.len())?;
    let stream = format.open_stream(associated_data, head, filled <= head_len, scratch)?;
    let layout = *stream.layout();
    let mut start = layout.header as usize;
    let mut read = start.min(filled);
    let mut before: Option<[u8; 16]> = None;
    for index in 0.. {
        let deficit = if index == 0 { layout.first_deficit } else { 0 };
        let full = (layout.segment - deficit) as usize;
        if filled < start + full + 1 {
            let end = filled.max(start);
            buffer.first(end)?.copy_within(start..end, 0);
            filled = fill_up(source, &mut buffer, end - start, full + 1)?;
            start = 0;
        }
        let is_last = match layout.last {
            LastSegment::AlwaysShort => filled - start < full,
            LastSegment::MayBeFull | LastSegment::Padded => filled - start <= full,
        };
        let len = full.min(filled - start);
        let ciphertext = &mut buffer.first(start + len)?[start..];
        let following = ciphertext.last_chunk().copied();
        let count = stream.open_segment(index, is_last, before.as_ref().filter(|_| index > 0), ciphertext)?;
        before = following;
        read += len;
        pass(std::mem::take(&mut read), &ciphertext[..count])?;
        start += len;
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Reads behind the `filled` bytes in `buffer`, until there are `wanted` bytes or the source ends; returns how many there are.
/// Takes memory as the source gives bytes: a segment may be far larger than the stream.
fn fill_up(
    source: &mut dyn Read,
    buffer: &mut Buffer,
    mut filled: usize,
    wanted: usize,
) -> Result<usize, Error> {
    while filled < wanted {
        let end = wanted.min(filled.max(crate::plan::RUN_LEN) * 2);
        let count = fill(source, &mut buffer.first(end)?[filled..])?;
        filled += count;
        if filled < end {
            break;
        }
    }
    Ok(filled)
}

/// Reads until `buffer` is full or the source ends.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < buffer.len() {
        match source.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("read the source", error)),
        }
    }
    Ok(filled)
}
