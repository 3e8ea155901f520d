//! A file of a listed tree, opened for those who read its bytes themselves: never through a link put there since, and
//! checked against what was listed.

use super::folders::Folders;
use super::input::Input;
use crate::Error;
use crate::tree::{Entry, Tree};

/// A file as it was listed.
#[derive(Debug)]
pub struct SourceFile(Input);

impl SourceFile {
    /// Opens an entry of `tree`. Below the tree's root no link is followed.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SourceChanged`] if a link stands there now.
    pub fn open(tree: &Tree, entry: &Entry) -> Result<SourceFile, Error> {
        let mut folders = Folders::new(&tree.root, None);
        let folder = folders.open(entry.directory, &tree.directories[entry.directory as usize].path)?;
        let file = folder.source.input(&entry.name, tree.is_single_file)?;
        Ok(SourceFile(Input::new(file, entry.size, &entry.attributes)))
    }

    /// `len` bytes from `offset`.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::SourceShrank`] or [`Error::SourceChanged`] where the length is another one now.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len + 1];
        self.0.read(&mut bytes, len, offset)?;
        bytes.truncate(len);
        Ok(bytes)
    }

    /// Fails if the file was changed since it was listed: to be asked when all is read.
    ///
    /// # Errors
    /// [`Error::SourceShrank`], [`Error::SourceChanged`], [`Error::Io`].
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.0.check_unchanged()
    }
}
