//! The output tree around the files: folders before they are needed, links, and the folders' own attributes at the
//! end (a folder's time changes with everything written into it, and a read-only one could not be written into).
//!
//! All of it happens relative to handles of folders that were reached through no link below the destination
//! ([`Target`]). A folder that cannot be made is told once; what lies below it is not touched, and its files fail by
//! themselves.

mod branches;
mod ending;
mod making;

pub(super) use ending::{close_again, finish, finish_below, finish_root};
pub(super) use making::{prepare, prepare_below};

use super::in_place::is_in_place;
use super::indexing::refuse_other_names;
use super::job::{IndexMode, Job, Work};
use super::other_key::find_other_key;
use super::tally::Tally;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{MadeFolder, Opened, Target, first_existing, make_folder, make_folders};
use crate::index::{FOLDER, has_index};
use crate::location::resolve;
use crate::tree::{Directory, Tree};
use branches::Branches;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The output tree's folders.
pub(super) struct OutputTree {
    root: Target,
    /// Where the way to the root was there before.
    first_existing: PathBuf,
    /// Whether it is the source too: each of its folders gets its own time back.
    in_place: bool,
    /// How each of the tree's folders came about.
    folders: Vec<Origin>,
    /// How they are divided among threads.
    branches: Branches,
    /// By index, the folders that the file system does not tell from an earlier one, with the name of that: nothing is put
    /// into them.
    pub(super) shared: BTreeMap<u32, String>,
}

impl OutputTree {
    /// Whether the folder of this index is not there, or is not one that this run may go through.
    pub(super) fn is_refused(&self, folder: u32) -> bool {
        self.folders.get(folder as usize).is_none_or(|origin| *origin == Origin::Refused)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Made by this run.
    Made,
    /// There before; opened for its owner, if that was needed.
    Found(Option<Opened>),
    /// Not there, or not ours to go through.
    Refused,
}

/// Refuses a job whose source and destination contain each other, or whose destination hides names unlike the job, or holds files
/// under another key. To be called once before [`super::run`], which does not look for such files.
///
/// # Errors
/// [`Error::SameFile`], [`Error::DestinationInsideSource`], [`Error::SourceInsideDestination`];
/// [`Error::RekeyUnauthenticated`]; [`IndexFault::OtherNames`]; [`Error::OtherKey`] with the path of such a file.
pub fn check(tree: &Tree, job: &Job) -> Result<(), Error> {
    refuse_contradictions(tree, job)?;
    refuse_other_names(job)?;
    if job.allow_mixed_keys || is_in_place(tree, job) {
        return Ok(());
    }
    find_other_key(tree, job).map_or(Ok(()), |path| Err(Error::OtherKey.at(&path)))
}

/// Refuses a job whose source and destination contain each other, or whose formats cannot be re-keyed.
pub(super) fn refuse_contradictions(tree: &Tree, job: &Job) -> Result<(), Error> {
    job.work.check_rekey()?;
    job.check_hidden_names()?;
    if job.hides_outputs() && tree.is_single_file {
        return Err(IndexFault::Unsupported("a folder, not a single file").into());
    }
    let mut passed_over = tree.passed_over;
    let carries = job.index.as_ref().is_some_and(|index| index.mode == IndexMode::Carry);
    let folder = tree.root.join(FOLDER);
    // Below the root of what the user named.
    let is_own = passed_over.index > 0 && !tree.is_single_file && !tree.is_several;
    if is_own && fs::symlink_metadata(&folder).is_ok() {
        if carries {
            passed_over.index -= 1;
        } else if matches!(job.work, Work::Rekey { .. }) && !has_index(&tree.root) {
            return Err(Error::from(IndexFault::Unwritten).at(&folder));
        }
    }
    job.work.check_reserved(passed_over)?;
    let destination = job.destination.as_deref().and_then(Path::file_name);
    destination.map_or(Ok(()), |name| job.check_output_name(name))?;
    let mut output = OsString::new();
    for entry in tree.entries.iter() {
        if job.output_name(entry.name(), &mut output) {
            job.check_output_name(&output).map_err(|error| error.at(&tree.root.join(entry.name())))?;
        }
    }
    match &job.destination {
        None => Ok(()),
        // An address, which no file system has.
        Some(_) if job.index.as_ref().is_some_and(|index| index.store.is_some()) => Ok(()),
        Some(_) if is_in_place(tree, job) => Ok(()),
        Some(destination) if tree.is_single_file => refuse_same_file(tree, job, destination),
        Some(destination) if tree.is_several => refuse_nesting_of_several(tree, destination),
        Some(destination) => refuse_nesting(&tree.root, destination),
    }
}

/// The destination itself: whether it was made, and where the way to it was there before.
pub(super) struct MadeRoot {
    made: MadeFolder,
    first_existing: PathBuf,
}

impl MadeRoot {
    /// Makes the destination; `None` where nothing is written.
    pub(super) fn of(tree: &Tree, job: &Job) -> Result<Option<MadeRoot>, Error> {
        let Some(destination) = &job.destination else { return Ok(None) };
        let (made, first_existing) = make_root(destination, &tree.directories[0], tree.is_single_file)
            .map_err(|error| Error::io("make the destination folder", error))?;
        Ok(Some(MadeRoot { made, first_existing }))
    }
}

/// Makes the destination itself, which may be named through links. With it comes the first folder, from there upwards, that
/// was there before.
fn make_root(
    destination: &Path,
    twin: &Directory,
    is_single_file: bool,
) -> io::Result<(MadeFolder, PathBuf)> {
    if is_single_file {
        return Ok((MadeFolder::Found, make_folders(destination)?));
    }
    let there = first_existing(destination);
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent)?;
    }
    // With `..` in its path it may be there now.
    if destination.is_dir() {
        return Ok((MadeFolder::Found, there));
    }
    match make_folder(destination, Some(&twin.attributes.permissions)) {
        Ok(()) => Ok((MadeFolder::New, there)),
        // Another run may have made it just now.
        Err(_) if destination.is_dir() => Ok((MadeFolder::Found, there)),
        Err(error) => Err(error),
    }
}

