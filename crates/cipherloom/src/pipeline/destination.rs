//! The output tree around the files: folders before they are needed, links, and the folders' own attributes at the
//! end (a folder's time changes with everything written into it, and a read-only one could not be written into).
//!
//! All of it happens relative to handles of folders that were reached through no link below the destination
//! ([`Target`]). A folder that cannot be made is told once; what lies below it is not touched, and its files fail by
//! themselves.

use super::folders::{Ending, Folders, Identity, Target, make_folder};
use super::giving_up::Watched;
use super::job::{IfExists, Job, Links, Work};
use super::stable::{first_existing, make_folders, sync_parents};
use super::tally::Tally;
use crate::Error;
use crate::error::RunFault;
use crate::report::{Event, Observer, Outcome};
use crate::tree::{Directory, Tree};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The output tree's folders.
pub(super) struct OutputTree {
    root: Target,
    /// Where the way to the root was there before.
    first_existing: PathBuf,
    /// How each of the tree's folders came about.
    folders: Vec<Origin>,
    /// By index, the folders that the file system does not tell from an earlier one, with the name of that: nothing is put
    /// into them.
    pub(super) shared: BTreeMap<u32, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Made by this run.
    Made,
    /// There before.
    Found,
    /// Not there, or not ours to go through.
    Refused,
}

/// Refuses a job whose source and destination contain each other, as [`super::run`] does before anything else.
///
/// # Errors
/// [`Error::SameFile`], [`Error::DestinationInsideSource`], [`Error::SourceInsideDestination`]; [`Error::Chained`] for
/// re-keying a format without segments.
pub fn check(tree: &Tree, job: &Job<'_>) -> Result<(), Error> {
    if let Work::Rekey { from, to } = job.work
        && (from.is_chained() || to.is_chained())
    {
        return Err(Error::Chained);
    }
    match &job.destination {
        None => Ok(()),
        Some(destination) if tree.is_single_file => refuse_same_file(tree, job, destination),
        Some(destination) => refuse_nesting(&tree.root, destination),
    }
}

/// Makes the output folders; `None` where nothing is written.
pub(super) fn prepare(
    tree: &Tree,
    job: &Job<'_>,
    tally: &Tally,
    observer: &Watched<'_>,
) -> Result<Option<OutputTree>, Error> {
    check(tree, job)?;
    let Some(destination) = &job.destination else { return Ok(None) };
    let (origin, first_existing) = make_root(destination, &tree.directories[0], tree.is_single_file)
        .map_err(|error| Error::io("make the destination folder", error))?;
    // Once more, now that no part of its path is missing: `..` behind a folder that was not there yet leads elsewhere.
    check(tree, job)?;
    let mut folders = Vec::with_capacity(tree.directories.len());
    folders.push(origin);
    let root = Target::root(destination)?;
    // With the name of the folder that this one is not told from, if that is why.
    let mut refused: BTreeMap<&Path, Option<String>> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    let mut known = Known::default();
    // Folders side by side follow each other in the listing.
    let mut parent: Option<(&Path, Target)> = None;
    for directory in tree.directories.iter().skip(1).take_while(|_| !observer.is_stopped()) {
        let path = directory.path.as_path();
        let above = path.parent().unwrap_or(Path::new(""));
        let index = folders.len() as u32;
        if let Some(other) = refused.get(above).cloned() {
            shared.extend(other.clone().map(|other| (index, other)));
            refused.insert(path, other);
            folders.push(Origin::Refused);
            continue;
        }
        let made = make_below(&root, &mut parent, above, directory, &mut known);
        folders.push(*made.as_ref().unwrap_or(&Origin::Refused));
        if let Err(error) = made {
            let other = match &error {
                Error::Run(RunFault::NameCollision { other }) => Some(other.clone()),
                _ => None,
            };
            shared.extend(other.clone().map(|other| (index, other)));
            refused.insert(path, other);
            tell(tree, destination, path, error, tally, observer);
        }
    }
    Ok(Some(OutputTree { root, first_existing, folders, shared }))
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
) -> Result<Origin, Error> {
    let name = twin.path.file_name().ok_or(Error::NeitherFileNorFolder)?;
    let permissions = Some(&twin.attributes.permissions);
    if parent.as_ref().is_none_or(|(path, _)| *path != above) {
        *parent = Some((above, root.below(above)?));
        known.by_case.clear();
    }
    let (_, folder) = parent.as_ref().expect("opened above");
    let is_made = folder.make_folder(name, permissions)?;
    let other = folder.identity(name).and_then(|identity| known.by_identity.insert(identity, name));
    let by_case = known.by_case.insert(name.to_string_lossy().to_lowercase(), name);
    match other.or_else(|| by_case.filter(|_| !is_made && !folder.lists(name))) {
        _ if is_made => Ok(Origin::Made),
        None => Ok(Origin::Found),
        Some(other) => {
            let other = other.to_string_lossy().into_owned();
            Err(Error::Run(RunFault::NameCollision { other }))
        }
    }
}

