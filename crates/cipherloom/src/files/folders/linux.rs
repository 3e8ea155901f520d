//! Folders by handle, with files that have no name until they are complete (`O_TMPFILE` and `linkat`): the fastest
//! way seen to make many small outputs appear whole, because no two threads fight for a folder's lock to rename, and
//! the only one that leaves nothing behind when the process is killed.
//!
//! Everything is done relative to a handle: whoever puts a link in a folder's place meanwhile leads nothing astray.

mod below;
mod local;
mod naming;
mod temporary;

pub(crate) use local::names_in_turns;
pub(crate) use temporary::Output;

use super::{Ending, Identity, Looked, MadeFolder, Opened, created_mode, settle};
use crate::Error;
use crate::files::existing::{Existing, IfExists};
use below::{Mounts, Waypoints, open_below};
use naming::{FileSystem, Naming};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, chmodat, fstat, mkdirat, openat, readlinkat,
    renameat, renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use temporary::{TemporaryName, create, refused};

/// A place to start paths from, which needs no permission to list the folder.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder whose attributes can be set and whose names can be forced to stable storage.
const READABLE: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A folder that is read from.
#[derive(Debug)]
pub(crate) struct Source(OwnedFd);

impl Source {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(crate) fn root(path: &Path) -> Result<Source, Error> {
        retry_on_intr(|| openat(CWD, path, FOLDER, Mode::empty())).map(Source).map_err(source_refused)
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(crate) fn below(&self, relative: &Path) -> Result<Source, Error> {
        open_below(&self.0, relative, FOLDER, Mounts::All).map(Source).map_err(source_refused)
    }

    /// Opens a file for reading. A link put in its place since the listing is refused, unless the user named it; a
    /// FIFO put there does not block.
    pub(crate) fn input(&self, name: &OsStr, follow: bool) -> Result<File, Error> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        match retry_on_intr(|| openat(&self.0, name, flags, Mode::empty())) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(Error::SourceChanged),
            Err(errno) => Err(Error::io("open the file", errno.into())),
        }
    }

    /// Where the link of this name leads.
    pub(crate) fn read_link(&self, name: &OsStr) -> Result<PathBuf, Error> {
        let goal = readlinkat(&self.0, name, Vec::new())
            .map_err(|errno| Error::io("read the link", errno.into()))?;
        Ok(OsString::from_vec(goal.into_bytes()).into())
    }
}

/// A folder that outputs are written to.
#[derive(Debug)]
pub(crate) struct Target {
    folder: Arc<OwnedFd>,
    /// How outputs are finished here; looked up when the first one is begun.
    file_system: OnceLock<FileSystem>,
    waypoints: Option<Waypoints>,
}

impl Target {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(crate) fn root(path: &Path) -> Result<Target, Error> {
        let folder = retry_on_intr(|| openat(CWD, path, FOLDER, Mode::empty())).map_err(target_refused)?;
        Ok(Target::new(folder, None))
    }

    fn new(folder: OwnedFd, file_system: Option<FileSystem>) -> Target {
        let file_system = file_system.map_or_else(OnceLock::new, OnceLock::from);
        Target { folder: Arc::new(folder), file_system, waypoints: None }
    }

