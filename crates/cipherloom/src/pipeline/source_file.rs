//! A file of a listed tree, opened for those who read its bytes themselves: never through a link put there since, and
//! checked against what was listed.

use super::folders::{Folders, Source};
use super::input::Input;
use crate::Error;
use crate::tree::{Entry, Tree};
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

/// Opens the file at `path`, which may be named through links: the user pointed at it. A FIFO does not block, and gives a
/// file that is none.
///
/// # Errors
/// [`Error::Io`]; [`Error::NeitherFileNorFolder`] if the path ends in no name.
pub fn open_file(path: &Path) -> Result<File, Error> {
    let (folder, name) = divide(path)?;
    Source::root(if folder.as_os_str().is_empty() { Path::new(".") } else { folder })?.input(name, true)
}

/// Opens the file at `relative` below the folder `root`. No link is followed below it, and a FIFO does not block.
///
/// # Errors
/// [`Error::Io`]; [`Error::SourceChanged`] for a link; [`Error::NeitherFileNorFolder`] if the path ends in no name.
pub fn open_file_below(root: &Path, relative: &Path) -> Result<File, Error> {
    let (folder, name) = divide(relative)?;
    Source::root(root)?.below(folder)?.input(name, false)
}

fn divide(path: &Path) -> Result<(&Path, &OsStr), Error> {
    let name = path.file_name().ok_or(Error::NeitherFileNorFolder)?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

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
        self.0.check_unchanged(false)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_only_where_the_user_named_them() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("a")).unwrap();
        fs::write(root.path().join("a/book"), b"text").unwrap();
        fs::write(outside.path().join("book"), b"other").unwrap();
        symlink(outside.path(), root.path().join("link")).unwrap();
        symlink(outside.path().join("book"), root.path().join("a/link")).unwrap();
        assert!(open_file(&root.path().join("a/link")).is_ok());
        assert!(open_file_below(root.path(), Path::new("a/book")).is_ok());
        for linked in ["a/link", "link/book"] {
            let opened = open_file_below(root.path(), Path::new(linked));
            assert!(matches!(opened, Err(Error::SourceChanged)), "{linked}");
        }
    }
}
