//! What a run tells: progress, an event for each publication, a summary.

use crate::keys::KeyRecord;
use crate::package::Metadata;
use crate::{Class, Error};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a publication ended.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Its output stands complete under its name, and its key in the key file.
    Done {
        /// What was written to the key file.
        record: &'a KeyRecord,
        /// What the publication says of itself.
        metadata: &'a Metadata,
        /// Entries that were encrypted.
        encrypted: u64,
        /// Entries that stay readable.
        clear: u64,
    },
    /// Its output was there already and `--if-exists skip` holds.
    Skipped,
    /// It failed; nothing stands under its name that did not before.
    Failed(&'a Error),
}

/// A publication that has ended.
#[derive(Debug)]
pub struct Event<'a> {
    /// The source.
    pub source: &'a Path,
    /// The output; `None` if it failed before its name was known.
    pub output: Option<&'a Path>,
    /// The source's size in bytes.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

/// Somebody who watches a run. Called from several threads, so it must be quick.
pub trait Observer: Sync {
    /// So many more source bytes are through.
    fn advanced(&self, bytes: u64);
    /// A publication has ended.
    fn ended(&self, event: &Event<'_>);
    /// Whether the run is to stop, from now on: publications that are not complete get no name, and are neither told
    /// nor counted. Asked by every worker before each piece of work of about a millisecond, and by the thread that called
    /// [`super::run`] while it waits for others.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// A run's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Publications that were protected.
    pub books: u64,
    /// Source bytes of these.
    pub bytes: u64,
    /// Bytes written.
    pub output_bytes: u64,
    /// Publications skipped because their output was there already.
    pub skipped: u64,
    /// Publications that failed.
    pub failed: u64,
    /// Of these: because of a key or key file.
    pub without_key: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Counts what becomes of the publications, and passes it on.
pub(super) struct Tally<'o> {
    pub(super) observer: &'o dyn Observer,
    books: AtomicU64,
    bytes: AtomicU64,
    output_bytes: AtomicU64,
    skipped: AtomicU64,
    failed: AtomicU64,
    without_key: AtomicU64,
}

impl<'o> Tally<'o> {
    pub(super) fn new(observer: &'o dyn Observer) -> Tally<'o> {
        let zero = || AtomicU64::new(0);
        Tally {
            observer,
            books: zero(),
            bytes: zero(),
            output_bytes: zero(),
            skipped: zero(),
            failed: zero(),
            without_key: zero(),
        }
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        if matches!(event.outcome, Outcome::Failed(Error::Library(cipherloom::Error::Stopped))) {
            return;
        }
        let add = |counter: &AtomicU64, count: u64| counter.fetch_add(count, Ordering::Relaxed);
        match &event.outcome {
            Outcome::Done { record, .. } => {
                add(&self.books, 1);
                add(&self.bytes, event.bytes);
                add(&self.output_bytes, record.protected.size);
            }
            Outcome::Skipped => {
                add(&self.skipped, 1);
            }
            Outcome::Failed(error) => {
                add(&self.failed, 1);
                add(&self.without_key, u64::from(error.class() == Class::Key));
            }
        }
        self.observer.ended(event);
    }

    pub(super) fn summary(&self, seconds: f64) -> Summary {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Summary {
            books: get(&self.books),
            bytes: get(&self.bytes),
            output_bytes: get(&self.output_bytes),
            skipped: get(&self.skipped),
            failed: get(&self.failed),
            without_key: get(&self.without_key),
            seconds,
        }
    }
}