    /// The same folder for one of `threads` threads, which keeps waypoints to those far below it.
    pub(crate) fn with_waypoints(&self, threads: usize) -> Target {
        let (folder, file_system) = (Arc::clone(&self.folder), self.file_system.clone());
        Target { folder, file_system, waypoints: Some(Waypoints::of_one(threads)) }
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(crate) fn below(&self, relative: &Path) -> Result<Target, Error> {
        if let Some(known) = self.file_system.get().copied() {
            match self.open_below(relative, FOLDER, Mounts::Same) {
                Ok(folder) => return Ok(Target::new(folder, Some(known))),
                // It may lie on another mount.
                Err(Errno::XDEV) => {}
                Err(errno) => return Err(target_refused(errno)),
            }
        }
        let folder = self.open_below(relative, FOLDER, Mounts::All).map_err(target_refused)?;
        Ok(Target::new(folder, None))
    }

    fn open_below(&self, relative: &Path, flags: OFlags, mounts: Mounts) -> Result<OwnedFd, Errno> {
        match &self.waypoints {
            Some(waypoints) => waypoints.open(&self.folder, relative, flags, mounts),
            None => open_below(&self.folder, relative, flags, mounts),
        }
    }

    /// Makes a folder in this one with these permissions (or a new folder's usual ones), as far as the process's umask
    /// lets them through, and usable by its owner. Anything but a folder in its place is an error.
    pub(crate) fn make_folder(
        &self,
        name: &OsStr,
        permissions: Option<&Permissions>,
    ) -> Result<MadeFolder, Error> {
        let mode = Mode::from_raw_mode(created_mode(permissions));
        let Err(errno) = retry_on_intr(|| mkdirat(&self.folder, name, mode)) else {
            return Ok(MadeFolder::New);
        };
        match self.kind(name) {
            Some(FileType::Directory) => Ok(MadeFolder::Found),
            Some(FileType::Symlink) => Err(Error::LinkInDestination),
            _ => Err(Error::io("make the output folder", errno.into())),
        }
    }

    /// Gives this user the owner's permissions on the folder at `relative` below this one (or this one, if that is empty),
    /// if it is this user's and lacks any; returns its mode before, if that was changed.
    pub(crate) fn open_up(&self, relative: &Path) -> Result<Option<Opened>, Error> {
        let folder = self.open_below(relative, FOLDER, Mounts::All).map_err(target_refused)?;
        open_up(&folder).map_err(|errno| Error::io("open the output folder", errno.into()))
    }

    /// Takes away what killed runs left in this folder under temporary names.
    pub(crate) fn remove_leftovers(&self, relative: &Path) {
        if let Ok(folder) = self.open_below(relative, READABLE, Mounts::All) {
            temporary::remove_leftovers(&folder);
        }
    }

    /// Fails if an output could not get its name here without the risk of replacing another one, and that is not
    /// accepted: known before any work is done. Where outputs bear temporary names meanwhile, those that killed runs left
    /// here are removed.
    pub(crate) fn check_naming(&self, existing: Existing) -> Result<(), Error> {
        self.may_name(existing)?;
        if self.naming()? != Naming::Unnamed {
            self.remove_leftovers(Path::new(""));
        }
        Ok(())
    }

    /// The same, and nothing is removed.
    pub(crate) fn may_name(&self, existing: Existing) -> Result<(), Error> {
        self.naming()?.check(existing)
    }

    /// Finds out how outputs are finished here, so that this need not be asked of each folder below. Where it cannot be found
    /// out, it is asked.
    pub(crate) fn find_file_system(&self) {
        let _ = self.file_system();
    }

    fn naming(&self) -> Result<Naming, Error> {
        Ok(self.file_system()?.naming)
    }

    /// Whether closing an output may report a lost write.
    pub(crate) fn may_fail_at_close(&self) -> bool {
        self.file_system().map_or(true, |found| found.may_fail_at_close)
    }

    fn file_system(&self) -> Result<FileSystem, Error> {
        if let Some(known) = self.file_system.get().copied() {
            return Ok(known);
        }
        let found = naming::of(&self.folder)?;
        Ok(*self.file_system.get_or_init(|| found))
    }

    /// Whether the output's name is taken by a file. Anything else that bears it is no output of an earlier run.
    pub(crate) fn has_output(&self, name: &OsStr) -> bool {
        self.kind(name) == Some(FileType::RegularFile)
    }

    /// Whether anything bears this name.
    pub(crate) fn is_taken(&self, name: &OsStr) -> bool {
        self.kind(name).is_some()
    }

    /// What bears this name; `None` if nothing does.
    ///
    /// # Errors
    /// If it cannot be told.
    pub(crate) fn look(&self, name: &OsStr) -> Result<Option<Looked>, Error> {
        let found = match retry_on_intr(|| statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            found => found.map_err(|errno| Error::io("look at the output", errno.into()))?,
        };
        let kind = FileType::from_raw_mode(found.st_mode);
        Ok(Some(Looked {
            is_file: kind == FileType::RegularFile,
            is_folder: kind == FileType::Directory,
            is_link: kind == FileType::Symlink,
            device: found.st_dev,
            mode: found.st_mode & 0o777,
            len: found.st_size as u64,
            modified: u32::try_from(found.st_mtime_nsec)
                .ok()
                .map(|nanoseconds| (found.st_mtime, nanoseconds)),
        }))
    }

    fn kind(&self, name: &OsStr) -> Option<FileType> {
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(found.st_mode))
    }

    /// A new output without its name, with these permissions (or a new file's usual ones) as far as the process's umask
    /// lets them through.
    pub(crate) fn output(&self, permissions: Option<&Permissions>) -> Result<Output, Error> {
        let mode = Mode::from_raw_mode(super::file_mode(permissions));
        match self.naming()? {
            Naming::Unnamed => {
                let file = retry_on_intr(|| openat(&self.folder, ".", Output::UNNAMED, mode));
                Ok(Output::Unnamed(file.map_err(refused)?.into()))
            }
            naming => {
                let (file, temporary) = create(&self.folder, mode)?;
                Ok(Output::Named(file.into(), temporary, naming))
            }
        }
    }

