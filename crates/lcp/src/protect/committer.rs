//! Gives finished books their names, keys first.
//!
//! The order is what makes a crash harmless: the record of a key is on stable storage before the book's name exists. A
//! crash in between leaves a record too many, never a book without its key. Books that finish while the disk is at work
//! share the next turn, so a run of many small books does not wait for the disk once for each.

use super::event::{Event, Outcome, Tally};
use super::naming::Outputs;
use super::{Job, Source};
use crate::Error;
use crate::keys::{KeyFile, KeyRecord};
use crate::package::Metadata;
use cipherloom::Draft;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

/// A book whose output is complete but for its name.
pub(super) struct Finished {
    pub(super) source: Source,
    pub(super) output: PathBuf,
    pub(super) draft: Draft,
    pub(super) record: KeyRecord,
    pub(super) metadata: Metadata,
    pub(super) encrypted: u64,
    pub(super) clear: u64,
}

/// The most books in a turn: each holds a file open.
const MOST_IN_TURN: usize = 64;

pub(super) struct Committer<'r> {
    pub(super) job: &'r Job,
    pub(super) tally: &'r Tally<'r>,
    pub(super) outputs: &'r Outputs,
    pub(super) keys: KeyFile,
}

impl Committer<'_> {
    /// Works until no worker can finish a book any more.
    pub(super) fn work(mut self, finished: &Receiver<Finished>) {
        while let Ok(first) = finished.recv() {
            let mut turn = vec![first];
            turn.extend(finished.try_iter().take(MOST_IN_TURN - 1));
            // What cannot get its name leaves no record behind.
            turn.retain(|book| match self.outputs.check(self.job, &book.output) {
                Ok(()) => true,
                Err(error) => {
                    self.tell(&book.source, &book.output, Outcome::Failed(&error));
                    false
                }
            });
            let kept = self.keys.append(turn.iter().map(|book| &book.record));
            for book in turn {
                self.publish(book, &kept);
            }
        }
    }

    fn publish(&self, book: Finished, kept: &Result<(), Error>) {
        let Finished { source, output, draft, record, metadata, encrypted, clear } = book;
        let published = match kept {
            Ok(()) => {
                let synced = if self.job.durable { draft.sync() } else { Ok(()) };
                let name = || self.outputs.published.publish(draft);
                synced.and_then(|()| name()).map_err(Error::from)
            }
            Err(error) => Err(Error::KeyNotKept { reason: error.to_string() }),
        };
        let outcome = match &published {
            Ok(()) => Outcome::Done { record: &record, metadata: &metadata, encrypted, clear },
            Err(error) => Outcome::Failed(error),
        };
        self.tell(&source, &output, outcome);
    }

    fn tell(&self, source: &Source, output: &Path, outcome: Outcome<'_>) {
        self.tally.tell(&Event { source: &source.path, output: Some(output), bytes: source.size, outcome });
    }
}
