//! An output without its name, and the temporary names for where there must be one: on file systems that know no unnamed
//! files, and for a moment when something is replaced.

use super::naming::Naming;
use super::{Target, local};
use crate::Error;
use crate::files::existing::{Existing, IfExists};
use crate::tree::{is_temporary, temporary_name};
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RawDir, RenameFlags, flock, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An output that does not bear its name yet; gone if dropped.
#[derive(Debug)]
pub(crate) enum Output {
    /// A file without a name: whatever happens, nothing is left behind.
    Unnamed(File),
    /// A file under a temporary name in the final folder, and how it gets its final one.
    Named(File, TemporaryName, Naming),
}

impl Output {
    /// How a file without a name is opened.
    pub(super) const UNNAMED: OFlags = OFlags::TMPFILE.union(OFlags::RDWR).union(OFlags::CLOEXEC);

    pub(crate) fn file(&self) -> &File {
        match self {
            Output::Unnamed(file) | Output::Named(file, ..) => file,
        }
    }
}

impl Target {
    /// Gives a complete output its final name. `may_replace` is asked before anything is replaced.
    pub(crate) fn name(
        &self,
        output: Output,
        name: &OsStr,
        existing: Existing,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let folder = &self.folder;
        match output {
            Output::Named(_file, temporary, naming) if existing.if_exists == IfExists::Overwrite => {
                temporary.replace(folder, name, naming, may_replace)
            }
            Output::Named(_file, temporary, naming) => temporary.become_final(folder, name, naming, existing),
            Output::Unnamed(file) => match link(file.as_fd(), folder, name) {
                Ok(()) => Ok(()),
                // Linking never replaces, renaming does: so the file gets a temporary name for a moment.
                Err(Errno::EXIST) if existing.if_exists == IfExists::Overwrite => {
                    may_replace()?;
                    let refused = |errno: Errno| Error::io("replace the output", errno.into());
                    mark_as_used(file.as_fd());
                    TemporaryName::take(folder, |temporary| {
                        link(file.as_fd(), folder, temporary).map_err(refused)
                    })?
                    .become_final(folder, name, Naming::Replace, existing)
                }
                Err(Errno::EXIST) => Err(Error::OutputExists),
                Err(errno) => Err(Error::io("give the output its name", errno.into())),
            },
        }
    }
}

pub(super) fn refused(errno: Errno) -> Error {
    Error::io("create the output", errno.into())
}

/// A new file under a temporary name, marked as used. Between both steps another run may find it and remove it, so then
/// there is another one.
pub(super) fn create(folder: &Arc<OwnedFd>, mode: Mode) -> Result<(OwnedFd, TemporaryName), Error> {
    // A run that sweeps without a pause takes most of them.
    const ATTEMPTS: usize = 512;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    for _ in 0..ATTEMPTS {
        let mut created = None;
        let temporary = TemporaryName::take(folder, |name| {
            created = Some(retry_on_intr(|| openat(folder, name, flags, mode)).map_err(refused)?);
            Ok(())
        })?;
        let file = created.expect("created with its name");
        let is_there = || statat(folder, temporary.name(), AtFlags::SYMLINK_NOFOLLOW).is_ok();
        if mark_as_used(&file) && is_there() {
            return Ok((file, temporary));
        }
    }
    Err(refused(Errno::BUSY))
}

/// Locks a file that bears a temporary name for as long as it is open, so that [`remove_leftovers`] of another run lets it
/// be. False if that has locked it. Where the file system knows no locks, nothing is removed either.
fn mark_as_used(file: impl AsFd) -> bool {
    flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Removes the files under temporary names that no run has open: their runs were killed, and they may hold plaintext.
/// What cannot be read, locked or removed stays, and so does everything where a lock does not say who has a file open.
pub(super) fn remove_leftovers(folder: &OwnedFd) {
    if !local::has_common_locks(local::kind(folder)) {
        return;
    }
    // Nothing is allocated for each name: a folder may have many, and few or none of these.
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut items = RawDir::new(folder, &mut buffer);
    while let Some(Ok(item)) = items.next() {
        if !is_temporary(OsStr::from_bytes(item.file_name().to_bytes())) {
            continue;
        }
        let name = item.file_name();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let is_file = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        let Some(file) = is_file.then(|| openat(folder, name, flags, Mode::empty()).ok()).flatten() else {
            continue;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(folder, name, AtFlags::empty());
        }
    }
}

/// A random name in a folder that something of ours bears; taken away when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryName {
    folder: Arc<OwnedFd>,
    /// Empty when nothing bears it any more.
    name: String,
}

impl TemporaryName {
    /// Draws a name, which `give` gives to something new.
    pub(super) fn take(
        folder: &Arc<OwnedFd>,
        give: impl FnOnce(&OsStr) -> Result<(), Error>,
    ) -> Result<TemporaryName, Error> {
        let name = temporary_name()?;
        // Only what was given is taken away again.
        give(OsStr::new(&name))?;
        Ok(TemporaryName { folder: Arc::clone(folder), name })
    }