/// Makes the destination itself, which may be named through links. With it comes the first folder, from there upwards, that
/// was there before. The folder around a single output is nobody's twin.
fn make_root(destination: &Path, twin: &Directory, is_single_file: bool) -> io::Result<(Origin, PathBuf)> {
    if is_single_file {
        return Ok((Origin::Found, make_folders(destination)?));
    }
    let there = first_existing(destination);
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent)?;
    }
    // With `..` in its path it may be there now.
    if destination.is_dir() {
        return Ok((Origin::Found, there));
    }
    match make_folder(destination, Some(&twin.attributes.permissions)) {
        Ok(()) => Ok((Origin::Made, there)),
        // Another run may have made it just now.
        Err(_) if destination.is_dir() => Ok((Origin::Found, there)),
        Err(error) => Err(error),
    }
}

/// Trouble with a folder or link is told and counted like that of entries.
fn tell(
    tree: &Tree,
    destination: &Path,
    relative: &Path,
    error: Error,
    tally: &Tally,
    observer: &Watched<'_>,
) {
    let error = error.of_destination();
    if error.ends_run() && !observer.giving_up.give_up() {
        return;
    }
    tally.fail_one();
    let (source, output) = (tree.root.join(relative), destination.join(relative));
    let outcome = Outcome::Failed(&error);
    observer.ended(&Event { source: &source, output: Some(&output), bytes: 0, outcome });
}

fn refuse_same_file(tree: &Tree, job: &Job<'_>, destination: &Path) -> Result<(), Error> {
    let mut name = std::ffi::OsString::new();
    let Some(entry) = tree.entries.first().filter(|entry| job.output_name(&entry.name, &mut name)) else {
        return Ok(());
    };
    let source = fs::canonicalize(tree.root.join(&entry.name));
    let output = fs::canonicalize(destination.join(&name));
    if matches!((source, output), (Ok(source), Ok(output)) if source == output) {
        return Err(Error::SameFile);
    }
    Ok(())
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

/// The absolute path without links, of a path whose last parts may not exist yet.
fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for ancestor in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (fs::canonicalize(ancestor), absolute.strip_prefix(ancestor)) {
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    absolute
}

/// Makes the tree's links again, if the job wants that; returns how many.
pub(super) fn copy_links(
    tree: &Tree,
    job: &Job<'_>,
    outputs: Option<&OutputTree>,
    tally: &Tally,
    observer: &Watched<'_>,
) -> u64 {
    let (Some(destination), Links::Copy) = (&job.destination, job.links) else { return 0 };
    let mut copied = 0;
    let mut folders = Folders::new(&tree.root, Some(destination));
    for link in &tree.links {
        let directory = &tree.directories[link.directory as usize].path;
        let shared = outputs.and_then(|outputs| outputs.shared.get(&link.directory));
        let collision = |other: &String| Error::Run(RunFault::NameCollision { other: other.clone() });
        let is_free = shared.map_or(Ok(()), |other| Err(collision(other)));
        let made = is_free.and_then(|()| folders.open(link.directory, directory)).and_then(|folder| {
            let goal = folder.source.read_link(&link.name)?;
            folder.target().make_link(&goal, &link.name, job.if_exists)
        });
        match made {
            Ok(made) => copied += u64::from(made),
            Err(error) => tell(tree, destination, &directory.join(&link.name), error, tally, observer),
        }
    }
    copied
}

/// Gives the folders that this run made the permissions and times of their twins, children before parents, and
/// forces them to stable storage if the job wants that.
///
/// A resumed run finishes what a stopped one began, and cannot know which folders that had made. So with
/// `--if-exists skip` a folder that was there gets its twin's time too, and loses permissions that its twin lacks; it never
/// gets any that it did not have. The root, which may be older than both, is left as it was.
pub(super) fn finish(
    tree: &Tree,
    job: &Job<'_>,
    outputs: &OutputTree,
    tally: &Tally,
    observer: &Watched<'_>,
) {
    let Some(destination) = &job.destination else { return };
    for (index, directory) in tree.directories.iter().enumerate().rev() {
        let attributes = &directory.attributes;
        let ending = match outputs.folders.get(index) {
            Some(Origin::Made) => Ending::Made(attributes),
            Some(Origin::Found) if job.if_exists == IfExists::Skip && index > 0 => {
                Ending::Resumed(attributes)
            }
            Some(Origin::Found) if job.durable => Ending::AsItIs,
            // What was refused has been told.
            Some(Origin::Found | Origin::Refused) | None => continue,
        };
        if let Err(error) = outputs.root.finish(&directory.path, ending, job.durable) {
            tell(tree, destination, &directory.path, error, tally, observer);
        }
    }
    if job.durable
        && let Err(error) = sync_parents(destination, &outputs.first_existing)
    {
        tell(tree, destination, Path::new(""), error, tally, observer);
    }
}
