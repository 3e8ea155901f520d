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

mod buffers;
mod collisions;
mod destination;
mod draft;
mod folders;
mod giving_up;
mod goal;
mod in_place;
mod input;
mod job;
mod key_file;
mod lanes;
mod other_key;
mod output;
mod passage;
mod pieces;
mod published;
mod queue;
mod range;
mod replaced_key;
mod shared;
mod single;
mod source_file;
mod span;
mod spread;
mod stable;
mod tally;
mod to_file;
mod translation;
mod worker;
mod workers;

pub use destination::check;
pub use draft::Draft;
pub use giving_up::{GivingUp, Verdict};
pub use in_place::is_in_place;
pub use job::{IfExists, Job, Links, Work};
pub use key_file::write_key_file;
pub use other_key::{find_other_key, find_other_key_by};
#[cfg(unix)]
pub use output::accept_writes;
pub use pieces::{Pieces, Workspace};
pub use published::Published;
pub use range::{SealedFile, open_range};
pub use replaced_key::replace_key_file;
pub use single::translate_stream;
pub use source_file::{SourceFile, open_file, open_file_below};
pub use stable::{make_folders, sync_folders, sync_parents};
pub use to_file::translate_to_file;
pub use workers::{on_watched_workers, on_workers};

use crate::Error;
use crate::plan::Plan;
use crate::report::{Event, Observer, Outcome, Summary};
use crate::tree::Tree;
use collisions::Collisions;
use giving_up::Watched;
use queue::Queue;
use std::collections::BTreeMap;
use std::time::Instant;
use tally::Tally;
use worker::{Run, Worker};

/// Carries out `plan` for `tree`. Returns when every entry has ended, well or not.
///
/// If `observer` stops the run, it returns within what one run of segments takes. The summary then holds what had
/// ended by then; other entries are neither told nor counted, and nothing of them is left behind but folders.
///
/// # Errors
/// If nothing could be started at all: [`Error::PlanMismatch`] for a plan of another tree or job; the destination cannot
/// be made, or source and destination contain each other.
/// What goes wrong with single entries is told to `observer` and counted in the summary.
pub fn run(tree: &Tree, plan: &Plan, job: &Job<'_>, observer: &dyn Observer) -> Result<Summary, Error> {
    let start = Instant::now();
    plan.check_fits(tree.entries.len(), &job.work.request())?;
    let tally = Tally::default();
    for unlisted in &tree.unlisted {
        tally.fail_one();
        let outcome = Outcome::Failed(&unlisted.error);
        observer.ended(&Event { source: &unlisted.path, output: None, bytes: 0, outcome });
    }
    let in_place = is_in_place(tree, job);
    let job = &if in_place { in_place::settings(job) } else { job.clone() };
    let giving_up = GivingUp::default();
    let watched = Watched { observer, giving_up: &giving_up };
    let outputs = destination::prepare(tree, job, &tally, &watched)?;
    let queue = Queue::new(plan);
    let collisions = Collisions::new(tree.entries.len());
    let none = BTreeMap::new();
    let shared_folders = outputs.as_ref().map_or(&none, |outputs| &outputs.shared);
    let run = Run {
        tree,
        plan,
        job,
        in_place,
        queue: &queue,
        tally: &tally,
        collisions: &collisions,
        giving_up: &giving_up,
        shared_folders,
        observer: &watched,
    };
    // Whoever can stop the run may be able to do so from this thread only, so it goes on asking.
    on_watched_workers(plan.threads, &|| Worker::new(run).work(), &|| {
        watched.is_stopped();
    });
    for (index, error) in giving_up.held() {
        run.tell(index, &Err(error));
    }
    if watched.is_stopped() {
        if let Some(outputs) = &outputs {
            if in_place {
                // The folders are nobody's draft: what a stopped run replaced in them is there to stay.
                destination::finish(tree, job, outputs, &tally, &watched);
            } else {
                destination::close_again(tree, outputs);
            }
        }
        let mut summary = tally.summary(0, start.elapsed().as_secs_f64());
        if giving_up.has_given_up() {
            summary.untried = (tree.entries.len() as u64).saturating_sub(tally.ended());
        }
        return Ok(summary);
    }
    let links = destination::copy_links(tree, job, outputs.as_ref(), &tally, &watched);
    if let Some(outputs) = &outputs {
        destination::finish(tree, job, outputs, &tally, &watched);
    }
    Ok(tally.summary(links, start.elapsed().as_secs_f64()))
}
