//! Fills a lane's piece: reads the source, and inflates or deflates it if the part needs that. The content is always checked
//! against the source's directory, so that no damage is encrypted and no wrong length is promised to readers.

use super::book::Book;
use super::lane::Lane;
use super::plan::PIECE;
use crate::Error;
use crate::container::{Archive, Entry, Verifier, entry_damaged};
use crate::package::Coding;
use flate2::{Compress, FlushCompress, Status};

/// What a worker lends to whatever lane is being filled.
#[derive(Default)]
pub(super) struct Scratch {
    /// Stored bytes that have been read.
    pub(super) input: Vec<u8>,
    /// Content that is only looked at.
    pub(super) window: Vec<u8>,
}

/// The entry that a lane is filled from.
struct Feed<'f> {
    archive: &'f Archive,
    entry: &'f Entry,
    /// Takes what is read, up to [`PIECE`]. The deflated bytes do not depend on its length.
    input: &'f mut [u8],
}

impl Lane {
    /// Fills up to one piece of `to`; returns its length, and sets whether it is the last.
    pub(super) fn fill(&mut self, book: &Book, to: &mut [u8], scratch: &mut Scratch) -> Result<usize, Error> {
        let part = &book.package.parts[self.part];
        let (Some(archive), Some(entry)) = (book.package.archive(), book.package.entry(part)) else {
            let source = book.package.source();
            let len = self.next_len(source.len());
            source.read_exact(&mut to[..len], self.given)?;
            return Ok(len);
        };
        scratch.input.resize(PIECE, 0);
        scratch.window.resize(PIECE, 0);
        let mut feed = Feed { archive, entry, input: &mut scratch.input };
        match self.coding {
            Coding::Kept => self.keep(&feed, to, &mut scratch.window),
            Coding::Inflated => self.inflate(&mut feed, to, &mut scratch.window),
            Coding::Deflated => self.deflate(&mut feed, to, &mut scratch.window),
        }
    }

    /// The next piece's length, of a content of `all` bytes.
    fn next_len(&mut self, all: u64) -> usize {
        let rest = all - self.given;
        self.is_last = rest <= PIECE as u64;
        rest.min(PIECE as u64) as usize
    }

    fn keep(&mut self, feed: &Feed<'_>, to: &mut [u8], window: &mut [u8]) -> Result<usize, Error> {
        let len = self.next_len(feed.entry.compressed_len);
        let piece = &mut to[..len];
        feed.archive.read_stored(feed.entry, self.given, piece)?;
        self.verifier.pass(feed.entry, piece, window, &mut |_| Ok(()))?;
        if self.is_last {
            self.verifier.finish(feed.entry)?;
        }
        Ok(len)
    }

    fn inflate(&mut self, feed: &mut Feed<'_>, to: &mut [u8], window: &mut [u8]) -> Result<usize, Error> {
        let verifier = &mut self.verifier;
        let len = (feed.entry.len - self.given).min(PIECE as u64) as usize;
        self.is_last = self.given + len as u64 == feed.entry.len;
        let mut filled = 0;
        while filled < len {
            let count = feed.inflate(verifier, &mut to[filled..len])?;
            if count == 0 {
                // It ended, or makes no more of what there is.
                verifier.finish(feed.entry)?;
            }
            filled += count;
        }
        if self.is_last {
            // The stream's end is still to come, and must bring nothing more.
            while !verifier.has_ended() && verifier.taken() < feed.entry.compressed_len {
                feed.inflate(verifier, window)?;
            }
            verifier.finish(feed.entry)?;
        }
        Ok(len)
    }

    /// Deflates a part that its source stores uncompressed. The part's place in the output needs its length: one whose
    /// deflated form fits one piece is deflated once; for a larger one the length is counted first and the bytes are made
    /// again when they are encrypted, so that no part is held in memory whole.
    fn deflate(&mut self, feed: &mut Feed<'_>, to: &mut [u8], window: &mut [u8]) -> Result<usize, Error> {
        let state = self.deflation.as_mut().expect("a lane that deflates was given what it needs");
        if let Some(all) = self.payload_len {
            // The second time: the length is known, and the content has been verified.
            let len = (all - self.given).min(PIECE as u64) as usize;
            let (given, _) = feed.deflate(state, &mut to[..len], None)?;
            self.is_last = self.given + len as u64 == all;
            return if given == len { Ok(len) } else { Err(Error::SourceChanged) };
        }
        let (to, verifier) = (&mut to[..PIECE], &mut self.verifier);
        let (len, mut has_ended) = feed.deflate(state, to, Some(verifier))?;
        self.is_last = has_ended;
        while !has_ended {
            (_, has_ended) = feed.deflate(state, window, Some(verifier))?;
        }
        verifier.finish(feed.entry)?;
        self.payload_len = Some(state.total_out());
        if !self.is_last {
            // Once more from the start, to where this piece ends.
            state.reset();
            feed.deflate(state, to, None)?;
        }
        Ok(len)
    }
}

impl Feed<'_> {
    /// Inflates the next bytes; returns how many were given.
    fn inflate(&mut self, verifier: &mut Verifier, to: &mut [u8]) -> Result<usize, Error> {
        // What is read beyond what fits is read again: about what one piece can need.
        let wanted = (self.entry.compressed_len - verifier.taken()).min(PIECE as u64) as usize;
        self.archive.read_stored(self.entry, verifier.taken(), &mut self.input[..wanted])?;
        let (taken, given) = verifier.inflate(self.entry, &self.input[..wanted], to)?;
        if taken == 0 && given == 0 && !verifier.has_ended() {
            return Err(entry_damaged(self.entry, "its deflate stream is malformed"));
        }
        Ok(given)
    }

    /// Deflates on until `output` is full or the entry ends; returns how many bytes were given and whether that was the
    /// end. `verifier` gets every source byte that is taken.
    fn deflate(
        &mut self,
        state: &mut Compress,
        output: &mut [u8],
        mut verifier: Option<&mut Verifier>,
    ) -> Result<(usize, bool), Error> {
        let mut given = 0;
        loop {
            let at = state.total_in();
            let piece = &mut self.input[..(self.entry.len - at).min(PIECE as u64) as usize];
            self.archive.read_stored(self.entry, at, piece)?;
            let is_rest = at + piece.len() as u64 == self.entry.len;
            let flush = if is_rest { FlushCompress::Finish } else { FlushCompress::None };
            let before = state.total_out();
            let status = state
                .compress(piece, &mut output[given..], flush)
                .map_err(|error| Error::io("deflate", error.into()))?;
            if let Some(verifier) = &mut verifier {
                verifier.update(self.entry, &piece[..(state.total_in() - at) as usize])?;
            }
            given += (state.total_out() - before) as usize;
            if status == Status::StreamEnd || given == output.len() {
                return Ok((given, status == Status::StreamEnd));
            }
        }
    }
}
