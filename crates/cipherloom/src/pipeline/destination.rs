//! The output tree around the files: folders before they are needed, links, and the folders' own attributes at the
//! end (a folder's time changes with everything written into it, and a read-only one could not be written into).

use super::job::{IfExists, Job, Links, Work};
use super::tally::Tally;
use crate::Error;
use crate::report::{Event, Observer, Outcome};
use crate::tree::{Directory, Link, Tree};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Which of the tree's folders were made by this run.
pub(super) struct Made(Vec<bool>);

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

/// Makes the output folders.
pub(super) fn prepare(
    tree: &Tree,
    job: &Job<'_>,
    tally: &Tally,
    observer: &dyn Observer,
) -> Result<Made, Error> {
    check(tree, job)?;
    let Some(destination) = &job.destination else { return Ok(Made(Vec::new())) };
    let root_is_new = make_root(destination, &tree.directories[0], tree.is_single_file)
        .map_err(|error| Error::io("make the destination folder", error))?;
    // Once more, now that no part of its path is missing: `..` behind a folder that was not there yet leads elsewhere.
    check(tree, job)?;
    let mut made = vec![root_is_new && !tree.is_single_file];
    for directory in tree.directories.iter().skip(1).take_while(|_| !observer.is_stopped()) {
        let path = destination.join(&directory.path);
        let result = make_folder(&path, directory);
        made.push(result.is_ok());
        let Err(error) = result.map_err(|error| unless_there(&path, error)) else { continue };
        if let Some(error) = error {
            tally.fail_one();
            let source = tree.root.join(&directory.path);
            let outcome = Outcome::Failed(&error);
            observer.ended(&Event { source: &source, output: Some(&path), bytes: 0, outcome });
        }
    }
    Ok(Made(made))
}

/// True if the destination was not there before.
fn make_root(destination: &Path, twin: &Directory, is_single_file: bool) -> io::Result<bool> {
    if destination.is_dir() {
        return Ok(false);
    }
    if is_single_file {
        return fs::create_dir_all(destination).map(|()| true);
    }
    if let Some(parent) = destination.parent() {
        fs::create_dir_all(parent)?;
    }
    // With `..` in its path it may be there now.
    if destination.is_dir() { Ok(false) } else { make_folder(destination, twin).map(|()| true) }
}

/// A folder that is there already is as good as made; anything else in its place is not.
pub(super) fn unless_there(path: &Path, error: io::Error) -> Option<Error> {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => None,
        Ok(there) if there.is_symlink() => Some(Error::LinkInDestination),
        _ => Some(Error::io("make the output folder", error)),
    }
}

/// No more open than its twin from the start, and writable for its owner until the end.
#[cfg(unix)]
fn make_folder(path: &Path, twin: &Directory) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    fs::DirBuilder::new().mode(twin.attributes.permissions.mode() & 0o777 | 0o700).create(path)
}

#[cfg(not(unix))]
fn make_folder(path: &Path, _twin: &Directory) -> io::Result<()> {
    fs::create_dir(path)
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
pub(super) fn copy_links(tree: &Tree, job: &Job<'_>, tally: &Tally, observer: &dyn Observer) -> u64 {
    let (Some(destination), Links::Copy) = (&job.destination, job.links) else { return 0 };
    let mut copied = 0;
    for link in &tree.links {
        let relative = tree.directories[link.directory as usize].path.join(&link.name);
        let (source, output) = (tree.root.join(&relative), destination.join(&relative));
        match copy_link(link, &source, &output, job.if_exists) {
            Ok(true) => copied += 1,
            Ok(false) => {}
            Err(error) => {
                tally.fail_one();
                let outcome = Outcome::Failed(&error);
                observer.ended(&Event { source: &source, output: Some(&output), bytes: 0, outcome });
            }
        }
    }
    copied
}

fn copy_link(_link: &Link, source: &Path, output: &Path, if_exists: IfExists) -> Result<bool, Error> {
    let target = fs::read_link(source).map_err(|error| Error::io("read the link", error))?;
    if if_exists == IfExists::Overwrite && output.is_symlink() {
        fs::remove_file(output).map_err(|error| Error::io("replace the link", error))?;
    }
    match make_link(&target, output) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match if_exists {
            IfExists::Skip => Ok(false),
            IfExists::Fail | IfExists::Overwrite => Err(Error::OutputExists),
        },
        Err(error) => Err(Error::io("make the link", error)),
    }
}

#[cfg(unix)]
fn make_link(target: &Path, output: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, output)
}

#[cfg(windows)]
fn make_link(target: &Path, output: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(target, output)
}

/// Gives the folders that this run made the permissions and times of their twins, children before parents, and
/// forces them to stable storage if the job wants that. Trouble is told and counted like that of entries.
pub(super) fn finish(tree: &Tree, job: &Job<'_>, made: &Made, tally: &Tally, observer: &dyn Observer) {
    let Some(destination) = &job.destination else { return };
    for (index, directory) in tree.directories.iter().enumerate().rev() {
        let path = destination.join(&directory.path);
        // A resumed run finishes the folders that the stopped one made; the root may be older than both.
        let is_resumed = job.if_exists == IfExists::Skip && index > 0 && path.is_dir() && !path.is_symlink();
        let is_made = made.0.get(index).copied().unwrap_or(false) || is_resumed;
        if let Err(error) = finish_folder(&path, directory, is_made, job.durable) {
            tally.fail_one();
            let source = tree.root.join(&directory.path);
            let outcome = Outcome::Failed(&error);
            observer.ended(&Event { source: &source, output: Some(&path), bytes: 0, outcome });
        }
    }
}

fn finish_folder(path: &Path, twin: &Directory, is_made: bool, durable: bool) -> Result<(), Error> {
    if is_made {
        // The time first: it needs the folder open, which its permissions may then forbid.
        set_modified(path, twin.attributes.modified)
            .and_then(|()| fs::set_permissions(path, twin.attributes.permissions.clone()))
            .map_err(|error| Error::io("set a folder's permissions and time", error))?;
    }
    // A folder that is not there has been told with its entries.
    if durable && path.is_dir() {
        let parent = path.parent().filter(|_| is_made);
        for folder in [Some(path), parent].into_iter().flatten() {
            sync(folder).map_err(|error| Error::io("force a folder to stable storage", error))?;
        }
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    fs::File::open(folder)?.sync_all()
}

/// Names are part of the file system's own journal there.
#[cfg(not(unix))]
pub(super) fn sync(_folder: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn set_modified(folder: &Path, modified: Option<std::time::SystemTime>) -> io::Result<()> {
    match modified {
        Some(modified) => fs::File::open(folder)?.set_modified(modified),
        None => Ok(()),
    }
}

/// Folders cannot be opened for this elsewhere without system-specific flags; their time is a courtesy.
#[cfg(not(unix))]
fn set_modified(_folder: &Path, _modified: Option<std::time::SystemTime>) -> io::Result<()> {
    Ok(())
}
