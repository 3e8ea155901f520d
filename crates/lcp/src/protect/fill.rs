//! Fills a lane's piece: reads the source, inflates or deflates on the way if the part wants that, and holds the content
//! against the source's directory in any case, so that no damage is sealed and no wrong length is promised to readers.

use super::book::Book;
use super::lane::Lane;
use super::plan::PIECE;
use crate::Error;
use crate::container::{Archive, Entry, Inflation, Method};
use crate::package::{Coding, Origin};

/// What a worker lends to whatever lane is being filled.
#[derive(Default)]
pub(super) struct Scratch {
    /// Stored bytes on their way.
    pub(super) input: Vec<u8>,
    /// Content that is only looked at.
    pub(super) window: Vec<u8>,
}

impl Lane {
    /// Fills up to one piece of `to`; returns its length, and sets whether it is the last.
    pub(super) fn fill(&mut self, book: &Book, to: &mut [u8], scratch: &mut Scratch) -> Result<usize, Error> {
        let part = &book.package.parts[self.part];
        match (&book.package.source, book.package.entry(part)) {
            (Origin::Archive(archive), Some(entry)) => match self.coding {
                Coding::Kept => self.keep(archive, entry, to, scratch),
                Coding::Inflated => self.inflate(archive, entry, to, scratch),
                Coding::Deflated => self.deflate(archive, entry, to, scratch),
            },
            (origin, _) => {
                let source = match origin {
                    Origin::Archive(archive) => archive.source(),
                    Origin::File(source) => source,
                };
                let len = self.next_len(source.len());
                source.read_exact(&mut to[..len], self.given)?;
                Ok(len)
            }
        }
    }

    /// The next piece's length, of a content of `all` bytes.
    fn next_len(&mut self, all: u64) -> usize {
        let rest = all - self.given;
        self.is_last = rest <= PIECE as u64;
        rest.min(PIECE as u64) as usize
    }

    fn keep(
        &mut self,
        archive: &Archive,
        entry: &Entry,
        to: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize, Error> {
        let len = self.next_len(entry.compressed_len);
        let piece = &mut to[..len];
        archive.read_stored(entry, self.given, piece)?;
        match (entry.method, &mut self.inflation) {
            (Method::Deflated, Some(inflation)) => {
                scratch.window.resize(PIECE, 0);
                inflation.pass(entry, piece, &mut scratch.window)?;
                if self.is_last {
                    inflation.finish(entry)?;
                }
            }
            _ => {
                self.verdict.update(piece);
                if self.is_last {
                    self.verdict.check(entry)?;
                }
            }
        }
        Ok(len)
    }

    fn inflate(
        &mut self,
        archive: &Archive,
        entry: &Entry,
        to: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize, Error> {
        let inflation = self.inflation.as_mut().expect("a lane that inflates was given what it needs");
        let len = (entry.len - self.given).min(PIECE as u64) as usize;
        self.is_last = self.given + len as u64 == entry.len;
        let mut filled = 0;
        while filled < len {
            let count = step(inflation, archive, entry, &mut to[filled..len], &mut scratch.input)?;
            if count == 0 {
                // It ended, or makes no more of what there is.
                inflation.finish(entry)?;
            }
            filled += count;
        }
        if self.is_last {
            // The stream's end is still to come, and must bring nothing more.
            scratch.window.resize(PIECE, 0);
            while !inflation.has_ended() && inflation.taken() < entry.compressed_len {
                step(inflation, archive, entry, &mut scratch.window, &mut scratch.input)?;
            }
            inflation.finish(entry)?;
        }
        Ok(len)
    }

    fn deflate(
        &mut self,
        archive: &Archive,
        entry: &Entry,
        to: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<usize, Error> {
        let deflation = self.deflation.as_mut().expect("a lane that deflates was given what it needs");
        let source = archive.source();
        let input = &mut scratch.input;
        if let Some(all) = self.payload_len {
            // The second time: the length is known, and the content has been verified.
            let len = (all - self.given).min(PIECE as u64) as usize;
            let (given, _) = deflation.step(source, entry, input, &mut to[..len], &mut |_| {})?;
            self.is_last = self.given + len as u64 == all;
            return if given == len { Ok(len) } else { Err(Error::SourceChanged) };
        }
        let to = &mut to[..PIECE];
        let verdict = &mut self.verdict;
        let mut sight = |bytes: &[u8]| verdict.update(bytes);
        let (len, has_ended) = deflation.step(source, entry, input, to, &mut sight)?;
        if has_ended {
            self.payload_len = Some(len as u64);
            self.is_last = true;
        } else {
            scratch.window.resize(PIECE, 0);
            let all = deflation.count_rest(source, entry, input, &mut scratch.window, &mut sight)?;
            self.payload_len = Some(all);
            deflation.restart();
        }
        self.verdict.check(entry)?;
        if has_ended {
            return Ok(len);
        }
        // Once more from the start; this piece is what the first step gave.
        let deflation = self.deflation.as_mut().expect("looked at above");
        Ok(deflation.step(source, entry, &mut scratch.input, to, &mut |_| {})?.0)
    }
}

/// Inflates from where it stands; returns how many bytes were given.
fn step(
    inflation: &mut Inflation,
    archive: &Archive,
    entry: &Entry,
    to: &mut [u8],
    input: &mut Vec<u8>,
) -> Result<usize, Error> {
    // What is read beyond what fits is read again: about what one piece can need.
    let wanted = (entry.compressed_len - inflation.taken()).min(PIECE as u64) as usize;
    input.resize(PIECE, 0);
    archive.read_stored(entry, inflation.taken(), &mut input[..wanted])?;
    let (taken, given) = inflation.step(entry, &input[..wanted], to)?;
    if taken == 0 && given == 0 && !inflation.has_ended() {
        return Err(Error::EntryDamaged {
            entry: entry.name.clone(),
            problem: "its deflate stream is malformed",
        });
    }
    Ok(given)
}
