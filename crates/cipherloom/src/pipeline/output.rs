//! An output on its way: written under no name (or a temporary one), given its final name only when complete, gone
//! if dropped before.

pub(super) use super::folders::Output;

use super::folders::{Granted, Target};
use super::job::IfExists;
use crate::Error;
use crate::tree::Attributes;
use std::ffi::OsStr;
use std::fs::File;
use std::io;

/// How an output gets its name.
#[derive(Clone, Copy)]
pub(super) struct Naming<'n> {
    pub(super) name: &'n OsStr,
    pub(super) if_exists: IfExists,
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

    /// Gives the output its attributes and its final name. `granted` remembers which permissions new files get by
    /// themselves, so that the usual case costs no system call.
    pub(super) fn commit(
        self,
        folder: &Target,
        naming: Naming<'_>,
        attributes: &Attributes,
        granted: &mut Granted,
        durable: bool,
    ) -> Result<(), Error> {
        let file = self.file();
        let refused = |error| Error::io("set the output's permissions and time", error);
        let has_permissions = self.has_permissions_asked_for()
            && granted.matches(file, &attributes.permissions).map_err(refused)?;
        if !has_permissions {
            file.set_permissions(attributes.permissions.clone()).map_err(refused)?;
        }
        if let Some(modified) = attributes.modified {
            file.set_modified(modified).map_err(refused)?;
        }
        if durable {
            self.sync()?;
        }
        folder.name_checked(self, naming.name, naming.if_exists, naming.may_replace)
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
