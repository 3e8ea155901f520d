//! Folders by handle, with files that have no name until they are complete (`O_TMPFILE` and `linkat`): the fastest
//! way seen to make many small outputs appear whole, because no two threads fight for a folder's lock to rename, and
//! the only one that leaves nothing behind when the process is killed.
//!
//! Everything is done relative to a handle: whoever puts a link in a folder's place meanwhile leads nothing astray.

mod below;
mod temporary;

pub(in crate::pipeline) use temporary::Output;

use super::{Ending, Identity, settle};
use crate::Error;
use crate::pipeline::job::IfExists;
use below::{FOLDER, READABLE, open_below};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, symlinkat,
};
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use temporary::TemporaryName;

/// A folder that is read from.
#[derive(Debug)]
pub(in crate::pipeline) struct Source(OwnedFd);

impl Source {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(in crate::pipeline) fn root(path: &Path) -> Result<Source, Error> {
        openat(CWD, path, FOLDER, Mode::empty()).map(Source).map_err(source_refused)
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(in crate::pipeline) fn below(&self, relative: &Path) -> Result<Source, Error> {
        open_below(&self.0, relative, FOLDER).map(Source).map_err(source_refused)
    }

    /// Opens a file for reading. A link put in its place since the listing is refused, unless the user named it; a
    /// FIFO put there does not block.
    pub(in crate::pipeline) fn input(&self, name: &OsStr, follow: bool) -> Result<File, Error> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        match openat(&self.0, name, flags, Mode::empty()) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(Error::SourceChanged),
            Err(errno) => Err(Error::io("open the file", errno.into())),
        }
    }

    /// Where the link of this name leads.
    pub(in crate::pipeline) fn read_link(&self, name: &OsStr) -> Result<PathBuf, Error> {
        let goal = readlinkat(&self.0, name, Vec::new())
            .map_err(|errno| Error::io("read the link", errno.into()))?;
        Ok(OsString::from_vec(goal.into_bytes()).into())
    }
}

/// A folder that outputs are written to.
#[derive(Debug)]
pub(in crate::pipeline) struct Target {
    folder: Arc<OwnedFd>,
    /// Set once the file system has said that it knows no unnamed files.
    needs_names: Cell<bool>,
}

impl Target {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(in crate::pipeline) fn root(path: &Path) -> Result<Target, Error> {
        let folder = openat(CWD, path, FOLDER, Mode::empty()).map_err(target_refused)?;
        Ok(Target { folder: Arc::new(folder), needs_names: Cell::new(false) })
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(in crate::pipeline) fn below(&self, relative: &Path) -> Result<Target, Error> {
        let folder = open_below(&self.folder, relative, FOLDER).map_err(target_refused)?;
        Ok(Target { folder: Arc::new(folder), needs_names: self.needs_names.clone() })
    }

    /// Makes a folder in this one, no more open than these permissions (or a new folder's usual ones) and writable for
    /// its owner. False if it is there already; anything else in its place is an error.
    pub(in crate::pipeline) fn make_folder(
        &self,
        name: &OsStr,
        permissions: Option<&Permissions>,
    ) -> Result<bool, Error> {
        let mode = permissions.map_or(0o777, |permissions| permissions.mode() & 0o777 | 0o700);
        let Err(errno) = mkdirat(&self.folder, name, Mode::from_raw_mode(mode)) else { return Ok(true) };
        match self.kind(name) {
            Some(FileType::Directory) => Ok(false),
            Some(FileType::Symlink) => Err(Error::LinkInDestination),
            _ => Err(Error::io("make the output folder", errno.into())),
        }
    }

    /// Whether the output's name is taken by a file. Anything else that bears it is no output of an earlier run.
    pub(in crate::pipeline) fn has_output(&self, name: &OsStr) -> bool {
        self.kind(name) == Some(FileType::RegularFile)
    }

    /// Whether anything bears this name.
    pub(in crate::pipeline) fn is_taken(&self, name: &OsStr) -> bool {
        self.kind(name).is_some()
    }

