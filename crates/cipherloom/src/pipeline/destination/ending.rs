//! Gives the output folders their own attributes when all that goes into them is there.

use super::{Origin, OutputTree, fail};
use crate::Error;
use crate::files::{Ending, Target, sync_parents};
use crate::pipeline::job::Job;
use crate::pipeline::tally::Tally;
use crate::report::Unobserved;
use crate::tree::Tree;
use std::io;
use std::path::Path;

/// Gives the folders that this run made the permissions and times of their twins, children before parents, and
/// forces them to stable storage if the job wants that.
///
/// A resumed run finishes what a stopped one began, and cannot know which folders that had made. So with
/// `--if-exists skip` a folder that was there gets its twin's time too, and loses permissions that its twin lacks. It gets
/// none that it did not have, but for its owner's where they were missing; or exactly its twin's, if the job preserves them.
/// The root, which may be older than both, is left as it was. With `overwrite` folders that were there end as they were, and so
/// do those of files with hidden names, which have no twins.
///
/// # Errors
/// [`Error::Internal`] after a panic; folders that were opened for the run are closed then.
pub(in crate::pipeline) fn finish(
    tree: &Tree,
    job: &Job,
    outputs: &OutputTree,
    tally: &Tally<'_, u32>,
) -> Result<(), Error> {
    finish_below(tree, job, outputs, tally)?;
    finish_root(tree, job, outputs, tally);
    Ok(())
}

/// The same for all folders but the root.
pub(in crate::pipeline) fn finish_below(
    tree: &Tree,
    job: &Job,
    outputs: &OutputTree,
    tally: &Tally<'_, u32>,
) -> Result<(), Error> {
    let threads = outputs.branches.threads();
    let start = || outputs.root.with_waypoints(threads);
    // A run that was stopped ends its folders too.
    let ended = outputs.branches.work_on_each(threads, &Unobserved, start, |branch, root| {
        branch.iter().rev().for_each(|index| finish_folder(tree, job, outputs, *index, root, tally));
    });
    ended.inspect_err(|_| close_again(tree, outputs))?;
    let root = start();
    let top = outputs.branches.top().iter().rev();
    top.for_each(|index| finish_folder(tree, job, outputs, *index, &root, tally));
    Ok(())
}

/// The same for the root, when all folders below it are finished.
pub(in crate::pipeline) fn finish_root(tree: &Tree, job: &Job, outputs: &OutputTree, tally: &Tally<'_, u32>) {
    let Some(destination) = &job.destination else { return };
    finish_folder(tree, job, outputs, 0, &outputs.root.with_waypoints(1), tally);
    if job.durable
        && let Err(error) = sync_parents(destination, &outputs.first_existing)
    {
        fail(tree, destination, Path::new(""), error, tally);
    }
}

fn finish_folder(
    tree: &Tree,
    job: &Job,
    outputs: &OutputTree,
    index: u32,
    root: &Target,
    tally: &Tally<'_, u32>,
) {
    // The folder around what the user named is not part of it.
    let first_twin = u32::from(tree.is_single_file || tree.is_several);
    let has_twins = !job.hides_outputs();
    let directory = &tree.directories[index as usize];
    let attributes = &directory.attributes;
    let ending = match outputs.folders[index as usize] {
        Origin::Made if job.preserve_modes => Ending::Preserved(attributes),
        Origin::Made => Ending::Made(attributes),
        Origin::Found(opened) if outputs.in_place && has_twins && index >= first_twin => {
            Ending::Resumed(attributes, opened)
        }
        Origin::Found(_) if job.settles_folders() && has_twins && index > 0 && job.preserve_modes => {
            Ending::Preserved(attributes)
        }
        Origin::Found(opened) if job.settles_folders() && has_twins && index > 0 => {
            Ending::Resumed(attributes, opened)
        }
        Origin::Found(Some(opened)) => Ending::Closed(opened),
        Origin::Found(None) if job.durable => Ending::AsItIs,
        // What was refused has been told.
        Origin::Found(None) | Origin::Refused => return,
    };
    match root.finish(&directory.path, ending, job.durable) {
        Ok(true) => {}
        Ok(false) => tally.count_attributes_refused(),
        // Somebody else's folder, into which this user may not look. What was to go into it has been told.
        Err(Error::Io { source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied && !matches!(ending, Ending::Made(_)) =>
        {
            tally.count_attributes_refused();
        }
        Err(error) => {
            let destination = job.destination.as_deref().unwrap_or(Path::new(""));
            fail(tree, destination, &directory.path, error, tally);
        }
    }
}

/// After a run that was stopped: folders that were opened for it are as they were.
pub(in crate::pipeline) fn close_again(tree: &Tree, outputs: &OutputTree) {
    let root = outputs.root.with_waypoints(1);
    for (directory, origin) in tree.directories.iter().zip(&outputs.folders).rev() {
        if let Origin::Found(Some(opened)) = origin {
            // A run that goes on with it opens what could not be closed, and closes it.
            let _ = root.finish(&directory.path, Ending::Closed(*opened), false);
        }
    }
}
