//! Decryption as a reader.

use super::{from_io, into_io, read_once, tink};
use crate::Error;
use crate::format::{Form, Format, Stream};
use crate::key::Keyset;
use crate::plan::RUN_LEN;
use crate::segments::{self, AROUND, Buffer, Run, offset_in};
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

/// Decrypts what another reader gives.
///
/// A byte comes out only when its segment is authentic. The end ([`Read::read`] gives 0) comes only when the last segment is:
/// up to then the stream may prove truncated, so what came out is to be used only as far as that does no harm. Damage and
/// truncation are errors of the kind [`io::ErrorKind::InvalidData`], with the [`Error`] inside.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::stream::{self, Decryptor};
/// use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keyset = Keyset::generate(Template::default())?;
/// let sealed = stream::encrypt(b"It was a bright cold day in April", &keyset, b"")?;
///
/// let mut decryptor = Decryptor::new(Cursor::new(&sealed), &keyset, b"")?;
/// assert_eq!(decryptor.len()?, 33);
/// decryptor.seek(SeekFrom::Start(9))?;
/// let mut word = [0; 6];
/// decryptor.read_exact(&mut word)?;
/// assert_eq!(&word, b"bright");
///
/// let cut = &sealed[..sealed.len() - 1];
/// let error = Decryptor::new(cut, &keyset, b"")?.read_to_end(&mut Vec::new()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidData);
/// # Ok(())
/// # }
/// ```
///
/// Where the source seeks, so does the decryptor. [`Decryptor::len`] or the first seek authenticates the last segment and
/// with it the length, so a truncated stream fails before anything is read from its middle. A read decrypts the segments
/// that it touches; further reads behind it decrypt ahead, in runs that grow to about a mebibyte.
#[derive(Debug)]
pub struct Decryptor<R> {
    source: R,
    stream: Stream,
    /// Plaintext of the run that was opened last, and behind it ciphertext that was read beyond.
    buffer: Buffer,
    /// Where the plaintext is, and where what is left of it begins.
    opened: Range<usize>,
    next: usize,
    /// Where the ciphertext is.
    beyond: Range<usize>,
    /// The plaintext position of `next`.
    position: u64,
    /// The segment that `beyond` begins with.
    first: u64,
    /// The ciphertext block in front of that segment.
    before: [u8; 16],
    /// How many segments are read at once.
    ahead: u64,
    state: State,
    /// Bytes of the source that were read before anything was sought.
    taken: u64,
    /// Where the stream begins in its source: known when first sought.
    begin: Option<u64>,
    /// The plaintext's length, once the last segment was authentic.
    len: Option<u64>,
}

#[derive(Debug)]
enum State {
    /// There is more to open.
    Open,
    /// The next segment failed; what was opened before it is still to be given out.
    Failing(Error),
    /// That error was returned.
    Failed,
    /// The last segment is open.
    Ended,
}

impl<R: Read> Decryptor<R> {
    /// Reads the beginning of a stream in Tink's format, and finds the key of the keyset that opens it.
    ///
    /// # Errors
    /// If the source cannot be read, is no such stream, or no key opens it, as far as its beginning shows. As
    /// [`Format::tink`].
    pub fn new(source: R, keyset: &Keyset, associated_data: &[u8]) -> Result<Self, Error> {
        Self::with_format(source, &tink(keyset)?, associated_data)
    }

