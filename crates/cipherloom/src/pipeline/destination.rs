//! The output tree around the files: folders before they are needed, links, and the folders' own attributes at the
//! end (a folder's time changes with everything written into it, and a read-only one could not be written into).
//!
//! All of it happens relative to handles of folders that were reached through no link below the destination
//! ([`Target`]). A folder that cannot be made is told once; what lies below it is not touched, and its files fail by
//! themselves.

use super::in_place::is_in_place;
use super::indexing::refuse_other_names;
use super::job::{IndexMode, Job, Work};
use super::other_key::find_other_key;
use super::tally::Tally;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{
    Ending, Identity, IfExists, MadeFolder, Opened, Target, first_existing, make_folder, make_folders,
    sync_parents,
};
use crate::index::{FOLDER, has_index};
use crate::location::resolve;
use crate::report::Observer;
use crate::tree::{Directory, Tree};
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::ops::Range;
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

/// Makes the output folders, which are those of `tree`; `None` where nothing is written.
pub(super) fn prepare(
    source: &Tree,
    tree: &Tree,
    job: &Job,
    tally: &Tally<'_, u32>,
) -> Result<Option<OutputTree>, Error> {
    MadeRoot::of(tree, job)?.map(|made| prepare_below(&made, source, tree, job, tally)).transpose()
}

/// Makes the output folders below the destination.
pub(super) fn prepare_below(
    MadeRoot { made, first_existing }: &MadeRoot,
    source: &Tree,
    tree: &Tree,
    job: &Job,
    tally: &Tally<'_, u32>,
) -> Result<OutputTree, Error> {
    let destination =
        job.destination.as_deref().ok_or_else(|| Error::internal("a job without a destination"))?;
    // Once more, now that no part of its path is missing: `..` behind a folder that was not there yet leads elsewhere.
    refuse_contradictions(source, job)?;
    let mut folders = Vec::with_capacity(tree.directories.len());
    let root = Target::root(destination)?.with_waypoints();
    // The folder around a single output is nobody's twin.
    let first =
        if tree.is_single_file { Origin::Found(None) } else { origin(&root, Path::new(""), *made, job)? };
    folders.push(first);
    if !tree.entries.is_empty() || job.hides_names() {
        match root.check_naming(job.existing()) {
            // Who may not write here may be allowed to further down.
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => {
                if let Origin::Found(Some(opened)) = first {
                    let _ = root.finish(Path::new(""), Ending::Closed(opened), false);
                }
                return Err(error);
            }
            Ok(()) => {}
        }
    }
    // With the name of the folder that this one is not told from, if that is why.
    let mut refused: BTreeMap<&Path, Option<String>> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    let mut known = Known::default();
    // Folders side by side follow each other in the listing.
    let mut parent: Option<(&Path, Target)> = None;
    for directory in tree.directories.iter().skip(1).take_while(|_| !tally.is_stopped()) {
        let path = directory.path.as_path();
        let above = path.parent().unwrap_or(Path::new(""));
        let index = folders.len() as u32;
        if let Some(other) = refused.get(above).cloned() {
            shared.extend(other.clone().map(|other| (index, other)));
            refused.insert(path, other);
            folders.push(Origin::Refused);
            continue;
        }
        let made = make_below(&root, &mut parent, above, directory, &mut known)
            .and_then(|made| origin(&root, path, made, job));
        folders.push(*made.as_ref().unwrap_or(&Origin::Refused));
        if let Err(error) = made {
            let other = match &error {
                Error::NameCollision { other } => Some(other.clone()),
                _ => None,
            };
            shared.extend(other.clone().map(|other| (index, other)));
            refused.insert(path, other);
            fail(tree, destination, path, error, tally);
        }
    }
    let first_existing = first_existing.clone();
    if job.hides_outputs() {
        // Files are not in the folders of their source.
        shared.clear();
    }
    // What bears a folder's name at the end of the run is looked at anew.
    let root = root.with_waypoints();
    Ok(OutputTree { root, first_existing, in_place: is_in_place(tree, job), folders, shared })
}

/// What a folder is to this run. One that was there may hold what a killed run left, and if this run is to go on with it, it
/// is made usable: its permissions are those of its twin, which may have been read-only, or unreadable at that time.
fn origin(root: &Target, path: &Path, made: MadeFolder, job: &Job) -> Result<Origin, Error> {
    if made == MadeFolder::New {
        return Ok(Origin::Made);
    }
    let goes_on = job.if_exists != IfExists::Fail;
    let opened = if goes_on { root.open_up(path)? } else { None };
    root.remove_leftovers(path);
    Ok(Origin::Found(opened))
}

