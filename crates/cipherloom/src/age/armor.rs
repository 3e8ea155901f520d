//! Armor: an age file in letters, the strict PEM of RFC 7468 with the label "AGE ENCRYPTED FILE".
//!
//! ```text
//! -----BEGIN AGE ENCRYPTED FILE-----
//! base64, 64 columns, with padding            only the last line may be shorter
//! -----END AGE ENCRYPTED FILE-----
//! ```
//!
//! White space around it is passed over, and lines may end with CR LF. Nothing else is accepted: a file has one armor.

use super::fault::AgeFault;
use crate::Error;
use crate::stream::{from_io, into_io};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::io::{self, BufRead, BufReader, Read, Write};
use zeroize::Zeroizing;

pub(crate) const MARKER: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
const END: &[u8] = b"-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;
const LINE_BYTES: usize = 48;
/// So much white space may be around the armor.
const MOST_SPACE: usize = 1024;

/// True if a file that begins with `head` is armored.
pub(crate) fn is_armored(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(MARKER)
}

/// Removes the armor from what another reader gives. Errors have the kind [`io::ErrorKind::InvalidData`], with
/// [`AgeFault::Armor`] inside.
///
/// ```
/// use cipherloom::age::{ArmorReader, ArmorWriter};
/// use std::io::{Read, Write};
///
/// let mut writer = ArmorWriter::new(Vec::new());
/// writer.write_all(b"age-encryption.org/v1\n")?;
/// let armored = writer.finish()?;
/// assert!(armored.starts_with(b"-----BEGIN AGE ENCRYPTED FILE-----\n"));
///
/// let mut binary = Vec::new();
/// ArmorReader::new(&armored[..]).read_to_end(&mut binary)?;
/// assert_eq!(binary, b"age-encryption.org/v1\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ArmorReader<R> {
    source: BufReader<R>,
    state: State,
    bytes: [u8; LINE_BYTES],
    /// Where what was not given out yet is.
    left: std::ops::Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Inside,
    Ended,
    Failed(&'static str),
}

impl<R: Read> ArmorReader<R> {
    /// Reads armor from `source`.
    pub fn new(source: R) -> ArmorReader<R> {
        ArmorReader {
            source: BufReader::new(source),
            state: State::Before,
            bytes: [0; LINE_BYTES],
            left: 0..0,
        }
    }

    fn fill(&mut self) -> Result<(), Error> {
        while self.left.is_empty() && self.state != State::Ended {
            if let State::Failed(problem) = self.state {
                return Err(AgeFault::Armor { problem }.into());
            }
            let step = match self.state {
                State::Before => self.begin(),
                _ => self.read_line(),
            };
            if let Err(Error::Age(AgeFault::Armor { problem })) = step {
                self.state = State::Failed(problem);
            } else {
                step?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Error> {
        let mut space = 0;
        loop {
            let line = self.line(MOST_SPACE)?;
            if line.trim_ascii().is_empty() {
                space += line.len() + 1;
                if space > MOST_SPACE {
                    return Err(armor("too much white space is in front of it"));
                }
                continue;
            }
            if *line != MARKER {
                return Err(armor("it does not begin with its first line"));
            }
            self.state = State::Inside;
            return Ok(());
        }
    }

    fn read_line(&mut self) -> Result<(), Error> {
        let line = self.line(COLUMNS + 2)?;
        if *line == END {
            return self.end();
        }
        if line.is_empty() || line.len() > COLUMNS {
            return Err(armor("a line is empty or longer than 64 characters"));
        }
        let decoded = STANDARD.decode_slice(&line, &mut self.bytes);
        let len = decoded.map_err(|_| armor("a line is not canonical base64"))?;
        self.left = 0..len;
        if len < LINE_BYTES {
            let line = self.line(COLUMNS + 2)?;
            if *line != END {
                self.left = 0..0;
                return Err(armor("a short line is not the last"));
            }
            self.end()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Error> {
        let mut rest = Vec::new();
        let source = self.source.by_ref().take(MOST_SPACE as u64 + 1);
        let read = { source }.read_to_end(&mut rest).map_err(reading);
        let len = read?;
        if len > MOST_SPACE || !rest.trim_ascii().is_empty() {
            self.left = 0..0;
            return Err(armor("something follows its last line"));
        }
        self.state = State::Ended;
        Ok(())
    }

    /// A line without its end. A line of more than `most` bytes is an error.
    fn line(&mut self, most: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        let mut line = Zeroizing::new(Vec::with_capacity(most + 2));
        self.source.by_ref().take(most as u64 + 2).read_until(b'\n', &mut line).map_err(reading)?;
        if line.is_empty() {
            return Err(armor("it ends early"));
        }
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        }
        if line.len() > most {
            return Err(armor("a line is too long"));
        }
        Ok(line)
    }
}

impl ArmorReader<&[u8]> {
    /// The binary form of a file's beginning that may be armored: as much of it as is there.
    pub(crate) fn read_header(head: &[u8]) -> Result<Vec<u8>, Error> {
        if !is_armored(head) {
            return Ok(head.to_vec());
        }
        let mut binary = Vec::new();
        // What is cut off shows when the header is parsed.
        let _ = ArmorReader::new(head).read_to_end(&mut binary);
        Ok(binary)
    }

    /// The binary form of a file in memory that may be armored, of which at most `most` bytes are accepted.
    pub(crate) fn read_to_binary(file: &[u8], most: u64) -> Result<Vec<u8>, Error> {
        if !is_armored(file) {
            return Ok(file.to_vec());
        }
        let mut binary = Vec::with_capacity(file.len());
        let mut reader = ArmorReader::new(file).take(most);
        reader.read_to_end(&mut binary).map_err(|error| from_io("remove the armor", error))?;
        Ok(binary)
    }
}

impl<R: Read> Read for ArmorReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        self.fill().map_err(into_io)?;
        let count = self.left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.bytes[self.left.start..][..count]);
        self.left.start += count;
        Ok(count)
    }
}

/// Writes armor around what is written to it. [`ArmorWriter::finish`] has to be called.
#[derive(Debug)]
pub struct ArmorWriter<W> {
    sink: W,
    has_begun: bool,
    line: [u8; LINE_BYTES],
    filled: usize,
}

impl<W: Write> ArmorWriter<W> {
    /// Writes armor to `sink`.
    pub fn new(sink: W) -> ArmorWriter<W> {
        ArmorWriter { sink, has_begun: false, line: [0; LINE_BYTES], filled: 0 }
    }

