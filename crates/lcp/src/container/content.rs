//! An entry's content: inflated piece by piece, never further than its directory says, and held against its CRC-32.

use super::{Archive, Entry, Method};
use crate::Error;
use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};

/// Stored bytes that are read, and content bytes that are inflated, at a time.
const PIECE: usize = 64 << 10;

/// From this size on a document is refused that shrinks more than the most repetitive of real ones: reading it costs more
/// than inflating it does.
const SUSPICIOUS_LEN: u64 = 1 << 20;
const SUSPICIOUS_RATIO: u64 = 200;

/// The check of an entry's content while it passes by: its length and CRC-32.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    crc: Hasher,
    len: u64,
}

impl Verdict {
    /// Takes the next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        self.len += bytes.len() as u64;
    }

    /// Holds what has passed against the directory.
    pub(crate) fn check(&self, entry: &Entry) -> Result<(), Error> {
        if self.len != entry.len {
            return Err(damaged(entry, "its content is shorter than its directory says"));
        }
        if self.crc.clone().finalize() != entry.crc32 {
            return Err(damaged(entry, "its CRC-32 is another one than its directory says"));
        }
        Ok(())
    }
}

/// Inflates one entry, fed with its stored bytes piece by piece; may be used for one entry after the other.
#[derive(Debug)]
pub struct Inflation {
    state: Decompress,
    verdict: Verdict,
    has_ended: bool,
}

impl Default for Inflation {
    fn default() -> Inflation {
        Inflation { state: Decompress::new(false), verdict: Verdict::default(), has_ended: false }
    }
}

impl Inflation {
    /// Begins with another entry.
    pub fn restart(&mut self) {
        self.state.reset(false);
        self.verdict = Verdict::default();
        self.has_ended = false;
    }

    /// Stored bytes that have been taken so far.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.state.total_in()
    }

    /// Whether the deflate stream has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Inflates as much of `input` as fits into `output`; returns how many bytes were taken and given.
    ///
    /// # Errors
    /// [`Error::EntryDamaged`] if this is no deflate stream, [`Error::Bomb`] if it gives more than the entry's length.
    pub fn step(&mut self, entry: &Entry, input: &[u8], output: &mut [u8]) -> Result<(usize, usize), Error> {
        if self.has_ended {
            return Ok((0, 0));
        }
        let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| damaged(entry, "its deflate stream is malformed"))?;
        let given = (self.state.total_out() - before_out) as usize;
        self.verdict.update(&output[..given]);
        if self.verdict.len > entry.len {
            return Err(Error::Bomb {
                entry: entry.name.clone(),
                problem: "inflates to more than its directory says",
            });
        }
        self.has_ended = status == Status::StreamEnd;
        Ok(((self.state.total_in() - before_in) as usize, given))
    }

    /// Inflates all of `input`, throwing the content away.
    ///
    /// # Errors
    /// As [`Inflation::step`]; [`Error::EntryDamaged`] if stored bytes follow the stream's end.
    pub fn pass(&mut self, entry: &Entry, mut input: &[u8], window: &mut [u8]) -> Result<(), Error> {
        loop {
            let (taken, given) = self.step(entry, input, window)?;
            input = &input[taken..];
            if self.has_ended && !input.is_empty() {
                return Err(damaged(entry, "bytes follow the end of its deflate stream"));
            }
            // A full window may have left something behind.
            if input.is_empty() && given < window.len() {
                return Ok(());
            }
            if taken == 0 && given == 0 {
                return Err(damaged(entry, "its deflate stream is malformed"));
            }
        }
    }

    /// To be called when all stored bytes have been taken.
    ///
    /// # Errors
    /// [`Error::EntryDamaged`] if the stream has not ended, or length or CRC-32 are not those of the directory.
    pub fn finish(&self, entry: &Entry) -> Result<(), Error> {
        if !self.has_ended {
            return Err(damaged(entry, "its deflate stream does not end"));
        }
        if self.taken() != entry.compressed_len {
            return Err(damaged(entry, "bytes follow the end of its deflate stream"));
        }
        self.verdict.check(entry)
    }
}

fn damaged(entry: &Entry, problem: &'static str) -> Error {
    Error::EntryDamaged { entry: entry.name.clone(), problem }
}

impl Archive {
    /// Reads an entry's stored bytes from `offset` (in bytes from their start) into all of `buffer`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::ZipDamaged`] if the file has become shorter.
    ///
    /// # Panics
    /// If the entry has no so many bytes.
    pub fn read_stored(&self, entry: &Entry, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        assert!(offset + buffer.len() as u64 <= entry.compressed_len, "read beyond an entry's end");
        self.source.read_exact(buffer, entry.data_offset + offset)
    }

    /// Hands an entry's content, inflated and verified, to `sink` piece by piece. An error after the first piece means
    /// that what came before must not be used.
    ///
    /// # Errors
    /// What is wrong with the content, or what `sink` returns.
    pub fn read_to(
        &self,
        entry: &Entry,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut stored = vec![0; PIECE.min(usize::try_from(entry.compressed_len).unwrap_or(PIECE))];
        let mut offset = 0;
        match entry.method {
            Method::Stored => {
                let mut verdict = Verdict::default();
                while offset < entry.compressed_len {
                    let len = (entry.compressed_len - offset).min(PIECE as u64) as usize;
                    self.read_stored(entry, offset, &mut stored[..len])?;
                    verdict.update(&stored[..len]);
                    sink(&stored[..len])?;
                    offset += len as u64;
                }
                verdict.check(entry)
            }
            Method::Deflated => {
                let mut inflation = Inflation::default();
                let mut content = vec![0; PIECE];
                while offset < entry.compressed_len && !inflation.has_ended() {
                    let len = (entry.compressed_len - offset).min(PIECE as u64) as usize;
                    self.read_stored(entry, offset, &mut stored[..len])?;
                    let mut input = &stored[..len];
                    loop {
                        let (taken, given) = inflation.step(entry, input, &mut content)?;
                        input = &input[taken..];
                        sink(&content[..given])?;
                        if given < content.len() && (input.is_empty() || taken == 0) {
                            break;
                        }
                    }
                    if !input.is_empty() && !inflation.has_ended() {
                        return Err(damaged(entry, "its deflate stream is malformed"));
                    }
                    offset += len as u64;
                }
                inflation.finish(entry)
            }
        }
    }

    /// An entry's whole content, which must not be longer than `most` bytes.
    ///
    /// # Errors
    /// [`Error::PartTooLarge`]; [`Error::Bomb`] if it grows more than documents do; otherwise as [`Archive::read_to`].
    pub fn read_whole(&self, entry: &Entry, most: u64) -> Result<Vec<u8>, Error> {
        if entry.len > most {
            return Err(Error::PartTooLarge { part: entry.name.clone(), length: entry.len, most });
        }
        if entry.len > SUSPICIOUS_LEN && entry.len / SUSPICIOUS_RATIO > entry.compressed_len {
            return Err(Error::Bomb {
                entry: entry.name.clone(),
                problem: "is a document that declares to grow more than two hundredfold",
            });
        }
        let mut content = Vec::with_capacity(usize::try_from(entry.len).unwrap_or(0));
        self.read_to(entry, &mut |bytes| {
            content.extend_from_slice(bytes);
            Ok(())
        })?;
        Ok(content)
    }
}