/// Folders that were made or found, to notice when the file system takes another one for one of them.
#[derive(Default)]
struct Known<'t> {
    by_identity: HashMap<Identity, &'t OsStr>,
    /// Those of one parent by name in lower case: some file systems number folders by name.
    by_case: HashMap<String, &'t OsStr>,
}

/// Makes a folder in the one at `above`, which is kept in `parent` for the next one.
fn make_below<'t>(
    root: &Target,
    parent: &mut Option<(&'t Path, Target)>,
    above: &'t Path,
    twin: &'t Directory,
    known: &mut Known<'t>,
) -> Result<MadeFolder, Error> {
    let name = twin.path.file_name().expect("each folder below the root has a name");
    let permissions = Some(&twin.attributes.permissions);
    if parent.as_ref().is_none_or(|(path, _)| *path != above) {
        *parent = Some((above, root.below(above)?));
        known.by_case.clear();
    }
    let (_, folder) = parent.as_ref().expect("opened above");
    let made = folder.make_folder(name, permissions)?;
    let is_made = made == MadeFolder::New;
    let other = folder.identity(name).and_then(|identity| known.by_identity.insert(identity, name));
    let by_case = known.by_case.insert(name.to_string_lossy().to_lowercase(), name);
    match other.or_else(|| by_case.filter(|_| !is_made && !folder.lists(name))) {
        Some(other) if !is_made => {
            let other = other.to_string_lossy().into_owned();
            Err(Error::NameCollision { other })
        }
        _ => Ok(made),
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

/// Gives the folders that this run made the permissions and times of their twins, children before parents, and
/// forces them to stable storage if the job wants that.
///
/// A resumed run finishes what a stopped one began, and cannot know which folders that had made. So with
/// `--if-exists skip` a folder that was there gets its twin's time too, and loses permissions that its twin lacks. It gets
/// none that it did not have, but for its owner's where they were missing; or exactly its twin's, if the job preserves them.
/// The root, which may be older than both, is left as it was. With `overwrite` folders that were there end as they were, and so
/// do those of files with hidden names, which have no twins. `folders`: which of the tree's.
pub(super) fn finish(
    tree: &Tree,
    job: &Job,
    outputs: &OutputTree,
    tally: &Tally<'_, u32>,
    folders: Range<usize>,
) {
    let Some(destination) = &job.destination else { return };
    // The folder around what the user named is not part of it.
    let first_twin = usize::from(tree.is_single_file || tree.is_several);
    let has_twins = !job.hides_outputs();
    let has_root = folders.contains(&0);
    for index in folders.rev() {
        let directory = &tree.directories[index];
        let attributes = &directory.attributes;
        let ending = match outputs.folders.get(index) {
            Some(Origin::Made) if job.preserve_modes => Ending::Preserved(attributes),
            Some(Origin::Made) => Ending::Made(attributes),
            Some(Origin::Found(opened)) if outputs.in_place && has_twins && index >= first_twin => {
                Ending::Resumed(attributes, *opened)
            }
            Some(Origin::Found(opened)) if job.settles_folders() && has_twins && index > 0 => {
                if job.preserve_modes {
                    Ending::Preserved(attributes)
                } else {
                    Ending::Resumed(attributes, *opened)
                }
            }
            Some(Origin::Found(Some(opened))) => Ending::Closed(*opened),
            Some(Origin::Found(None)) if job.durable => Ending::AsItIs,
            // What was refused has been told.
            Some(Origin::Found(None) | Origin::Refused) | None => continue,
        };
        match outputs.root.finish(&directory.path, ending, job.durable) {
            Ok(true) => {}
            Ok(false) => tally.count_attributes_refused(),
            // Somebody else's folder, into which this user may not look. What was to go into it has been told.
            Err(Error::Io { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied && !matches!(ending, Ending::Made(_)) =>
            {
                tally.count_attributes_refused();
            }
            Err(error) => fail(tree, destination, &directory.path, error, tally),
        }
    }
    if has_root
        && job.durable
        && let Err(error) = sync_parents(destination, &outputs.first_existing)
    {
        fail(tree, destination, Path::new(""), error, tally);
    }
}

/// After a run that was stopped: folders that were opened for it are as they were.
pub(super) fn close_again(tree: &Tree, outputs: &OutputTree) {
    for (directory, origin) in tree.directories.iter().zip(&outputs.folders).rev() {
        if let Origin::Found(Some(opened)) = origin {
            // A run that goes on with it opens what could not be closed, and closes it.
            let _ = outputs.root.finish(&directory.path, Ending::Closed(*opened), false);
        }
    }
}
