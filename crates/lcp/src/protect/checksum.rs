//! SHA-256 of an output that is written in no particular order: follows what is complete from the start on, reading it
//! back while the system still has it in memory.

use super::event::Observer;
use crate::Error;
use aws_lc_rs::digest::{Context, SHA256};
use cipherloom::Draft;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

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
        if self.observer.is_stopped() {
            return Err(cipherloom::Error::Stopped.into());
        }
        self.buffer.resize(READ, 0);
        Ok(&mut self.buffer[..len.min(READ as u64) as usize])
    }
}

pub(super) struct Checksum {
    written: Mutex<Written>,
    hashed: Mutex<Hashed>,
}

/// What is complete: all up to `contiguous`, and pieces beyond.
#[derive(Default)]
struct Written {
    contiguous: u64,
    beyond: BTreeMap<u64, u64>,
}

struct Hashed {
    context: Context,
    at: u64,
}

impl Checksum {
    pub(super) fn new() -> Checksum {
        let hashed = Hashed { context: Context::new(&SHA256), at: 0 };
        Checksum { written: Mutex::default(), hashed: Mutex::new(hashed) }
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
            hashed.follow(contiguous, draft, read_back)?;
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
        hashed.follow(len, draft, read_back)?;
        Ok(crate::package::hex(hashed.context.clone().finish().as_ref()))
    }
}

impl Hashed {
    fn follow(&mut self, end: u64, draft: &Draft, read_back: &mut ReadBack<'_>) -> Result<(), Error> {
        while self.at < end {
            let piece = read_back.piece(end - self.at)?;
            draft.read_at(piece, self.at)?;
            self.context.update(piece);
            self.at += piece.len() as u64;
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// SHA-256 of a whole source.
pub(super) fn of_source(
    source: &crate::container::Source,
    read_back: &mut ReadBack<'_>,
) -> Result<String, Error> {
    let mut context = Context::new(&SHA256);
    let mut at = 0;
    while at < source.len() {
        let piece = read_back.piece(source.len() - at)?;
        source.read_exact(piece, at)?;
        context.update(piece);
        at += piece.len() as u64;
    }
    Ok(crate::package::hex(context.finish().as_ref()))
}