    /// Reads the beginning of a stream in any format.
    ///
    /// # Errors
    /// If the source cannot be read, is not in this format, or no key opens it, as far as its beginning shows.
    pub fn with_format(mut source: R, format: &Format, associated_data: &[u8]) -> Result<Self, Error> {
        let mut buffer = Buffer::new(RUN_LEN.max(format.largest_segment() as usize) + AROUND);
        let (mut filled, mut head_len) = (0, 0);
        let is_all = loop {
            let wanted = format.head_len(&buffer.first(filled)?[..filled.min(head_len)]);
            if wanted == head_len && head_len > 0 {
                break false;
            }
            head_len = wanted;
            // One byte more shows whether this is all.
            if fill(&mut source, &mut buffer, &mut filled, head_len + 1..head_len + 1)? {
                break true;
            }
        };
        let head = &buffer.first(filled)?[..filled.min(head_len)];
        // Keys are tried on a copy of the first segment, of which no more than this is there.
        let mut scratch = Buffer::new(head.len());
        let scratch = scratch.first(head.len())?;
        let stream = format.open_stream(associated_data, head, is_all && filled <= head_len, scratch)?;
        let stream = stream.with_explanations();
        let header = stream.layout().header as usize;
        let ahead = segments_ahead(&stream);
        Ok(Self {
            source,
            stream,
            buffer,
            opened: 0..0,
            next: 0,
            beyond: header..filled,
            position: 0,
            first: 0,
            before: [0; 16],
            ahead,
            state: State::Open,
            taken: filled as u64,
            begin: None,
            len: None,
        })
    }

    /// Opens the next run of segments.
    fn open_run(&mut self) -> Result<(), Error> {
        let layout = *self.stream.layout();
        let lead = segments::lead(&self.stream, self.first);
        let start = layout.ciphertext_offset(self.first);
        let len = |segments| offset_in(layout.ciphertext_offset(self.first + segments), start);
        // To the front of the buffer, behind the block that a chain needs.
        let present = self.buffer.first(self.beyond.end.max(lead + self.beyond.len()))?;
        present.copy_within(self.beyond.clone(), lead);
        if let Some(block) = present[..lead].first_chunk_mut() {
            *block = self.before;
        }
        (self.opened, self.next, self.beyond) = (0..0, 0, lead..lead + self.beyond.len());
        // One byte more shows that a segment is not the last.
        let wanted = lead + len(1) + 1..lead + len(self.ahead) + 1;
        let present = self.beyond.end;
        let filled = fill(&mut self.source, &mut self.buffer, &mut self.beyond.end, wanted);
        self.taken += (self.beyond.end - present) as u64;
        let is_all = filled?;
        let run = Run::in_bytes(&layout, self.first, self.beyond.len(), Form::Ciphertext, is_all);
        let next = run.segments.end;
        let end = if is_all { self.beyond.end } else { lead + len(next - self.first) };
        let buffer = self.buffer.first(end)?;
        if let Some(block) = buffer.last_chunk() {
            self.before = *block;
        }
        let opened = segments::open(&self.stream, &run, buffer);
        // After a seek it is not the first byte that is wanted.
        let skipped = self.position.saturating_sub(layout.plaintext_offset(self.first));
        self.next = opened.plaintext.start
            + opened.plaintext.len().min(usize::try_from(skipped).unwrap_or(usize::MAX));
        (self.opened, self.beyond.start, self.first) = (opened.plaintext, end, next);
        self.ahead = segments_ahead(&self.stream).min(2 * self.ahead);
        self.state = match opened.fault {
            Some(error) => State::Failing(error),
            None if is_all => State::Ended,
            None => State::Open,
        };
        Ok(())
    }

    /// The error that comes instead of more plaintext.
    fn failure(&mut self) -> Error {
        match std::mem::replace(&mut self.state, State::Failed) {
            State::Failing(error) => error,
            _ => Error::io(
                "read on",
                io::Error::new(io::ErrorKind::InvalidData, "the stream has failed before"),
            ),
        }
    }
}

impl<R: Read> BufRead for Decryptor<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.next == self.opened.end {
            match self.state {
                State::Open => self.open_run().map_err(into_io)?,
                State::Ended => return Ok(&[]),
                State::Failing(_) | State::Failed => return Err(into_io(self.failure())),
            }
        }
        let bytes = self.buffer.first(self.opened.end).map_err(into_io)?;
        Ok(&bytes[self.next..])
    }

    fn consume(&mut self, count: usize) {
        let count = count.min(self.opened.end - self.next);
        self.next += count;
        self.position += count as u64;
    }
}

