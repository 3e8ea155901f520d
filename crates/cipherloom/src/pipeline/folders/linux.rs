//! Folders by handle, with files that have no name until they are complete (`O_TMPFILE` and `linkat`): the fastest
//! way seen to make many small outputs appear whole, because no two threads fight for a folder's lock to rename, and
//! the only one that leaves nothing behind when the process is killed.

use super::{TEMPORARY_PREFIX, portable};
use crate::Error;
use crate::pipeline::job::IfExists;
use crate::pipeline::output::Output;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, linkat, openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::{CStr, OsStr};
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder of the source and its twin of the output.
#[derive(Debug)]
pub(in crate::pipeline) struct Folder {
    source: OwnedFd,
    target: Option<(OwnedFd, PathBuf)>,
    /// Set once the file system has said that it knows no unnamed files.
    needs_names: Cell<bool>,
}

impl Folder {
    /// Both roots, which may be named through links: the user pointed at them.
    pub(in crate::pipeline) fn root(source: &Path, target: Option<&Path>) -> Result<Folder, Error> {
        let open = |path: &Path| openat(CWD, path, FOLDER, Mode::empty());
        let source = open(source).map_err(source_refused)?;
        let target = match target {
            Some(path) => Some((open(path).map_err(target_refused)?, path.to_owned())),
            None => None,
        };
        Ok(Folder { source, target, needs_names: Cell::new(false) })
    }

    /// The folder at `relative` below both roots, no link followed on the way.
    pub(super) fn below(&self, relative: &Path) -> Result<Folder, Error> {
        let source = open_below(&self.source, relative).map_err(source_refused)?;
        let target = match &self.target {
            Some((root, path)) => {
                Some((open_below(root, relative).map_err(target_refused)?, path.join(relative)))
            }
            None => None,
        };
        Ok(Folder { source, target, needs_names: self.needs_names.clone() })
    }

    /// Opens a file for reading. A link put in its place since the listing is refused, unless the user named it; a
    /// FIFO put there does not block.
    pub(in crate::pipeline) fn input(&self, name: &OsStr, follow: bool) -> Result<File, Error> {
        let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        match openat(&self.source, name, flags, Mode::empty()) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(Error::SourceChanged),
            Err(errno) => Err(Error::io("open the file", errno.into())),
        }
    }

    /// Whether the output's name is taken by a file. Anything else that bears it is no output of an earlier run.
    pub(in crate::pipeline) fn has_output(&self, name: &OsStr) -> bool {
        let found = statat(&self.target().0, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    /// A new output without a name, with these permissions (or a new file's usual ones) as far as the process's mask
    /// lets them through.
    pub(in crate::pipeline) fn output(&self, permissions: Option<&Permissions>) -> Result<Output, Error> {
        let (target, path) = self.target();
        let mode = Mode::from_raw_mode(permissions.map_or(0o666, PermissionsExt::mode) & 0o777);
        if !self.needs_names.get() {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            match openat(target, ".", flags, mode) {
                Ok(file) => return Ok(Output::Unnamed(file.into())),
                // What kernels and file systems without unnamed files say.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                    self.needs_names.set(true)
                }
                Err(errno) => return Err(Error::io("create the output", errno.into())),
            }
        }
        portable::temporary(path)
    }

    /// Gives a complete output its final name.
    pub(in crate::pipeline) fn name(
        &self,
        output: Output,
        name: &OsStr,
        if_exists: IfExists,
    ) -> Result<(), Error> {
        let (target, path) = self.target();
        let file = match output {
            Output::Named(file) => return portable::rename(file, &path.join(name), if_exists),
            Output::Unnamed(file) => file,
        };
        match link(&file, target, name) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) if if_exists == IfExists::Overwrite => replace(&file, target, name),
            Err(Errno::EXIST) => Err(Error::OutputExists),
            Err(errno) => Err(Error::io("give the output its name", errno.into())),
        }
    }

    fn target(&self) -> &(OwnedFd, PathBuf) {
        self.target.as_ref().expect("a job that writes has a destination")
    }
}

/// A place to start paths from, which needs no permission to list the folder.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn source_refused(errno: Errno) -> Error {
    Error::io("open the source folder", errno.into())
}

