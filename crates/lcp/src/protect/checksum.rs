//! SHA-256 of an output that is written in no particular order: follows what is complete from the start on, reading it
//! back while the system still has it in memory.

use crate::Error;
use crate::container::Source;
use crate::library::stop_if_asked;
use aws_lc_rs::digest::{Context, SHA256};
use cipherloom::internal::engine::lock;
use cipherloom::{Observer, internal::Draft};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// From so many bytes on it is worth a turn before the end.
const TURN: u64 = 4 << 20;

/// Bytes that are read back at a time.
pub(super) const READ: usize = 128 << 10;

/// A worker's buffer for reading back, and who may stop it at that.
pub(super) struct ReadBack<'o> {
    buffer: Vec<u8>,
    observer: &'o dyn Observer,
}

impl<'o> ReadBack<'o> {
    pub(super) fn new(observer: &'o dyn Observer) -> ReadBack<'o> {
        ReadBack { buffer: Vec::new(), observer }
    }

    /// Room for up to `len` bytes; an error if the run is to stop.
    fn piece(&mut self, len: u64) -> Result<&mut [u8], Error> {
        stop_if_asked(self.observer)?;
        self.buffer.resize(READ, 0);
        Ok(&mut self.buffer[..len.min(READ as u64) as usize])
    }
}

pub(super) struct Checksum {
    written: Mutex<Completed>,
    hashed: Mutex<Hashed>,
}

/// What is complete: all up to `contiguous`, and pieces beyond.
#[derive(Default)]
struct Completed {
    contiguous: u64,
    beyond: BTreeMap<u64, u64>,
}

struct Hashed {
    context: Context,
    at: u64,
}

impl Checksum {
    pub(super) fn new() -> Checksum {
        Checksum { written: Mutex::default(), hashed: Mutex::new(Hashed::new()) }
    }

    /// Bytes `start..end` are complete. If enough are, and nobody else is at it, this thread hashes them.
    pub(super) fn completed(
        &self,
        start: u64,
        end: u64,
        draft: &Draft,
        read_back: &mut ReadBack<'_>,
    ) -> Result<(), Error> {
        let contiguous = {
            let mut written = lock(&self.written);
            written.beyond.insert(start, end);
            let mut at = written.contiguous;
            while let Some(end) = written.beyond.remove(&at) {
                at = end;
            }
            written.contiguous = at;
            at
        };
        // Whoever is hashing may end before this piece; the next to complete one, or the end, takes it.
        if let Ok(mut hashed) = self.hashed.try_lock()
            && contiguous >= hashed.at + TURN
        {
            hashed.follow(contiguous, |piece, at| Ok(draft.read_at(piece, at)?), read_back)?;
        }
        Ok(())
    }

    /// The checksum of all `len` bytes, which are complete.
    pub(super) fn finish(
        &self,
        len: u64,
        draft: &Draft,
        read_back: &mut ReadBack<'_>,
    ) -> Result<String, Error> {
        let mut hashed = lock(&self.hashed);
        hashed.follow(len, |piece, at| Ok(draft.read_at(piece, at)?), read_back)?;
        Ok(hashed.finish())
    }
}

impl Hashed {
    fn new() -> Hashed {
        Hashed { context: Context::new(&SHA256), at: 0 }
    }

    /// Hashes on up to `end`, with what `read` gives.
    fn follow(
        &mut self,
        end: u64,
        read: impl Fn(&mut [u8], u64) -> Result<(), Error>,
        read_back: &mut ReadBack<'_>,
    ) -> Result<(), Error> {
        while self.at < end {
            let piece = read_back.piece(end - self.at)?;
            read(piece, self.at)?;
            self.context.update(piece);
            self.at += piece.len() as u64;
        }
        Ok(())
    }

    fn finish(&self) -> String {
        crate::package::hex(self.context.clone().finish().as_ref())
    }
}

/// SHA-256 of a whole source.
pub(super) fn of_source(source: &Source, read_back: &mut ReadBack<'_>) -> Result<String, Error> {
    let mut hashed = Hashed::new();
    hashed.follow(source.len(), |piece, at| source.read_exact(piece, at), read_back)?;
    Ok(hashed.finish())
}
