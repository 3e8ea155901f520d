//! An output on its way: written under no name (or a temporary one), given its final name only when complete, gone
//! if dropped before.

pub(super) use super::folders::Output;

use super::folders::{Granted, Target, is_refused_by_kind};
use super::job::Job;
use crate::Error;
use crate::tree::Attributes;
use std::ffi::OsStr;
use std::fs::File;
use std::io;

/// How an output gets its name.
#[derive(Clone, Copy)]
pub(super) struct Naming<'n> {
    pub(super) name: &'n OsStr,
    /// Asked before anything is replaced.
    pub(super) may_replace: &'n dyn Fn() -> Result<(), Error>,
}

impl Output {
    pub(super) fn write(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), Error> {
        while !bytes.is_empty() {
            match write_at(self.file(), bytes, offset) {
                Ok(0) => return Err(Error::io("write the output", io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    bytes = &bytes[count..];
                    offset += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("write the output", error)),
            }
        }
        Ok(())
    }

    /// Forces the content to stable storage.
    pub(super) fn sync(&self) -> Result<(), Error> {
        self.file().sync_all().map_err(|error| Error::io("force the output to stable storage", error))
    }

    /// Gives the output the owner and group of `source`, as far as this process may.
    #[cfg(unix)]
    pub(super) fn take_owner_of(&self, source: &File) -> Result<(), Error> {
        use std::os::unix::fs::{MetadataExt, fchown};
        let owner = |file: &File| -> Result<(u32, u32), Error> {
            let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
            Ok((metadata.uid(), metadata.gid()))
        };
        let (wanted, given) = (owner(source)?, owner(self.file())?);
        if wanted != given {
            // Only root may give a file away; whoever else replaces it owns it, as with every editor.
            let _ = fchown(self.file(), Some(wanted.0), Some(wanted.1));
        }
        Ok(())
    }

    #[cfg(not(unix))]
    pub(super) fn take_owner_of(&self, _source: &File) -> Result<(), Error> {
        Ok(())
    }

    /// Has the file system accept all that was written: NFS, CIFS and many of FUSE (sshfs, quotas of a server) report a full
    /// disk at `close` and no earlier. Closing a duplicate asks for that while the output can still be given up. On file
    /// systems that delay nothing this costs 0.4 µs for the two calls, measured on tmpfs.
    #[cfg(unix)]
    pub(super) fn accept_writes(&self) -> Result<(), Error> {
        let refused = |error| Error::io("write the output", error);
        loop {
            let duplicate = self.file().try_clone().map_err(refused)?;
            match nix::unistd::close(duplicate) {
                Ok(()) => return Ok(()),
                // This descriptor is gone, but not all may be written.
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(refused(errno.into())),
            }
        }
    }

    /// Closing reports nothing there.
    #[cfg(not(unix))]
    pub(super) fn accept_writes(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Gives the output its attributes and its final name; false if the file system did not take the attributes. `granted`
    /// remembers which permissions new files get by themselves, so that the usual case costs no system call.
    pub(super) fn commit(
        self,
        folder: &Target,
        naming: Naming<'_>,
        attributes: &Attributes,
        granted: &mut Granted,
        job: &Job<'_>,
    ) -> Result<bool, Error> {
        // Before the time is set: what is written late may change it.
        self.accept_writes()?;
        let file = self.file();
        let taken = |done: io::Result<()>| match done {
            Ok(()) => Ok(true),
            Err(error) if is_refused_by_kind(&error) => Ok(false),
            Err(error) => Err(Error::io("set the output's permissions and time", error)),
        };
        let mut all_taken = true;
        if job.preserve_modes {
            let wanted = &attributes.permissions;
            let set = |matches| if matches { Ok(()) } else { file.set_permissions(wanted.clone()) };
            all_taken &= taken(granted.matches(file, wanted).and_then(set))?;
        }
        if let Some(modified) = attributes.modified {
            all_taken &= taken(file.set_modified(modified))?;
        }
        if job.durable {
            self.sync()?;
        }
        folder.name_checked(self, naming.name, job.existing(), naming.may_replace)?;
        Ok(all_taken)
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::write_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_write(file, bytes, offset)
}