    fn kind(&self, name: &OsStr) -> Option<FileType> {
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    /// A new output without a name, with these permissions (or a new file's usual ones) as far as the process's mask
    /// lets them through.
    pub(in crate::pipeline) fn output(&self, permissions: Option<&Permissions>) -> Result<Output, Error> {
        let mode = permissions.map_or(0o666, PermissionsExt::mode) & 0o777;
        if !self.needs_names.get() {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            match openat(&self.folder, ".", flags, Mode::from_raw_mode(mode)) {
                Ok(file) => return Ok(Output::Unnamed(file.into())),
                // What kernels and file systems without unnamed files say.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                    self.needs_names.set(true)
                }
                Err(errno) => return Err(Error::io("create the output", errno.into())),
            }
        }
        Output::named(&self.folder, mode)
    }

    /// Gives a complete output its final name.
    pub(in crate::pipeline) fn name(
        &self,
        output: Output,
        name: &OsStr,
        if_exists: IfExists,
    ) -> Result<(), Error> {
        self.name_checked(output, name, if_exists, &|| Ok(()))
    }

    /// The same; `may_replace` is asked before anything is replaced.
    pub(in crate::pipeline) fn name_checked(
        &self,
        output: Output,
        name: &OsStr,
        if_exists: IfExists,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        output.publish(&self.folder, name, if_exists, may_replace)
    }

    /// Whether the folder's listing has this very name.
    pub(in crate::pipeline) fn lists(&self, name: &OsStr) -> bool {
        let names = openat(&self.folder, ".", READABLE, Mode::empty()).and_then(Dir::new);
        names.is_ok_and(|mut names| {
            names.any(|item| item.is_ok_and(|item| item.file_name().to_bytes() == name.as_bytes()))
        })
    }

    /// Which file or folder bears this name.
    pub(in crate::pipeline) fn identity(&self, name: &OsStr) -> Option<Identity> {
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let is_only_name = is_folder || found.st_nlink <= 1;
        Some(Identity { device: found.st_dev, number: found.st_ino, is_only_name })
    }

    /// Makes a link that leads to `goal`; false if the name is taken and that is to be skipped. Only a link is replaced.
    pub(in crate::pipeline) fn make_link(
        &self,
        goal: &Path,
        name: &OsStr,
        if_exists: IfExists,
    ) -> Result<bool, Error> {
        let refused = |errno: Errno| Error::io("make the link", errno.into());
        match symlinkat(goal, &self.folder, name) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST) if if_exists == IfExists::Skip => return Ok(false),
            Err(Errno::EXIST)
                if if_exists == IfExists::Overwrite && self.kind(name) == Some(FileType::Symlink) => {}
            Err(Errno::EXIST) => return Err(Error::OutputExists),
            Err(errno) => return Err(refused(errno)),
        }
        let temporary =
            TemporaryName::take(&self.folder, |name| symlinkat(goal, &self.folder, name).map_err(refused))?;
        renameat(&self.folder, temporary.name(), &self.folder, name)
            .map_err(|errno| Error::io("replace the link", errno.into()))?;
        temporary.forget();
        Ok(true)
    }

    /// Ends the folder at `relative` below this one (or this one, if that is empty): permissions and time, and if it is
    /// to be durable, the names in it on stable storage.
    pub(in crate::pipeline) fn finish(
        &self,
        relative: &Path,
        ending: Ending<'_>,
        durable: bool,
    ) -> Result<(), Error> {
        let folder = open_below(&self.folder, relative, READABLE).map_err(target_refused)?;
        settle(&folder.into(), ending, durable)
    }

    /// As on a file system that knows no unnamed files.
    #[cfg(test)]
    pub(super) fn with_names(self) -> Target {
        self.needs_names.set(true);
        self
    }
}

fn source_refused(errno: Errno) -> Error {
    match errno {
        Errno::LOOP => Error::SourceChanged,
        errno => Error::io("open the source folder", errno.into()),
    }
}

fn target_refused(errno: Errno) -> Error {
    match errno {
        Errno::LOOP => Error::LinkInDestination,
        errno => Error::io("open the output folder", errno.into()),
    }
}
