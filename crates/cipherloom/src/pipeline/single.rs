//! A single stream of unknown length, from a pipe to a pipe: in order, in one thread (a pipe is slower than one core's
//! cipher).
//!
//! When decrypting, plaintext goes out as soon as it is authentic; that the stream is whole is known only at its end. An
//! error there means that what came out must not be used.

use super::armor::remove_armor;
use super::job::Work;
use crate::Error;
use crate::age::ArmorWriter;
use crate::format::Format;
use crate::plan::RUN_LEN;
use crate::report::{Observer, Report};
use crate::stream::{Decryptor, Encryptor, from_io, into_io};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::Instant;

/// Translates `source` to `sink` as `work` says. Verifying writes nothing.
///
/// # Errors
/// At the first error of reading, of the cipher or of writing; what was written before stays. [`Error::Stopped`] if
/// the observer stopped it.
pub fn translate_stream(
    work: &Work,
    associated_data: &[u8],
    source: &mut dyn Read,
    sink: &mut dyn Write,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let start = Instant::now();
    let mut source = Watched { source, observer, bytes: 0 };
    let mut sink = Counted { sink: (!matches!(work, Work::Verify(_))).then_some(sink), bytes: 0 };
    match work {
        Work::Encrypt(format) => seal(format, associated_data, &mut sink, &mut |encryptor| {
            while encryptor.read_from(&mut source)? {}
            Ok(())
        })?,
        Work::Decrypt(format) | Work::Verify(format) => {
            let source = remove_armor(format, &mut source).map_err(reading)?;
            copy(&mut Decryptor::with_format(source, format, associated_data)?, &mut sink)?;
        }
        Work::Rekey { from, to } => {
            let source = remove_armor(from, &mut source).map_err(reading)?;
            let mut decryptor = Decryptor::with_format(source, from, associated_data)?;
            seal(to, associated_data, &mut sink, &mut |encryptor| copy(&mut decryptor, encryptor))?;
        }
        Work::Copy => copy(&mut BufReader::with_capacity(RUN_LEN, &mut source), &mut sink)?,
    }
    sink.flush().map_err(writing)?;
    let (bytes, output_bytes, seconds) = (source.bytes, sink.bytes, start.elapsed().as_secs_f64());
    Ok(Report { files: 1, bytes, output_bytes, seconds, ..Report::default() })
}

type Fill<'f> = dyn FnMut(&mut Encryptor<&mut dyn Write>) -> Result<(), Error> + 'f;

/// Encrypts what `fill` writes, into armor if the format asks for it.
fn seal(
    format: &Format,
    associated_data: &[u8],
    sink: &mut dyn Write,
    fill: &mut Fill<'_>,
) -> Result<(), Error> {
    if format.is_armored() {
        let mut armor = ArmorWriter::new(sink);
        seal_binary(format, associated_data, &mut armor, fill)?;
        return armor.finish().map(drop).map_err(writing);
    }
    seal_binary(format, associated_data, sink, fill)
}

fn seal_binary(
    format: &Format,
    associated_data: &[u8],
    sink: &mut dyn Write,
    fill: &mut Fill<'_>,
) -> Result<(), Error> {
    let mut encryptor = Encryptor::with_format(sink, format, associated_data)?;
    fill(&mut encryptor)?;
    encryptor.finish().map(drop)
}

fn copy(source: &mut dyn BufRead, sink: &mut dyn Write) -> Result<(), Error> {
    loop {
        let bytes = match source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.map_err(reading)?,
        };
        if bytes.is_empty() {
            return Ok(());
        }
        sink.write_all(bytes).map_err(writing)?;
        let count = bytes.len();
        source.consume(count);
    }
}

fn reading(error: io::Error) -> Error {
    from_io("read the source", error)
}

fn writing(error: io::Error) -> Error {
    from_io("write the output", error)
}

/// A source that reports its bytes to the observer, and fails once the observer has stopped the run.
struct Watched<'s> {
    source: &'s mut dyn Read,
    observer: &'s dyn Observer,
    bytes: u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.observer.is_stopped() {
            return Err(into_io(Error::Stopped));
        }
        let count = self.source.read(buffer)?;
        // Whoever stopped the run may also have ended the source, which then looks complete.
        if count == 0 && self.observer.is_stopped() {
            return Err(into_io(Error::Stopped));
        }
        self.observer.advanced(count as u64);
        self.bytes += count as u64;
        Ok(count)
    }
}

/// A sink, or none, and how many bytes it was given.
struct Counted<'s> {
    sink: Option<&'s mut dyn Write>,
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.sink.as_mut().map_or(Ok(bytes.len()), |sink| sink.write(bytes))?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.as_mut().map_or(Ok(()), |sink| sink.flush())
    }
}