fn target_refused(errno: Errno) -> Error {
    match errno {
        Errno::LOOP => Error::LinkInDestination,
        errno => Error::io("open the output folder", errno.into()),
    }
}

/// Kernels before 5.6 cannot refuse links on the way, only at the end of a path.
fn open_below(root: &OwnedFd, relative: &Path) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    match openat2(root, relative, FOLDER, Mode::empty(), resolve) {
        Err(Errno::NOSYS | Errno::PERM) => openat(root, relative, FOLDER | OFlags::NOFOLLOW, Mode::empty()),
        result => result,
    }
}

/// By the handle itself where the kernel allows that (6.10 and later, or with privilege), else through `/proc`.
fn link(file: &File, target: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    match linkat(file, "", target, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT | Errno::PERM) => link_through_proc(file, target, name),
        result => result,
    }
}

fn link_through_proc(file: &File, target: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    // Written to the stack: this may be the way of every file.
    let mut path = [0; "/proc/self/fd/".len() + "2147483647\0".len()];
    write!(&mut path[..], "/proc/self/fd/{}\0", file.as_fd().as_raw_fd()).map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    linkat(CWD, path, target, name, AtFlags::SYMLINK_FOLLOW)
}

/// Linking never replaces, renaming does: so the file gets a temporary name for a moment.
fn replace(file: &File, target: &OwnedFd, name: &OsStr) -> Result<(), Error> {
    let refused = |errno: Errno| Error::io("replace the output", errno.into());
    let random =
        getrandom::u64().map_err(|error| Error::io("draw a random name", std::io::Error::other(error)))?;
    let temporary = format!("{TEMPORARY_PREFIX}{random:016x}");
    link(file, target, OsStr::new(&temporary)).map_err(refused)?;
    renameat(target, &temporary, target, name).map_err(|errno| {
        // The first refusal is the one to tell.
        let _ = unlinkat(target, &temporary, AtFlags::empty());
        refused(errno)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn outputs_appear_whole_or_not_at_all() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::root(source.path(), Some(target.path())).unwrap();
        let write = |content: &[u8], if_exists| {
            let output = folder.output(Some(&Permissions::from_mode(0o640))).unwrap();
            output.write(content, 0).unwrap();
            folder.name(output, OsStr::new("final"), if_exists)
        };
        write(b"first", IfExists::Fail).unwrap();
        assert!(matches!(write(b"second", IfExists::Skip), Err(Error::OutputExists)));
        assert_eq!(fs::read(target.path().join("final")).unwrap(), b"first");
        write(b"third", IfExists::Overwrite).unwrap();
        assert_eq!(fs::read(target.path().join("final")).unwrap(), b"third");
        drop(folder.output(Some(&Permissions::from_mode(0o600))).unwrap());
        assert_eq!(fs::read_dir(target.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_way_through_proc_gives_a_name_too() {
        let target = tempfile::tempdir().unwrap();
        let folder = Folder::root(target.path(), Some(target.path())).unwrap();
        let Output::Unnamed(file) = folder.output(Some(&Permissions::from_mode(0o600))).unwrap() else {
            return; // This file system knows no unnamed files.
        };
        link_through_proc(&file, &folder.target().0, OsStr::new("final")).unwrap();
        assert!(target.path().join("final").exists());
    }

    #[test]
    fn a_link_in_place_of_a_file_is_refused() {
        let source = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", source.path().join("entry")).unwrap();
        let folder = Folder::root(source.path(), None).unwrap();
        assert!(matches!(folder.input(OsStr::new("entry"), false), Err(Error::SourceChanged)));
    }

    #[test]
    fn a_linked_folder_does_not_lead_out_of_the_destination() {
        let (source, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(source.path().join("book/part")).unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(outside.path().join("part")).unwrap();
        std::os::unix::fs::symlink(outside.path(), target.path().join("book")).unwrap();
        let root = Folder::root(source.path(), Some(target.path())).unwrap();
        for below in ["book", "book/part"] {
            assert!(matches!(root.below(Path::new(below)), Err(Error::LinkInDestination)), "{below}");
        }
    }
}
