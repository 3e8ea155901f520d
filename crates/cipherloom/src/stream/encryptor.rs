//! Encryption as a writer.

use super::{from_io, into_io, read_once, tink};
use crate::Error;
use crate::format::{Form, Format};
use crate::key::Keyset;
use crate::plan::RUN_LEN;
use crate::segments::{self, AROUND, Buffer, Run, Sealing, offset_in};
use std::io::{self, Read, Write};

/// Encrypts what is written to it, and writes the ciphertext to another writer.
///
/// Segments are sealed in runs of about a mebibyte, so what is written appears behind it with a delay, and small writes
/// cost little. An encryptor that is dropped without [`Encryptor::finish`] leaves a truncated stream, which does not
/// decrypt.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::stream::{self, Encryptor};
/// use std::io::Write;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keyset = Keyset::generate(Template::default())?;
/// let mut encryptor = Encryptor::new(Vec::new(), &keyset, b"")?;
/// for chapter in 1..=3 {
///     writeln!(encryptor, "chapter {chapter}")?;
/// }
/// let sealed: Vec<u8> = encryptor.finish()?;
/// assert_eq!(**stream::decrypt(&sealed, &keyset, b"")?, *b"chapter 1\nchapter 2\nchapter 3\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Encryptor<W> {
    sink: W,
    sealing: Sealing,
    /// Room for the header, and behind it the plaintext from the segment `first` on.
    buffer: Buffer,
    filled: usize,
    first: u64,
    /// The last ciphertext block.
    before: Option<[u8; 16]>,
    /// Whether something was sealed that did not reach the sink.
    is_broken: bool,
}

impl<W: Write> Encryptor<W> {
    /// Begins a stream in Tink's format, under the keyset's primary key and bound to the associated data. Nothing is written
    /// yet.
    ///
    /// # Errors
    /// As [`Format::tink`]; [`Error::Random`] if the system gives no random bytes.
    pub fn new(sink: W, keyset: &Keyset, associated_data: &[u8]) -> Result<Self, Error> {
        Self::with_format(sink, &tink(keyset)?, associated_data)
    }

    /// Begins a stream in any format.
    ///
    /// # Errors
    /// [`Error::AssociatedDataUnsupported`] if there is associated data and the format cannot bind it; [`Error::Random`] if
    /// the system gives no random bytes.
    pub fn with_format(sink: W, format: &Format, associated_data: &[u8]) -> Result<Self, Error> {
        let sealing = Sealing::begin(format, associated_data)?;
        let buffer = Buffer::new(RUN_LEN.max(sealing.stream.layout().segment as usize) + AROUND);
        Ok(Self { sink, sealing, buffer, filled: 0, first: 0, before: None, is_broken: false })
    }

    /// Writes the end of the stream, flushes the writer behind it and hands it back.
    ///
    /// # Errors
    /// If writing fails now or has failed before; [`Error::TooManySegments`].
    pub fn finish(mut self) -> Result<W, Error> {
        self.seal(true)?;
        self.sink.flush().map_err(writing)?;
        Ok(self.sink)
    }

    /// Encrypts what one read from `source` gives; false at its end.
    pub(crate) fn read_from(&mut self, source: &mut impl Read) -> Result<bool, Error> {
        let count = read_once(source, self.room()?)?;
        self.filled += count;
        Ok(count > 0)
    }

    /// Where the next bytes of plaintext go; not empty. One byte more than whole segments shows that others follow these.
    fn room(&mut self) -> Result<&mut [u8], Error> {
        let room = self.make_room();
        // What was not taken may not be missing from a stream that looks complete.
        self.is_broken |= room.is_err();
        let (lead, end) = room?;
        Ok(&mut self.buffer.aligned_at(lead, lead + end)?[lead + self.filled..])
    }

    /// The header's length, and how much plaintext there is room for, with that in the buffer.
    fn make_room(&mut self) -> Result<(usize, usize), Error> {
        let layout = self.sealing.stream.layout();
        let segments = (RUN_LEN as u64 / u64::from(layout.segment)).max(1);
        let wanted =
            offset_in(layout.plaintext_offset(self.first + segments), layout.plaintext_offset(self.first))
                + 1;
        if self.filled == wanted {
            self.seal(false)?;
            return self.make_room();
        }
        let lead = self.sealing.lead(self.first).len();
        let end = self.buffer.growth(self.filled, wanted);
        self.buffer.aligned_at(lead, lead + end)?;
        Ok((lead, end))
    }

    /// Seals and writes what is in the buffer: all of it if the stream ends, else the segments that others follow.
    fn seal(&mut self, ends: bool) -> Result<(), Error> {
        if self.is_broken {
            return Err(writing(io::Error::other("an earlier write failed")));
        }
        self.is_broken = true;
        let layout = *self.sealing.stream.layout();
        let run = Run::in_bytes(&layout, self.first, self.filled, Form::Plaintext, ends);
        let next = run.segments.end;
        let header = self.sealing.lead(self.first);
        let len = match ends {
            true => self.filled,
            false => offset_in(layout.plaintext_offset(next), layout.plaintext_offset(self.first)),
        };
        let room = run.sealed_len(&layout, len).max(self.filled);
        let buffer = self.buffer.aligned_at(header.len(), header.len() + room)?;
        let (lead, body) = buffer.split_at_mut(header.len());
        lead.copy_from_slice(header);
        let held: Option<u8> = body[len..self.filled].first().copied();
        let sealed = segments::seal(&self.sealing.stream, &run, self.before.as_ref(), body, len)?;
        let sealed = header.len() + sealed;
        self.sink.write_all(&buffer[..sealed]).map_err(writing)?;
        self.is_broken = false;
        self.before = buffer[..sealed].last_chunk().copied();
        (self.first, self.filled) = (next, usize::from(held.is_some()));
        if let Some(held) = held {
            self.buffer.first(1)?[0] = held;
        }
        Ok(())
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let room = self.room().map_err(into_io)?;
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        Ok(count)
    }

    /// Flushes the writer behind this one. Plaintext that does not fill its run of segments stays here until more of it comes
    /// or the stream ends.
    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn writing(error: io::Error) -> Error {
    from_io("write the output", error)
}
