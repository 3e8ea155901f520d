//! An entry's content: inflated piece by piece, never further than its directory says, and held against its CRC-32.

use super::{Archive, Entry, Method, entry_damaged};
use crate::Error;
use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};

/// Stored bytes that are read, and content bytes that are inflated, at a time.
const PIECE: usize = 64 << 10;

/// From this size on a document is refused that shrinks more than the most repetitive of real ones: reading it costs more
/// than inflating it does.
const SUSPICIOUS_LEN: u64 = 1 << 20;
const SUSPICIOUS_RATIO: u64 = 200;

/// The check of an entry's content while its stored bytes pass by: they are inflated if they are deflated, and held against
/// the directory's length and CRC-32. May be used for one entry after the other.
#[derive(Debug, Default)]
pub(crate) struct Verifier {
    /// Made for the first entry that is deflated.
    state: Option<Decompress>,
    crc: Hasher,
    len: u64,
    has_ended: bool,
}

impl Verifier {
    /// Begins with another entry.
    pub(crate) fn restart(&mut self) {
        if let Some(state) = &mut self.state {
            state.reset(false);
        }
        self.crc.reset();
        (self.len, self.has_ended) = (0, false);
    }

    /// Bytes of content that have passed so far.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// CRC-32 of the content that has passed so far.
    pub(crate) fn crc32(&self) -> u32 {
        self.crc.clone().finalize()
    }

    /// Stored bytes that have been inflated so far.
    pub(crate) fn taken(&self) -> u64 {
        self.state.as_ref().map_or(0, Decompress::total_in)
    }

    /// Whether the deflate stream has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes the next bytes of content.
    ///
    /// # Errors
    /// [`Error::Bomb`] if there are more than the entry's length.
    pub(crate) fn update(&mut self, entry: &Entry, content: &[u8]) -> Result<(), Error> {
        self.crc.update(content);
        self.len += content.len() as u64;
        if self.len > entry.len {
            return Err(Error::Bomb {
                entry: entry.name.clone(),
                problem: "inflates to more than its directory says",
            });
        }
        Ok(())
    }

    /// Inflates as much of `input` as fits into `output`; returns how many bytes were taken and given.
    ///
    /// # Errors
    /// [`Error::EntryDamaged`] if this is no deflate stream; otherwise as [`Verifier::update`].
    pub(crate) fn inflate(
        &mut self,
        entry: &Entry,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), Error> {
        if self.has_ended {
            return Ok((0, 0));
        }
        let state = self.state.get_or_insert_with(|| Decompress::new(false));
        let (before_in, before_out) = (state.total_in(), state.total_out());
        let status = state
            .decompress(input, output, FlushDecompress::None)
            .map_err(|_| entry_damaged(entry, "its deflate stream is malformed"))?;
        let taken = (state.total_in() - before_in) as usize;
        let given = (state.total_out() - before_out) as usize;
        self.has_ended = status == Status::StreamEnd;
        self.update(entry, &output[..given])?;
        Ok((taken, given))
    }

    /// Takes all of `input`, stored bytes of the entry, which are inflated through `window` if they are deflated; `sink` gets
    /// the content.
    ///
    /// # Errors
    /// As [`Verifier::inflate`], and those of `sink`; [`Error::EntryDamaged`] if stored bytes follow the stream's end.
    pub(crate) fn pass(
        &mut self,
        entry: &Entry,
        mut input: &[u8],
        window: &mut [u8],
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if entry.method == Method::Stored {
            self.update(entry, input)?;
            return sink(input);
        }
        loop {
            let (taken, given) = self.inflate(entry, input, window)?;
            input = &input[taken..];
            sink(&window[..given])?;
            if self.has_ended && !input.is_empty() {
                return Err(entry_damaged(entry, "bytes follow the end of its deflate stream"));
            }
            // A full window may have left something behind.
            if input.is_empty() && given < window.len() {
                return Ok(());
            }
            if taken == 0 && given == 0 {
                return Err(entry_damaged(entry, "its deflate stream is malformed"));
            }
        }
    }

    /// To be called when all stored bytes have been taken.
    ///
    /// # Errors
    /// [`Error::EntryDamaged`] if a deflate stream has not ended, or length or CRC-32 are not those of the directory.
    pub(crate) fn finish(&self, entry: &Entry) -> Result<(), Error> {
        let is_deflated = entry.method == Method::Deflated;
        let problem = if is_deflated && !self.has_ended {
            "its deflate stream does not end"
        } else if is_deflated && self.taken() != entry.compressed_len {
            "bytes follow the end of its deflate stream"
        } else if self.len != entry.len {
            "its content is shorter than its directory says"
        } else if self.crc32() != entry.crc32 {
            "its CRC-32 is another one than its directory says"
        } else {
            return Ok(());
        };
        Err(entry_damaged(entry, problem))
    }
}

impl Archive {
    /// Reads an entry's stored bytes from `offset` (in bytes from their start) into all of `buffer`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::ZipDamaged`] if the file has become shorter.
    ///
    /// # Panics
    /// If the entry has no so many bytes.
    pub(crate) fn read_stored(&self, entry: &Entry, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
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
        self.read_pieces(entry, |piece, verifier, window| verifier.pass(entry, piece, window, sink))
    }

    /// The same for an entry's bytes as they are stored: verified, and not inflated.
    ///
    /// # Errors
    /// As [`Archive::read_to`].
    pub(crate) fn copy_to(
        &self,
        entry: &Entry,
        sink: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.read_pieces(entry, |piece, verifier, window| {
            verifier.pass(entry, piece, window, &mut |_| Ok(()))?;
            sink(piece)
        })
    }

    fn read_pieces(
        &self,
        entry: &Entry,
        mut pass: impl FnMut(&[u8], &mut Verifier, &mut [u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut stored = vec![0; PIECE.min(usize::try_from(entry.compressed_len).unwrap_or(PIECE))];
        let mut window = vec![0; if entry.method == Method::Deflated { PIECE } else { 0 }];
        let mut verifier = Verifier::default();
        let mut offset = 0;
        while offset < entry.compressed_len {
            let len = (entry.compressed_len - offset).min(PIECE as u64) as usize;
            self.read_stored(entry, offset, &mut stored[..len])?;
            pass(&stored[..len], &mut verifier, &mut window)?;
            offset += len as u64;
        }
        verifier.finish(entry)
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
