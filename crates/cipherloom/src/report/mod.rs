//! What a run tells: progress while it runs, an event for each entry, a summary at its end.

use crate::Error;
use serde::Serialize;
use std::path::Path;

/// How one entry ended.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Its output stands complete under its final name (verify: every byte is authentic).
    Done {
        /// Bytes of the output (verify: of the plaintext).
        output_bytes: u64,
    },
    /// Its output was there already and `--if-exists skip` holds.
    Skipped,
    /// It failed; nothing stands under its final name that did not before.
    Failed(&'a Error),
}

/// An entry that has ended.
#[derive(Debug)]
pub struct Event<'a> {
    /// The source, as a path that the user can open.
    pub source: &'a Path,
    /// The output's path; `None` when verifying.
    pub output: Option<&'a Path>,
    /// Size of the source in bytes.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome<'a>,
}

/// Somebody who watches a run. Called from the worker threads, so it must be quick.
pub trait Observer: Sync {
    /// So many more source bytes are through.
    fn advanced(&self, bytes: u64);
    /// One more entry has ended, well or not.
    fn entry_ended(&self);
    /// Whether [`Observer::ended`] wants events of entries that went well; those that failed are always told.
    fn wants_every_event(&self) -> bool;
    /// An entry has ended.
    fn ended(&self, event: &Event<'_>);
    /// Whether the run is to stop, from now on: the work of a moment is finished, no output that is not complete gets
    /// a name. Asked by every worker before each entry and each run of segments (about a mebibyte), and by the thread
    /// that called [`crate::run`] while it waits for others.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn advanced(&self, _bytes: u64) {}
    fn entry_ended(&self) {}
    fn wants_every_event(&self) -> bool {
        false
    }
    fn ended(&self, _event: &Event<'_>) {}
}

/// A run's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Entries that were done.
    pub files: u64,
    /// Source bytes of the entries that were done.
    pub bytes: u64,
    /// Bytes written (verify: plaintext bytes that were authenticated).
    pub output_bytes: u64,
    /// Entries skipped because their output was there already.
    pub skipped: u64,
    /// Entries that failed.
    pub failed: u64,
    /// Of those that failed: entries whose content failed authentication.
    pub unauthentic: u64,
    /// Entries that were left because the run ended early: the destination took nothing more, or the key opened nothing
    /// ([`Error::ends_run`]). The event of the last failure says which.
    pub untried: u64,
    /// Symbolic links copied as links.
    pub links: u64,
    /// Outputs and folders whose permissions or time the file system did not take; their content is complete.
    #[serde(skip_serializing_if = "is_zero")]
    pub attributes_refused: u64,
    /// Files to be encrypted whose extended attributes (access control lists among them) their outputs lack. Counted on Linux.
    #[serde(skip_serializing_if = "is_zero")]
    pub extended_attributes: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