    pub(super) fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }

    /// Nothing bears the name any more.
    pub(super) fn forget(mut self) {
        self.name.clear();
    }

    /// Takes the name away.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        let name = std::mem::take(&mut self.name);
        unlinkat(&self.folder, &name, AtFlags::empty())
            .map_err(|errno| Error::io("remove the output's temporary name", errno.into()))
    }

    /// As [`TemporaryName::become_final`] where outputs are replaced, but `may_replace` is asked first if the name is taken.
    fn replace(
        self,
        folder: &OwnedFd,
        name: &OsStr,
        naming: Naming,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        /// Where nothing can be renamed on condition, one output is named at a time: no two see the same name free.
        static NAMING: Mutex<()> = Mutex::new(());
        let (from, overwrite) = ((&self.folder, self.name()), IfExists::Overwrite.into());
        match renameat_with(from.0, from.1, folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.forget();
                Ok(())
            }
            Err(Errno::EXIST) => {
                may_replace()?;
                self.become_final(folder, name, naming, overwrite)
            }
            Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                let _naming = NAMING.lock().unwrap_or_else(PoisonError::into_inner);
                if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    may_replace()?;
                }
                self.become_final(folder, name, naming, overwrite)
            }
            Err(errno) => Err(Error::io("give the output its name", errno.into())),
        }
    }

    fn become_final(
        self,
        folder: &OwnedFd,
        name: &OsStr,
        naming: Naming,
        existing: Existing,
    ) -> Result<(), Error> {
        let from = (&self.folder, self.name());
        match (existing.if_exists, naming) {
            (IfExists::Overwrite, _) => renameat(from.0, from.1, folder, name).map_err(refused)?,
            (IfExists::Fail | IfExists::Skip, Naming::Unnamed | Naming::Rename) => {
                renameat_with(from.0, from.1, folder, name, RenameFlags::NOREPLACE).map_err(refused)?;
            }
            (IfExists::Fail | IfExists::Skip, Naming::Link) => {
                retry_on_intr(|| linkat(from.0, from.1, folder, name, AtFlags::empty())).map_err(refused)?;
                // The output is complete, but what also bears another name may be plaintext: that is told.
                return self.remove();
            }
            (IfExists::Fail | IfExists::Skip, Naming::Replace) => {
                naming.check(existing)?;
                if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    return Err(Error::OutputExists);
                }
                renameat(from.0, from.1, folder, name).map_err(refused)?;
            }
        }
        self.forget();
        return Ok(());

        fn refused(errno: Errno) -> Error {
            match errno {
                Errno::EXIST => Error::OutputExists,
                errno => Error::io("give the output its name", errno.into()),
            }
        }
    }
}

impl Drop for TemporaryName {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // Whatever went wrong before is the trouble to tell.
            let _ = unlinkat(&self.folder, &self.name, AtFlags::empty());
        }
    }
}

/// Whether unnamed files can be linked into `folder`: without privilege older kernels need `/proc` for that. Nothing gets
/// the name `.`, and whoever is told that it is taken could have linked to another one.
pub(super) fn may_link(file: impl AsFd, folder: &OwnedFd) -> bool {
    link(file.as_fd(), folder, OsStr::new(".")) == Err(Errno::EXIST)
}

/// By the handle itself where the kernel allows that (6.10 and later, or with privilege), else through `/proc`.
fn link(file: BorrowedFd<'_>, target: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    /// Whether the kernel was seen to refuse what it then did through `/proc`: it is not asked for every file.
    static IS_REFUSED: AtomicBool = AtomicBool::new(false);
    if !IS_REFUSED.load(Ordering::Relaxed) {
        match retry_on_intr(|| linkat(file, "", target, name, AtFlags::EMPTY_PATH)) {
            Err(Errno::NOENT | Errno::PERM) => {}
            result => return result,
        }
    }
    let linked = link_through_proc(file, target, name);
    if matches!(linked, Ok(()) | Err(Errno::EXIST)) {
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
    linked
}

fn link_through_proc(file: BorrowedFd<'_>, target: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    // Written to the stack: this may be the way of every file.
    let mut path = [0; "/proc/self/fd/".len() + "2147483647\0".len()];
    write!(&mut path[..], "/proc/self/fd/{}\0", file.as_raw_fd()).map_err(|_| Errno::NAMETOOLONG)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::NAMETOOLONG)?;
    retry_on_intr(|| linkat(CWD, path, target, name, AtFlags::SYMLINK_FOLLOW))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a folder whose file system has unnamed files: a system's temporary folder may be on one without.
    #[test]
    fn the_way_through_proc_gives_a_name_too() {
        let here = std::env::current_dir().unwrap();
        let mut parents = vec![std::env::temp_dir(), "/dev/shm".into(), here];
        parents.retain(|parent| parent.is_dir());
        let unnamed = parents.iter().find_map(|parent| {
            let folder = tempfile::tempdir_in(parent).ok()?;
            let target = Target::root(folder.path()).unwrap();
            match target.output(None).unwrap() {
                Output::Unnamed(file) => Some((folder, target, file)),
                Output::Named(..) => None,
            }
        });
        let (folder, target, file) = unnamed.expect("one of these folders has unnamed files");
        link_through_proc(file.as_fd(), &target.folder, OsStr::new("final")).unwrap();
        assert!(folder.path().join("final").exists());
    }
}
