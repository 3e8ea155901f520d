//! Names on stable storage. That a file's content is there helps nobody after a power cut if its name is not: a name is
//! part of its folder, whose name is part of the next one, up to the first folder that was there before.

use crate::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Makes the folder at `path` and those above it that are missing; returns the first, from `path` upwards, that was there
/// before.
///
/// # Errors
/// The system's refusal.
pub(super) fn make_folders(path: &Path) -> io::Result<PathBuf> {
    let first_existing = first_existing(path);
    fs::create_dir_all(path)?;
    Ok(first_existing)
}

/// The first folder, from `path` upwards, that is there.
pub(super) fn first_existing(path: &Path) -> PathBuf {
    path.ancestors().map(or_here).find(|folder| folder.is_dir()).unwrap_or(Path::new(".")).to_owned()
}

/// Forces to stable storage that what stands at `path` has its name: the folders above it, up to `first_existing`, which
/// was there before and is the last. Nothing to do if that is `path` itself.
///
/// # Errors
/// [`Error::Io`].
pub(super) fn sync_parents(path: &Path, first_existing: &Path) -> Result<(), Error> {
    let last = or_here(first_existing);
    if path == last {
        return Ok(());
    }
    for folder in path.ancestors().skip(1).map(or_here) {
        sync_path(folder)?;
        if folder == last {
            break;
        }
    }
    Ok(())
}

/// A relative path's beginning is the folder that the process is in.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

#[cfg(unix)]
fn sync_path(folder: &Path) -> Result<(), Error> {
    sync(&File::open(folder).map_err(refused)?)
}

/// Names are part of the file system's own journal there.
#[cfg(not(unix))]
fn sync_path(_folder: &Path) -> Result<(), Error> {
    Ok(())
}

/// Forces the names in an open folder to stable storage, where the file system knows such a request for folders.
#[cfg(unix)]
pub(super) fn sync(folder: &File) -> Result<(), Error> {
    match folder.sync_all() {
        Err(error) if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Err(refused(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn refused(error: io::Error) -> Error {
    Error::io("force a folder to stable storage", error)
}