    /// Writes the last lines, flushes the writer behind and hands it back.
    ///
    /// # Errors
    /// If writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.begin()?;
        if self.filled > 0 {
            self.write_line()?;
        }
        self.sink.write_all(END)?;
        self.sink.write_all(b"\n")?;
        self.sink.flush()?;
        Ok(self.sink)
    }

    fn begin(&mut self) -> io::Result<()> {
        if !self.has_begun {
            self.sink.write_all(MARKER)?;
            self.sink.write_all(b"\n")?;
            self.has_begun = true;
        }
        Ok(())
    }

    fn write_line(&mut self) -> io::Result<()> {
        let mut line = [0; COLUMNS + 1];
        let len =
            STANDARD.encode_slice(&self.line[..self.filled], &mut line).expect("48 bytes fill 64 columns");
        line[len] = b'\n';
        self.filled = 0;
        self.sink.write_all(&line[..=len])
    }
}

impl<W: Write> Write for ArmorWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begin()?;
        if self.filled == LINE_BYTES {
            self.write_line()?;
        }
        let count = bytes.len().min(LINE_BYTES - self.filled);
        self.line[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn armor(problem: &'static str) -> Error {
    AgeFault::Armor { problem }.into()
}

fn reading(error: io::Error) -> Error {
    from_io("read the source", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn armored(bytes: &[u8]) -> Vec<u8> {
        let mut writer = ArmorWriter::new(Vec::new());
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn read(armored: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        ArmorReader::new(armored).read_to_end(&mut bytes).map(|_| bytes)
    }

    #[test]
    fn round_trips_around_a_line() {
        for len in [0, 1, 2, 3, 47, 48, 49, 96, 1000] {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let text = armored(&bytes);
            assert_eq!(read(&text).unwrap(), bytes, "{len}");
            let crlf = String::from_utf8(text).unwrap().replace('\n', "\r\n");
            assert_eq!(read(format!("\n \t\r\n{crlf}\n\n ").as_bytes()).unwrap(), bytes, "{len}");
        }
    }

    #[test]
    fn refuses_every_change_that_is_not_white_space_around_it() {
        let text = String::from_utf8(armored(&[7; 100])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let (first, last) = (lines[0], lines[lines.len() - 1]);
        let changed = [
            text.replace(last, ""),
            text.replace(first, ""),
            format!("x{text}"),
            format!("{text}x"),
            format!("{}{text}", " \n".repeat(600)),
            format!("{text}{}", "\n".repeat(1025)),
            text.replacen('\n', "\n\n", 2),
            text.replace("BwcHBw==", "BwcHBw"),
            text.replace("BwcHBw==", "BwcHBx=="),
            text.replacen("BwcH", "BwcHBwcH", 1),
            text.replacen("BwcH", "", 1),
            text.to_lowercase(),
            format!("{first}\n{last}"),
        ];
        for (at, changed) in changed.iter().enumerate().take(12) {
            let error = read(changed.as_bytes()).expect_err(&format!("{at}: {changed}"));
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{at}");
        }
        assert_eq!(
            read(changed[12].as_bytes()).unwrap(),
            b"",
            "an empty armor without a line feed at its end"
        );
    }

    #[test]
    fn an_error_comes_again() {
        let mut reader = ArmorReader::new(&b"no armor\n"[..]);
        for _ in 0..3 {
            assert!(reader.read(&mut [0; 9]).is_err());
        }
    }
}
