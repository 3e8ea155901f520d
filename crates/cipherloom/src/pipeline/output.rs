//! An output on its way: written under no name (or a temporary one), given its final name only when complete, gone
//! if dropped before.

use super::folders::{Folder, Granted};
use super::job::IfExists;
use crate::Error;
use crate::tree::Attributes;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use tempfile::NamedTempFile;

#[derive(Debug)]
pub(super) enum Output {
    /// A file without a name: whatever happens, nothing is left behind.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has files without names"))]
    Unnamed(File),
    /// A file under a temporary name in the final folder, removed when dropped.
    Named(NamedTempFile),
}

impl Output {
    pub(super) fn file(&self) -> &File {
        match self {
            Output::Unnamed(file) => file,
            Output::Named(file) => file.as_file(),
        }
    }

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
        folder: &Folder,
        name: &OsStr,
        attributes: &Attributes,
        granted: &mut Granted,
        if_exists: IfExists,
        durable: bool,
    ) -> Result<(), Error> {
        let file = self.file();
        let refused = |error| Error::io("set the output's permissions and time", error);
        let has_permissions = match self {
            Output::Unnamed(_) => granted.matches(file, &attributes.permissions).map_err(refused)?,
            Output::Named(_) => false,
        };
        if !has_permissions {
            file.set_permissions(attributes.permissions.clone()).map_err(refused)?;
        }
        if let Some(modified) = attributes.modified {
            file.set_modified(modified).map_err(refused)?;
        }
        if durable {
            self.sync()?;
        }
        folder.name(self, name, if_exists)
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