impl<R: Read> Read for Decryptor<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(target.len());
        target[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: Read + Seek> Decryptor<R> {
    /// Length of the plaintext in bytes. Asked for the first time, it authenticates the last segment, so that a truncated
    /// stream has no length.
    ///
    /// # Errors
    /// If the source cannot be read or sought, or the last segment is not authentic. Nothing can be read then.
    #[expect(clippy::len_without_is_empty, reason = "a length that has to be authenticated first")]
    pub fn len(&mut self) -> Result<u64, Error> {
        if let Some(len) = self.len {
            return Ok(len);
        }
        self.measure().inspect_err(|_| (self.opened, self.next, self.state) = (0..0, 0, State::Failed))
    }

    fn measure(&mut self) -> Result<u64, Error> {
        let layout = *self.stream.layout();
        let begin = match self.begin {
            Some(begin) => begin,
            None => self.source.stream_position().map_err(seeking)?.saturating_sub(self.taken),
        };
        self.begin = Some(begin);
        let end = self.source.seek(SeekFrom::End(0)).map_err(seeking)?;
        let last = layout.segments_of_ciphertext(end.saturating_sub(begin))? - 1;
        let position = self.position;
        self.restart(begin, last)?;
        self.position = layout.plaintext_offset(last);
        self.open_run()?;
        match self.state {
            State::Ended => {}
            State::Open => return Err(Error::SourceChanged),
            State::Failing(_) | State::Failed => return Err(self.failure()),
        }
        let len = self.position + self.opened.len() as u64;
        self.len = Some(len);
        self.move_to(position, begin, len)?;
        Ok(len)
    }

    fn move_to(&mut self, target: u64, begin: u64, len: u64) -> Result<(), Error> {
        let opened_at = self.position - (self.next - self.opened.start) as u64;
        if (opened_at..opened_at + self.opened.len() as u64).contains(&target) {
            self.next = self.opened.start + offset_in(target, opened_at);
        } else if target >= len {
            (self.opened, self.next, self.state) = (0..0, 0, State::Ended);
        } else if target != self.position {
            self.restart(begin, self.stream.layout().segment_at(target))?;
        }
        self.position = target;
        Ok(())
    }

    /// Puts the source in front of a segment.
    fn restart(&mut self, begin: u64, segment: u64) -> Result<(), Error> {
        let block = if segment == 0 { 0 } else { segments::lead(&self.stream, segment) };
        let offset = begin + self.stream.layout().ciphertext_offset(segment) - block as u64;
        self.source.seek(SeekFrom::Start(offset)).map_err(seeking)?;
        self.source
            .read_exact(&mut self.before[..block])
            .map_err(|error| from_io("read the source", error))?;
        (self.opened, self.next, self.beyond) = (0..0, 0, 0..0);
        (self.first, self.ahead, self.state) = (segment, 1, State::Open);
        Ok(())
    }
}

impl<R: Read + Seek> Seek for Decryptor<R> {
    /// Moves to a position in the plaintext, which may lie behind its end.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let len = self.len().map_err(into_io)?;
        let begin = self.begin.expect("known with the length");
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => len.checked_add_signed(distance),
        };
        let target = target
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a position before the beginning"))?;
        self.move_to(target, begin, len).map_err(into_io)?;
        Ok(target)
    }
}

/// How many segments are read at once, where the stream is read from front to back.
fn segments_ahead(stream: &Stream) -> u64 {
    (RUN_LEN as u64 / u64::from(stream.layout().segment)).max(1)
}

/// Reads behind the `filled` bytes in `buffer` until it has at least the least of `wanted`; at most the most. True if the
/// source ended before.
fn fill(
    source: &mut impl Read,
    buffer: &mut Buffer,
    filled: &mut usize,
    wanted: Range<usize>,
) -> Result<bool, Error> {
    while *filled < wanted.start {
        let end = buffer.growth(*filled, wanted.end);
        match read_once(source, &mut buffer.first(end)?[*filled..])? {
            0 => return Ok(true),
            count => *filled += count,
        }
    }
    Ok(false)
}

fn seeking(error: io::Error) -> Error {
    from_io("find a place in the source", error)
}
