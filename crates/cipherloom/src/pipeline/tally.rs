//! Counts what becomes of the entries.

use super::worker::Ended;
use crate::Error;
use crate::report::Summary;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Entries that have ended in any way.
    ended: AtomicU64,
    files: AtomicU64,
    bytes: AtomicU64,
    output_bytes: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    unauthentic: AtomicU64,
    attributes_refused: AtomicU64,
    extended_attributes: AtomicU64,
}

impl Tally {
    pub(super) fn count(&self, size: u64, ended: &Result<Ended, Error>) {
        let add = |counter: &AtomicU64, count| counter.fetch_add(count, Ordering::Relaxed);
        add(&self.ended, 1);
        match ended {
            Ok(Ended::Done(output_bytes)) => {
                add(&self.files, 1);
                add(&self.bytes, size);
                add(&self.output_bytes, *output_bytes);
            }
            Ok(Ended::Skipped) => {
                add(&self.skipped, 1);
            }
            Err(error) => {
                add(&self.failed, 1);
                add(&self.unauthentic, u64::from(error.is_authentication()));
            }
        }
    }

    pub(super) fn fail_one(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_attributes_refused(&self) {
        self.attributes_refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_extended_attributes(&self) {
        self.extended_attributes.fetch_add(1, Ordering::Relaxed);
    }

    /// An entry that the key did not open, which is not told by itself.
    pub(super) fn fail_unopened(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.unauthentic.fetch_add(1, Ordering::Relaxed);
    }

    /// How many entries have ended in any way.
    pub(super) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    pub(super) fn summary(&self, links: u64, seconds: f64) -> Summary {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Summary {
            files: get(&self.files),
            bytes: get(&self.bytes),
            output_bytes: get(&self.output_bytes),
            skipped: get(&self.skipped),
            failed: get(&self.failed),
            unauthentic: get(&self.unauthentic),
            untried: 0,
            links,
            attributes_refused: get(&self.attributes_refused),
            extended_attributes: get(&self.extended_attributes),
            seconds,
        }
    }
}
