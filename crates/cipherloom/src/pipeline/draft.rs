//! An output for those who write a format of their own, at any offset and from many threads: without a name until it
//! is complete, as every output of this library.

use super::folders::Folder;
use super::input::read_at;
use super::job::IfExists;
use super::output::Output;
use crate::Error;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A file that has no name yet. Dropped, it is gone.
#[derive(Debug)]
pub struct Draft {
    output: Output,
    folder: PathBuf,
    name: OsString,
}

impl Draft {
    /// Begins the file that shall stand at `path`, in a folder that exists.
    ///
    /// # Errors
    /// [`Error::NeitherFileNorFolder`] if the path ends in no name; [`Error::Io`] if the folder takes no file.
    pub fn begin(path: &Path) -> Result<Draft, Error> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().ok_or(Error::NeitherFileNorFolder)?;
        let output = Folder::root(parent, Some(parent))?.output(None)?;
        Ok(Draft { output, folder: parent.to_owned(), name: name.to_owned() })
    }

    /// Writes all of `bytes` at `offset`; what lies before may be written later.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), Error> {
        self.output.write(bytes, offset)
    }

    /// Fills `buffer` with what was written at `offset`.
    ///
    /// # Errors
    /// [`Error::Io`], also if nothing was written so far.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), Error> {
        let refused = |error| Error::io("read the output back", error);
        let mut filled = 0;
        while filled < buffer.len() {
            match read_at(self.output.file(), &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => return Err(refused(io::ErrorKind::UnexpectedEof.into())),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Ok(())
    }

    /// Forces the content to stable storage.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&self) -> Result<(), Error> {
        self.output.sync()
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// [`Error::OutputExists`] where the name is taken and may not be replaced; [`Error::Io`].
    pub fn publish(self, if_exists: IfExists) -> Result<(), Error> {
        let folder = Folder::root(&self.folder, Some(&self.folder))?;
        folder.name(self.output, &self.name, if_exists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_draft_is_nothing_until_it_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.epub");
        let draft = Draft::begin(&path).unwrap();
        draft.write_at(b"world", 6).unwrap();
        draft.write_at(b"hello ", 0).unwrap();
        let mut back = [0; 11];
        draft.read_at(&mut back, 0).unwrap();
        assert_eq!(&back, b"hello world");
        assert!(draft.read_at(&mut back, 1).is_err());
        assert!(!path.exists());
        draft.publish(IfExists::Fail).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello world");
        drop(Draft::begin(&path).unwrap());
        assert!(matches!(Draft::begin(&path).unwrap().publish(IfExists::Skip), Err(Error::OutputExists)));
        Draft::begin(&path).unwrap().publish(IfExists::Overwrite).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
