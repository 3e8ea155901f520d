//! Gives finished books their names, keys first.
//!
//! The order is what makes a crash harmless: the record of a key is on stable storage before the book's name exists. A
//! crash in between leaves a record too many, never a book without its key. Books that finish while the disk is at work
//! share the next turn, so a run of many small books does not wait for the disk once for each.

use super::{Protected, Publication, Run};
use crate::Error;
use crate::keys::{KeyFile, KeyRecord};
use crate::report::Outcome;
use cipherloom::internal::Draft;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

/// A book whose output is complete but for its name.
pub(super) struct Finished {
    pub(super) source: Publication,
    pub(super) output: PathBuf,
    pub(super) draft: Draft,
    pub(super) record: KeyRecord,
    pub(super) encrypted: u64,
    pub(super) clear: u64,
}

/// The most books in a turn: each holds a file open.
const MOST_IN_TURN: usize = 64;

/// Names books until no worker can finish one any more.
pub(super) fn commit(run: &Run<'_>, mut keys: KeyFile, finished: Receiver<Finished>) {
    while let Ok(first) = finished.recv() {
        let mut turn = vec![first];
        turn.extend(finished.try_iter().take(MOST_IN_TURN - 1));
        // What cannot get its name leaves no record behind.
        turn.retain(|book| match run.outputs.check(&book.output) {
            Ok(()) => true,
            Err(error) => {
                run.report(&book.source, Some(&book.output), Outcome::Failed(error));
                false
            }
        });
        let kept = keys.append(turn.iter().map(|book| &book.record));
        for Finished { source, output, draft, record, encrypted, clear } in turn {
            let published = match &kept {
                Ok(()) => {
                    let synced = if run.job.durable { draft.sync() } else { Ok(()) };
                    synced.and_then(|()| run.outputs.published.publish(draft)).map_err(Error::from)
                }
                Err(error) => Err(Error::KeyNotKept { reason: error.to_string() }),
            };
            let outcome = match published {
                Ok(()) => Outcome::Done(Protected { record: &record, encrypted, clear }),
                Err(error) => Outcome::Failed(error),
            };
            run.report(&source, Some(&output), outcome);
        }
    }
}
