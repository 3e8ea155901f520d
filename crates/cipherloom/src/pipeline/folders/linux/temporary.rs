//! An output without its name, and the temporary names for where there must be one: on file systems that know no unnamed
//! files, and for a moment when something is replaced.

use super::super::TEMPORARY_PREFIX;
use crate::Error;
use crate::pipeline::job::IfExists;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// An output that does not bear its name yet; gone if dropped.
#[derive(Debug)]
pub(in crate::pipeline) enum Output {
    /// A file without a name: whatever happens, nothing is left behind.
    Unnamed(File),
    /// A file under a temporary name in the final folder.
    Named(File, TemporaryName),
}

impl Output {
    /// An output under a temporary name in `folder`; its owner may read and write it whatever `mode` says.
    pub(super) fn named(folder: &Arc<OwnedFd>, mode: u32) -> Result<Output, Error> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
        let mut file = None;
        let temporary = TemporaryName::take(folder, |name| {
            file = Some(openat(folder, name, flags, Mode::from_raw_mode(mode | 0o600)).map_err(refused)?);
            Ok(())
        })?;
        let file = file.expect("created with its name");
        return Ok(Output::Named(file.into(), temporary));

        fn refused(errno: Errno) -> Error {
            Error::io("create the output", errno.into())
        }
    }

    pub(in crate::pipeline) fn file(&self) -> &File {
        match self {
            Output::Unnamed(file) | Output::Named(file, _) => file,
        }
    }

    /// Whether it has the permissions that it was asked with, as far as the process's mask lets them through.
    pub(in crate::pipeline) fn has_permissions_asked_for(&self) -> bool {
        matches!(self, Output::Unnamed(_))
    }

    /// Gives the complete file its name in `folder`. `may_replace` is asked before anything is replaced.
    pub(super) fn publish(
        self,
        folder: &Arc<OwnedFd>,
        name: &OsStr,
        if_exists: IfExists,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Output::Named(_, temporary) if if_exists == IfExists::Overwrite => {
                temporary.replace(folder, name, may_replace)
            }
            Output::Named(_, temporary) => temporary.become_final(folder, name, if_exists),
            Output::Unnamed(file) => match link(&file, folder, name) {
                Ok(()) => Ok(()),
                // Linking never replaces, renaming does: so the file gets a temporary name for a moment.
                Err(Errno::EXIST) if if_exists == IfExists::Overwrite => {
                    may_replace()?;
                    let refused = |errno: Errno| Error::io("replace the output", errno.into());
                    TemporaryName::take(folder, |temporary| link(&file, folder, temporary).map_err(refused))?
                        .become_final(folder, name, if_exists)
                }
                Err(Errno::EXIST) => Err(Error::OutputExists),
                Err(errno) => Err(Error::io("give the output its name", errno.into())),
            },
        }
    }
}

/// A random name in a folder that something of ours bears; taken away when dropped.
#[derive(Debug)]
pub(in crate::pipeline) struct TemporaryName {
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
        let random = getrandom::u64()
            .map_err(|error| Error::io("draw a random name", std::io::Error::other(error)))?;
        let name = format!("{TEMPORARY_PREFIX}{random:016x}");
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

    /// As `become_final` where outputs are replaced, but `may_replace` is asked first if the name is taken.
    fn replace(
        self,
        folder: &OwnedFd,
        name: &OsStr,
        may_replace: &dyn Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        /// Where nothing can be renamed on condition, one output is named at a time: no two see the same name free.
        static NAMING: Mutex<()> = Mutex::new(());
        let (from, to) = ((&self.folder, self.name()), (folder, name));
        match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.forget();
                Ok(())
            }
            Err(Errno::EXIST) => {
                may_replace()?;
                self.become_final(folder, name, IfExists::Overwrite)
            }
            Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                let _naming = NAMING.lock().unwrap_or_else(PoisonError::into_inner);
                if statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                    may_replace()?;
                }
                self.become_final(folder, name, IfExists::Overwrite)
            }
            Err(errno) => Err(Error::io("give the output its name", errno.into())),
        }
    }

    fn become_final(self, folder: &OwnedFd, name: &OsStr, if_exists: IfExists) -> Result<(), Error> {
        let from = (&self.folder, self.name());
        let renamed = match if_exists {
            IfExists::Overwrite => renameat(from.0, from.1, folder, name),
            IfExists::Fail | IfExists::Skip => {
                match renameat_with(from.0, from.1, folder, name, RenameFlags::NOREPLACE) {
                    // What kernels and file systems say that can only replace: those can link.
                    Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                        return linkat(from.0, from.1, folder, name, AtFlags::empty()).map_err(refused);
                    }
                    renamed => renamed,
                }
            }
        };
        renamed.map_err(refused)?;
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

#[cfg(test)]
mod tests {
    use super::super::Target;
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
        link_through_proc(&file, &target.folder, OsStr::new("final")).unwrap();
        assert!(folder.path().join("final").exists());
    }
}