/// Counts and reports a folder or link that failed.
pub(super) fn fail(tree: &Tree, destination: &Path, relative: &Path, error: Error, tally: &Tally<'_, u32>) {
    let (source, output) = (tree.root.join(relative), destination.join(relative));
    tally.fail_other(&source, Some(&output), &error.of_destination());
}

fn refuse_same_file(tree: &Tree, job: &Job, destination: &Path) -> Result<(), Error> {
    let mut name = OsString::new();
    let Some(entry) = tree.entries.first().filter(|entry| job.output_name(entry.name(), &mut name)) else {
        return Ok(());
    };
    let source = fs::canonicalize(tree.root.join(entry.name()));
    let output = fs::canonicalize(destination.join(&name));
    if matches!((source, output), (Ok(source), Ok(output)) if source == output) {
        return Err(Error::SameFile);
    }
    Ok(())
}

/// As [`refuse_nesting`] for what the user named in the root. The root itself may hold the destination, and not be it:
/// outputs would get the names of their sources.
fn refuse_nesting_of_several(tree: &Tree, destination: &Path) -> Result<(), Error> {
    let is_root = matches!(fs::canonicalize(&tree.root), Ok(root) if root == resolve(destination));
    if is_root && !tree.entries.is_empty() {
        return Err(Error::SameFile);
    }
    let is_named = |directory: &&Directory| directory.path.components().count() == 1;
    tree.directories
        .iter()
        .filter(is_named)
        .try_for_each(|directory| refuse_nesting(&tree.root.join(&directory.path), destination))
}

/// Neither tree may lie in the other: outputs would become inputs, or replace them.
fn refuse_nesting(source: &Path, destination: &Path) -> Result<(), Error> {
    let Ok(source) = fs::canonicalize(source) else { return Ok(()) };
    let destination = resolve(destination);
    if destination.starts_with(&source) {
        return Err(Error::DestinationInsideSource);
    }
    if source.starts_with(&destination) {
        return Err(Error::SourceInsideDestination);
    }
    Ok(())
}
