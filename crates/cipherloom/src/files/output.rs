//! An output on its way: written under no name (or a temporary one), given its final name only when complete, gone
//! if dropped before.

use super::folders::Output;
use crate::Error;
use std::fs::File;
use std::io;

impl Output {
    pub(crate) fn write(&self, mut bytes: &[u8], mut offset: u64) -> Result<(), Error> {
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
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.file().sync_all().map_err(|error| Error::io("force the output to stable storage", error))
    }

    /// Gives the output the owner and group of `source`, as far as this process may.
    #[cfg(unix)]
    pub(crate) fn take_owner_of(&self, source: &File) -> Result<(), Error> {
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
    pub(crate) fn take_owner_of(&self, _source: &File) -> Result<(), Error> {
        Ok(())
    }

    /// Has the file system accept all that was written, while the output can still be given up.
    #[cfg(unix)]
    pub(crate) fn accept_writes(&self) -> Result<(), Error> {
        accept_writes(self.file()).map_err(|error| Error::io("write the output", error))
    }

    /// Closing reports nothing there.
    #[cfg(not(unix))]
    pub(crate) fn accept_writes(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Asks the file system whether it accepts all that was written. NFS, CIFS and many file systems on FUSE (sshfs, server
/// quotas) report a full disk at `close` and no earlier, so this closes a duplicate of the descriptor.
///
/// # Errors
/// If something that was written is lost, or if no duplicate can be made, so that nobody knows.
#[cfg(unix)]
pub fn accept_writes(file: impl std::os::fd::AsFd) -> io::Result<()> {
    until_closed(|| file.as_fd().try_clone_to_owned(), |duplicate| Ok(nix::unistd::close(duplicate)?))
}

#[cfg(unix)]
fn until_closed<D>(
    duplicate: impl Fn() -> io::Result<D>,
    close: impl Fn(D) -> io::Result<()>,
) -> io::Result<()> {
    loop {
        match close(duplicate()?) {
            // This descriptor is gone, but not all may be written.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            closed => return closed,
        }
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

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::until_closed;
    use std::cell::Cell;
    use std::io::{self, ErrorKind};

    #[test]
    fn an_interrupted_close_asks_again_and_a_failed_one_is_an_error() {
        let closed = Cell::new(0);
        let close = |end: Option<ErrorKind>| {
            closed.set(0);
            until_closed(
                || Ok(()),
                |()| match closed.replace(closed.get() + 1) {
                    0 | 1 => Err(ErrorKind::Interrupted.into()),
                    _ => end.map_or(Ok(()), |kind| Err(kind.into())),
                },
            )
        };
        assert!(close(None).is_ok());
        assert_eq!(closed.get(), 3);
        assert_eq!(close(Some(ErrorKind::StorageFull)).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(closed.get(), 3);
        let none_free = || Err::<(), _>(io::Error::from(ErrorKind::ResourceBusy));
        assert!(until_closed(none_free, |()| Ok(())).is_err());
    }
}
