//! Folders by path, with the standard library and `tempfile` only: outputs are written under a temporary name in
//! their final folder and renamed. Each step of a path is looked at just before it is taken, which leaves a moment in
//! which somebody else may put a link there.

use super::{Ending, Identity, Looked, MadeFolder, Opened};
use crate::Error;
use crate::files::existing::{Existing, IfExists};
use crate::tree::temporary_name;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A folder that is read from.
#[derive(Debug)]
pub(crate) struct Source(PathBuf);

impl Source {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(crate) fn root(path: &Path) -> Result<Source, Error> {
        fs::read_dir(path).map_err(source_refused)?;
        Ok(Source(path.to_owned()))
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(crate) fn below(&self, relative: &Path) -> Result<Source, Error> {
        step(&self.0, relative).map_err(source_refused)?.map(Source).ok_or(Error::SourceChanged)
    }

    /// Opens a file for reading. A link put in its place since the listing is refused, unless the user named it.
    pub(crate) fn input(&self, name: &OsStr, follow: bool) -> Result<File, Error> {
        let path = self.0.join(name);
        let refused = |error| Error::io("open the file", error);
        if !follow && fs::symlink_metadata(&path).map_err(refused)?.is_symlink() {
            return Err(Error::SourceChanged);
        }
        File::open(path).map_err(refused)
    }

    /// Where the link of this name leads.
    pub(crate) fn read_link(&self, name: &OsStr) -> Result<PathBuf, Error> {
        fs::read_link(self.0.join(name)).map_err(|error| Error::io("read the link", error))
    }
}

/// A folder that outputs are written to.
#[derive(Debug)]
pub(crate) struct Target(PathBuf);

impl Target {
    /// The folder at `path`, which may be named through links: the user pointed at it.
    pub(crate) fn root(path: &Path) -> Result<Target, Error> {
        match path.metadata() {
            Ok(found) if found.is_dir() => Ok(Target(path.to_owned())),
            Ok(_) => Err(target_refused(io::ErrorKind::NotADirectory.into())),
            Err(error) => Err(target_refused(error)),
        }
    }

    /// Paths are looked at step by step.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn with_waypoints(&self, _threads: usize) -> Target {
        Target(self.0.clone())
    }

    /// The folder at `relative` below this one, no link followed on the way.
    pub(crate) fn below(&self, relative: &Path) -> Result<Target, Error> {
        step(&self.0, relative).map_err(target_refused)?.map(Target).ok_or(Error::LinkInDestination)
    }

    /// Makes a folder in this one with these permissions (or a new folder's usual ones), as far as the process's umask
    /// lets them through, and usable by its owner. Anything but a folder in its place is an error.
    pub(crate) fn make_folder(
        &self,
        name: &OsStr,
        permissions: Option<&Permissions>,
    ) -> Result<MadeFolder, Error> {
        let path = self.0.join(name);
        let Err(error) = super::make_folder(&path, permissions) else { return Ok(MadeFolder::New) };
        match self.kind(name) {
            Some(kind) if kind.is_dir() => Ok(MadeFolder::Found),
            Some(kind) if kind.is_symlink() => Err(Error::LinkInDestination),
            _ => Err(Error::io("make the output folder", error)),
        }
    }

