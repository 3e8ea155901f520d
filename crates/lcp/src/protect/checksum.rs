//! SHA-256 of an output that is written in no particular order: follows what is complete from the start on, reading it
//! back while the system still has it in memory.

use crate::Error;
use aws_lc_rs::digest::{Context, SHA256};
use cipherloom::Draft;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// From so many bytes on it is worth a turn before the end.
const TURN: u64 = 4 << 20;

/// Bytes that are read back at a time.
pub(super) const READ: usize = 128 << 10;

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
        buffer: &mut Vec<u8>,
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
            hashed.follow(contiguous, draft, buffer)?;
        }
        Ok(())
    }

    /// The checksum of all `len` bytes, which are complete.
    pub(super) fn finish(&self, len: u64, draft: &Draft, buffer: &mut Vec<u8>) -> Result<String, Error> {
        let mut hashed = lock(&self.hashed);
        hashed.follow(len, draft, buffer)?;
        Ok(crate::package::hex(hashed.context.clone().finish().as_ref()))
    }
}

impl Hashed {
    fn follow(&mut self, end: u64, draft: &Draft, buffer: &mut Vec<u8>) -> Result<(), Error> {
        buffer.resize(READ, 0);
        while self.at < end {
            let piece = &mut buffer[..(end - self.at).min(READ as u64) as usize];
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
pub(super) fn of_source(source: &crate::container::Source, buffer: &mut Vec<u8>) -> Result<String, Error> {
    let mut context = Context::new(&SHA256);
    buffer.resize(READ, 0);
    let mut at = 0;
    while at < source.len() {
        let piece = &mut buffer[..(source.len() - at).min(READ as u64) as usize];
        source.read_exact(piece, at)?;
        context.update(piece);
        at += piece.len() as u64;
    }
    Ok(crate::package::hex(context.finish().as_ref()))
}
