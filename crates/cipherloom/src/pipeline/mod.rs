//! The pipeline: carries a plan out.
//!
//! ```text
//! queue of tasks ─> worker 1: read ─> kernel ─> write ─> commit ─┐
//!               └─> worker N: read ─> kernel ─> write ─> commit ─┴─> report
//! ```
//!
//! Each worker goes the whole way with its own buffers, so data stays in one core's cache from read to write; large
//! entries are cut into ranges of segments that any worker may take. An output gets its name only when it is
//! complete. One entry's failure is told and counted, and the others go on.

mod armor;
mod collisions;
mod commit;
mod destination;
mod hidden_names;
mod in_place;
mod indexing;
mod job;
mod key_file;
mod lanes;
mod links;
mod other_key;
mod pieces;
mod queue;
mod single;
mod sync;
mod tally;
mod to_file;
mod translation;
mod worker;

pub use destination::check;
pub use in_place::is_in_place;
pub use indexing::{
    Expectations, Gathering, Indexing, RecordedFile, RecordedFiles, Seen, StreamEnds, find_damaged_copies,
    list_index, list_index_to_replace, list_indexed_files, list_recorded_files, refuse_other_names, reveal,
    select_indexed_files, version_mark,
};
pub use job::{IndexMode, IndexUse, Job, Links, SyncOptions, Work};
pub use key_file::{replace_key_file, write_key_file};
pub use other_key::find_other_key_by;
pub use pieces::{Pieces, Workspace};
pub use single::translate_stream;
pub use sync::{ListedStream, StoredItem, SyncStore, state_mark, sync, sync_to_store};
pub use tally::{Ended, Entries, Tally};
pub use to_file::translate_to_file;

use crate::Error;
use crate::engine::Workers;
use crate::plan::Plan;
use crate::report::{Observer, Report};
use crate::tree::Tree;
use collisions::Collisions;
use destination::OutputTree;
use indexing::output_folders;
use queue::Queue;
use std::collections::BTreeMap;
use std::time::Instant;
use worker::{Run, TreeEntries, Worker};

/// Carries out `plan` for `tree`. Returns when every entry has ended, well or not.
///
/// If `observer` stops the run, it returns within what one run of segments takes. The summary then holds what had
/// ended by then; other entries are neither told nor counted, and nothing of them is left behind but folders.
///
/// # Errors
/// If nothing could be started at all: [`Error::PlanMismatch`] for a plan of another tree or job; the destination cannot
/// be made; as [`check`], but for [`Error::OtherKey`]. [`Error::Internal`] if a worker panicked.
/// What goes wrong with single entries is told to `observer` and counted in the summary.
pub fn run(tree: &Tree, plan: &Plan, job: &Job, observer: &dyn Observer) -> Result<Report, Error> {
    let start = Instant::now();
    plan.check_fits(tree.entries.len(), &job.work.request())?;
    destination::refuse_contradictions(tree, job)?;
    refuse_other_names(job)?;
    let in_place = is_in_place(tree, job);
    // In place, outputs replace the only copy, and links are there already.
    let mut job = job.clone();
    if in_place {
        (job.durable, job.links, job.preserve_modes) = (true, Links::Skip, true);
    }
    let job = &job;
    let entries = TreeEntries { tree, job };
    let workers = Workers::new(plan.threads, observer);
    let tally = Tally::new(&entries, &workers);
    for unlisted in &tree.unlisted {
        tally.fail_other(&unlisted.path, None, &unlisted.error);
    }
    let hidden_folders = job.hides_outputs().then(|| output_folders(tree)).transpose()?;
    // The folders that the outputs go to.
    let folders = hidden_folders.as_ref().unwrap_or(tree);
    let outputs = destination::prepare(tree, folders, job, plan.threads, &tally)?;
    let indexing = match Indexing::begin(tree, job, in_place, &tally) {
        Ok(indexing) => indexing,
        Err(error) => {
            if let Some(outputs) = &outputs {
                destination::close_again(folders, outputs);
            }
            return Err(error);
        }
    };
    let all_ended = work_through(tree, plan, job, outputs.as_ref(), indexing.as_ref(), &tally, &workers);
    let found = tree.entries.len() as u64;
    if tally.is_stopped() {
        let indexing = indexing.filter(|indexing| all_ended.is_ok() && indexing.outlives_a_stop());
        let index = indexing.and_then(|indexing| indexing.finish(outputs.as_ref(), &tally));
        if let Some(outputs) = &outputs {
            if in_place {
                // The folders are nobody's draft: what a stopped run replaced in them is there to stay.
                destination::finish(folders, job, outputs, &tally)?;
            } else {
                destination::close_again(folders, outputs);
            }
        }
        // A panic stops the run too.
        all_ended?;
        return Ok(Report { index, seconds: start.elapsed().as_secs_f64(), ..tally.report(found) });
    }
    let links = links::copy_links(tree, job, outputs.as_ref(), &tally);
    // Before the folders are closed, which may become read-only.
    let index = indexing.and_then(|indexing| indexing.finish(outputs.as_ref(), &tally));
    if let Some(outputs) = &outputs {
        destination::finish(folders, job, outputs, &tally)?;
    }
    Ok(Report { links, index, seconds: start.elapsed().as_secs_f64(), ..tally.report(found) })
}

/// Has every entry processed.
fn work_through(
    tree: &Tree,
    plan: &Plan,
    job: &Job,
    outputs: Option<&OutputTree>,
    indexing: Option<&Indexing<'_>>,
    tally: &Tally<'_, u32>,
    workers: &Workers<'_>,
) -> Result<(), Error> {
    let queue = Queue::new(plan);
    let collisions = Collisions::new(tree.entries.len());
    let none = BTreeMap::new();
    let shared_folders = outputs.map_or(&none, |outputs| &outputs.shared);
    let run = Run {
        tree,
        plan,
        job,
        in_place: is_in_place(tree, job),
        queue: &queue,
        tally,
        collisions: &collisions,
        shared_folders,
        indexing,
        observer: tally,
    };
    let all_ended = workers.run(&|| Worker::new(run).work());
    tally.release_held();
    all_ended
}