    /// Gives this user the owner's permissions on the folder at `relative` below this one (or this one, if that is empty),
    /// if it lacks any; returns its mode before, if that was changed. A folder of somebody else refuses.
    #[cfg(unix)]
    pub(crate) fn open_up(&self, relative: &Path) -> Result<Option<Opened>, Error> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.below(relative)?.0;
        let mode = path.symlink_metadata().map_err(target_refused)?.permissions().mode() & 0o7777;
        let is_closed = mode & 0o700 != 0o700;
        let opened = || fs::set_permissions(&path, Permissions::from_mode(mode | 0o700)).is_ok();
        Ok((is_closed && opened()).then_some(Opened { mode }))
    }

    /// Such permissions are unknown there.
    #[cfg(not(unix))]
    pub(crate) fn open_up(&self, _relative: &Path) -> Result<Option<Opened>, Error> {
        Ok(None)
    }

    /// Nothing tells a killed run's temporary names from those of one that is under way.
    pub(crate) fn remove_leftovers(&self, _relative: &Path) {}

    /// Renaming without replacing is known on all these systems.
    pub(crate) fn check_naming(&self, _existing: Existing) -> Result<(), Error> {
        Ok(())
    }

    /// The same.
    #[cfg_attr(
        target_os = "linux",
        allow(dead_code, reason = "only drafts ask, and on Linux they are made by handle")
    )]
    pub(crate) fn may_name(&self, _existing: Existing) -> Result<(), Error> {
        Ok(())
    }

    /// Nothing is asked of it.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn find_file_system(&self) {}

    /// Nothing is known of the file system.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn may_fail_at_close(&self) -> bool {
        true
    }

    /// Whether the output's name is taken by a file. Anything else that bears it is no output of an earlier run.
    pub(crate) fn has_output(&self, name: &OsStr) -> bool {
        self.kind(name).is_some_and(|kind| kind.is_file())
    }

    /// Whether anything bears this name.
    pub(crate) fn is_taken(&self, name: &OsStr) -> bool {
        self.kind(name).is_some()
    }

    /// Whether the folder's listing has this very name.
    pub(crate) fn lists(&self, name: &OsStr) -> bool {
        fs::read_dir(&self.0)
            .is_ok_and(|mut items| items.any(|item| item.is_ok_and(|item| item.file_name() == name)))
    }

    /// Which file or folder bears this name.
    #[cfg(unix)]
    pub(crate) fn identity(&self, name: &OsStr) -> Option<Identity> {
        use std::os::unix::fs::MetadataExt;
        let found = self.0.join(name).symlink_metadata().ok()?;
        let is_only_name = found.is_dir() || found.nlink() <= 1;
        Some(Identity { device: found.dev(), number: found.ino(), is_only_name })
    }

    /// Which file or folder bears this name, by the path that the system spells for it.
    #[cfg(not(unix))]
    pub(crate) fn identity(&self, name: &OsStr) -> Option<Identity> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let path = fs::canonicalize(self.0.join(name)).ok()?;
        let mut number = DefaultHasher::new();
        path.hash(&mut number);
        Some(Identity { device: 0, number: number.finish(), is_only_name: true })
    }

    /// What bears this name; `None` if nothing does.
    ///
    /// # Errors
    /// If it cannot be told.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn look(&self, name: &OsStr) -> Result<Option<Looked>, Error> {
        let found = match self.0.join(name).symlink_metadata() {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            found => found.map_err(|error| Error::io("look at the output", error))?,
        };
        let attributes = crate::tree::attributes(&found);
        Ok(Some(Looked {
            is_file: found.is_file(),
            is_folder: found.is_dir(),
            is_link: found.is_symlink(),
            device: device(&found),
            mode: attributes.mode() & 0o777,
            len: found.len(),
            modified: attributes.moment(),
        }))
    }

    /// Removes the empty folder of this name.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn remove_folder(&self, name: &OsStr) -> Result<(), Error> {
        fs::remove_dir(self.0.join(name)).map_err(|error| Error::io("remove the folder", error))
    }

    /// Gives a file another name, in this folder or another one. Nothing is replaced that is there before.
    #[cfg_attr(
        all(target_os = "linux", not(feature = "portable")),
        allow(dead_code, reason = "only its own tests are compiled then")
    )]
    pub(crate) fn rename(&self, name: &OsStr, to: &Target, new_name: &OsStr) -> Result<(), Error> {
        if to.is_taken(new_name) {
            return Err(Error::OutputExists);
        }
        fs::rename(self.0.join(name), to.0.join(new_name))
            .map_err(|error| Error::io("rename the output", error))
    }

    fn kind(&self, name: &OsStr) -> Option<fs::FileType> {
        Some(self.0.join(name).symlink_metadata().ok()?.file_type())
    }

    /// A new output under a temporary name, with these permissions (or a new file's usual ones) as far as the process's
    /// umask lets them through.
    pub(crate) fn output(&self, permissions: Option<&Permissions>) -> Result<Output, Error> {
        let name = temporary_name()?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(&name).rand_bytes(0);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(super::file_mode(permissions)));
        #[cfg(not(unix))]
        let _ = permissions;
        let file = builder.tempfile_in(&self.0);
        file.map(Output).map_err(|error| Error::io("create the output", error))
    }

    /// Gives a complete output its final name. `may_replace` is asked before anything is replaced.
    pub(crate) fn name(
        &self,
        mut output: Output,
        name: &OsStr,
        existing: Existing,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let path = self.0.join(name);
        if existing.if_exists == IfExists::Overwrite {
            match output.0.persist_noclobber(&path) {
                Ok(_) => return Ok(()),
                Err(refused) => output = Output(refused.file),
            }
            if self.is_taken(name) {
                may_replace()?;
            }
        }
        let renamed = match existing.if_exists {
            IfExists::Overwrite => output.0.persist(path),
            IfExists::Fail | IfExists::Skip => output.0.persist_noclobber(path),
        };
        match renamed {
            Ok(_) => Ok(()),
            Err(refused) if refused.error.kind() == io::ErrorKind::AlreadyExists => Err(Error::OutputExists),
            Err(refused) => Err(Error::io("give the output its name", refused.error)),
        }
    }

    /// Makes a link that leads to `goal`; false if the name is taken and that is to be skipped. Only a link is replaced.
    pub(crate) fn make_link(&self, goal: &Path, name: &OsStr, if_exists: IfExists) -> Result<bool, Error> {
        let path = self.0.join(name);
        if if_exists == IfExists::Overwrite && path.is_symlink() {
            fs::remove_file(&path).map_err(|error| Error::io("replace the link", error))?;
        }
        match make_link(goal, &path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match if_exists {
                IfExists::Skip => Ok(false),
                IfExists::Fail | IfExists::Overwrite => Err(Error::OutputExists),
            },
            Err(error) => Err(Error::io("make the link", error)),
        }
    }

    /// Removes the file of this name.
    #[cfg_attr(
        target_os = "linux",
        allow(dead_code, reason = "only indexes ask, and on Linux they do so by handle")
    )]
    pub(crate) fn remove_file(&self, name: &OsStr) -> Result<(), Error> {
        fs::remove_file(self.0.join(name)).map_err(|error| Error::io("remove the file", error))
    }

    /// Ends the folder at `relative` below this one (or this one, if that is empty): permissions and time, and if it is
    /// to be durable, the names in it on stable storage. False if the file system did not take permissions or time.
    #[cfg(unix)]
    pub(crate) fn finish(&self, relative: &Path, ending: Ending<'_>, durable: bool) -> Result<bool, Error> {
        let folder = File::open(self.below(relative)?.0).map_err(target_refused)?;
        super::settle(&folder, ending, durable)
    }

    /// As above, without the time: folders cannot be opened for that without system-specific flags. Names are part of
    /// the file system's own journal.
    #[cfg(not(unix))]
    pub(crate) fn finish(&self, relative: &Path, ending: Ending<'_>, _durable: bool) -> Result<bool, Error> {
        let path = self.below(relative)?.0;
        match ending {
            Ending::Made(twin) | Ending::Preserved(twin) => {
                fs::set_permissions(path, twin.permissions.clone())
                    .map_err(|error| Error::io("set a folder's permissions and time", error))?;
            }
            Ending::Resumed(..) | Ending::Closed(_) | Ending::AsItIs => {}
        }
        Ok(true)
    }
}

/// An output under a temporary name; gone if dropped.
#[derive(Debug)]
pub(crate) struct Output(NamedTempFile);

impl Output {
    pub(crate) fn file(&self) -> &File {
        self.0.as_file()
    }
}

/// The path, if no step of it is a link.
fn step(root: &Path, relative: &Path) -> io::Result<Option<PathBuf>> {
    let mut path = root.to_owned();
    for name in relative {
        path.push(name);
        let found = path.symlink_metadata()?;
        if found.is_symlink() {
            return Ok(None);
        }
        if !found.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    Ok(Some(path))
}

#[cfg(unix)]
fn device(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(metadata)
}

#[cfg(not(unix))]
fn device(_metadata: &fs::Metadata) -> u64 {
    0
}

fn source_refused(error: io::Error) -> Error {
    Error::io("open the source folder", error)
}

fn target_refused(error: io::Error) -> Error {
    Error::io("open the output folder", error)
}

#[cfg(unix)]
fn make_link(goal: &Path, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(goal, path)
}

#[cfg(windows)]
fn make_link(goal: &Path, path: &Path) -> io::Result<()> {
    std::os::windows::fs::symlink_file(goal, path)
}