    /// Whether the folder's listing has this very name.
    pub(crate) fn lists(&self, name: &OsStr) -> bool {
        let names = openat(&self.folder, ".", READABLE, Mode::empty()).and_then(Dir::new);
        names.is_ok_and(|mut names| {
            names.any(|item| item.is_ok_and(|item| item.file_name().to_bytes() == name.as_bytes()))
        })
    }

    /// Which file or folder bears this name.
    pub(crate) fn identity(&self, name: &OsStr) -> Option<Identity> {
        let found = statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let is_only_name = is_folder || found.st_nlink <= 1;
        Some(Identity { device: found.st_dev, number: found.st_ino, is_only_name })
    }

    /// Makes a link that leads to `goal`; false if the name is taken and that is to be skipped. Only a link is replaced.
    pub(crate) fn make_link(&self, goal: &Path, name: &OsStr, if_exists: IfExists) -> Result<bool, Error> {
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

    /// Removes the file of this name.
    pub(crate) fn remove_file(&self, name: &OsStr) -> Result<(), Error> {
        unlinkat(&self.folder, name, AtFlags::empty())
            .map_err(|errno| Error::io("remove the file", errno.into()))
    }

    /// Removes the empty folder of this name.
    pub(crate) fn remove_folder(&self, name: &OsStr) -> Result<(), Error> {
        unlinkat(&self.folder, name, AtFlags::REMOVEDIR)
            .map_err(|errno| Error::io("remove the folder", errno.into()))
    }

    /// Gives a file another name, in this folder or another one, and replaces nothing.
    pub(crate) fn rename(&self, name: &OsStr, to: &Target, new_name: &OsStr) -> Result<(), Error> {
        let renamed = match renameat_with(&self.folder, name, &to.folder, new_name, RenameFlags::NOREPLACE) {
            Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => match to.is_taken(new_name) {
                true => Err(Errno::EXIST),
                false => renameat(&self.folder, name, &to.folder, new_name),
            },
            renamed => renamed,
        };
        renamed.map_err(|errno| match errno {
            Errno::EXIST => Error::OutputExists,
            errno => Error::io("rename the output", errno.into()),
        })
    }

    /// Ends the folder at `relative` below this one (or this one, if that is empty): permissions and time, and if it is
    /// to be durable, the names in it on stable storage. False if the file system did not take permissions or time.
    pub(crate) fn finish(&self, relative: &Path, ending: Ending<'_>, durable: bool) -> Result<bool, Error> {
        let folder = self.open_below(relative, READABLE, Mounts::All).map_err(target_refused)?;
        settle(&folder.into(), ending, durable)
    }

    /// As on a file system where outputs get their names in this way.
    #[cfg(test)]
    pub(super) fn with_naming(self, naming: Naming) -> Target {
        let file_system = OnceLock::from(FileSystem { naming, may_fail_at_close: true });
        Target { file_system, ..self }
    }
}

#[cfg(test)]
pub(super) use naming::Naming as TestedNaming;

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

/// Gives the owner all permissions on `folder`, a handle that only marks a place, if this user owns it and lacks some;
/// returns the mode before, if it was changed.
fn open_up(folder: &OwnedFd) -> Result<Option<Opened>, Errno> {
    let found = fstat(folder)?;
    let mode = found.st_mode & 0o7777;
    if mode & 0o700 == 0o700 || found.st_uid != geteuid().as_raw() {
        return Ok(None);
    }
    // Such a handle takes no `fchmod`, and a folder that cannot be read gives no other. Its name could lead to something
    // else by now.
    let path = format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd());
    retry_on_intr(|| chmodat(CWD, path.as_str(), Mode::from_raw_mode(mode | 0o700), AtFlags::empty()))?;
    Ok(Some(Opened { mode }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_file_system_holds_on_its_mount_alone() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("below")).unwrap();
        let naming_below = |root: &Path, name: &str| {
            let root = Target::root(root).unwrap().with_naming(Naming::Replace);
            root.below(Path::new(name)).unwrap().file_system.get().map(|found| found.naming)
        };
        assert_eq!(naming_below(folder.path(), "below"), Some(Naming::Replace));
        assert_eq!(naming_below(Path::new("/"), "proc"), None, "another mount");
    }
}
