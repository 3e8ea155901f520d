//! An output for those who write a format of their own, at any offset and from many threads: without a name until it
//! is complete, as every output of this library.

use super::existing::IfExists;
use super::folders::{Output, Target};
use super::input::read_up_to;
use crate::location::split;
use crate::{Error, error::LocationFault};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A file that has no name yet. Dropped, it is gone.
#[derive(Debug)]
pub struct Draft {
    pub(super) output: Output,
    pub(super) root: PathBuf,
    /// The folder's path below the root; empty for the root itself.
    pub(super) below: PathBuf,
    pub(super) name: OsString,
    pub(super) if_exists: IfExists,
}

impl Draft {
    /// Begins the output at `path`, in a folder that exists. `if_exists` says what to do in the end where the
    /// name is taken.
    ///
    /// # Errors
    /// [`LocationFault::NoName`]; [`Error::Io`] if the folder takes no file; [`Error::NamesNotAtomic`]
    /// where only replacing is known, and that is not wanted.
    pub fn begin(path: &Path, if_exists: IfExists) -> Result<Draft, Error> {
        let (parent, name) = split(path)?;
        let output = begin_in(&Target::root(parent)?, if_exists)?;
        Ok(Draft { output, root: parent.to_owned(), below: PathBuf::new(), name: name.to_owned(), if_exists })
    }

    /// Begins the file that shall stand at `relative` below the folder `root`, which exists; folders between them are made.
    /// No link between them is followed.
    ///
    /// # Errors
    /// As [`Draft::begin`]; [`Error::LinkInDestination`]; [`LocationFault::OutsideFolder`] if `relative` leads up or away.
    pub fn begin_below(root: &Path, relative: &Path, if_exists: IfExists) -> Result<Draft, Error> {
        let (below, name) = divide(relative)?;
        let root_folder = Target::root(root)?;
        // Outputs come folder by folder: mostly it is there.
        let folder = match root_folder.below(below) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                make_below(root_folder, below)?
            }
            opened => opened?,
        };
        let output = begin_in(&folder, if_exists)?;
        Ok(Draft { output, root: root.to_owned(), below: below.to_owned(), name: name.to_owned(), if_exists })
    }

    /// Whether a file stands at `relative` below the folder `root`, reached through no link. Anything else there is no
    /// output of an earlier run.
    #[must_use]
    pub fn is_there(root: &Path, relative: &Path) -> bool {
        let found = divide(relative).and_then(|(below, name)| Ok((Target::root(root)?.below(below)?, name)));
        found.is_ok_and(|(folder, name)| folder.has_output(name))
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
        match read_up_to(self.output.file(), buffer, offset).map_err(refused)? {
            count if count == buffer.len() => Ok(()),
            _ => Err(refused(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// The file, for reading and for its attributes.
    #[must_use]
    pub fn file(&self) -> &File {
        self.output.file()
    }

    /// Forces the content to stable storage.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn sync(&self) -> Result<(), Error> {
        self.output.sync()
    }

    /// Gives the complete file its name, when the file system has accepted all that was written.
    ///
    /// # Errors
    /// [`Error::OutputExists`] where the name is taken and may not be replaced; [`Error::Io`].
    pub fn publish(self) -> Result<(), Error> {
        self.output.accept_writes()?;
        Target::root(&self.root)?.below(&self.below)?.name(
            self.output,
            &self.name,
            self.if_exists.into(),
            &|| Ok(()),
        )
    }
}

/// An output without its name, where it can get one.
fn begin_in(folder: &Target, if_exists: IfExists) -> Result<Output, Error> {
    folder.may_name(if_exists.into())?;
    folder.output(None)
}

/// The folder and the name of a relative path that leads down only.
pub(super) fn divide(relative: &Path) -> Result<(&Path, &OsStr), Error> {
    let is_name = |component: Component<'_>| matches!(component, Component::Normal(_));
    match relative.file_name() {
        Some(name) if relative.components().all(is_name) => {
            Ok((relative.parent().unwrap_or(Path::new("")), name))
        }
        _ => Err(LocationFault::OutsideFolder.into()),
    }
}

fn make_below(root: Target, below: &Path) -> Result<Target, Error> {
    let mut folder = root;
    for name in below {
        folder.make_folder(name, None)?;
        folder = folder.below(Path::new(name))?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_draft_is_nothing_until_it_is_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("book.epub");
        let begin = |if_exists| Draft::begin(&path, if_exists).unwrap();
        let draft = begin(IfExists::Fail);
        draft.write_at(b"world", 6).unwrap();
        draft.write_at(b"hello ", 0).unwrap();
        let mut back = [0; 11];
        draft.read_at(&mut back, 0).unwrap();
        assert_eq!(&back, b"hello world");
        assert!(draft.read_at(&mut back, 1).is_err());
        assert!(!path.exists());
        draft.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"hello world");
        drop(begin(IfExists::Overwrite));
        assert!(matches!(begin(IfExists::Skip).publish(), Err(Error::OutputExists)));
        begin(IfExists::Overwrite).publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_draft_below_a_root_never_leaves_it() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let draft = Draft::begin_below(root.path(), Path::new("a/b/book.epub"), IfExists::Fail).unwrap();
        draft.write_at(b"text", 0).unwrap();
        draft.publish().unwrap();
        assert_eq!(fs::read(root.path().join("a/b/book.epub")).unwrap(), b"text");
        std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
        let begin =
            |relative| Draft::begin_below(root.path(), Path::new(relative), IfExists::Fail).map(|_| ());
        fs::write(outside.path().join("book"), b"").unwrap();
        for linked in ["link/book", "link/deep/book"] {
            assert!(matches!(begin(linked), Err(Error::LinkInDestination)), "{linked}");
            assert!(!Draft::is_there(root.path(), Path::new(linked)), "{linked}");
        }
        assert!(Draft::is_there(root.path(), Path::new("a/b/book.epub")));
        assert!(!Draft::is_there(root.path(), Path::new("a/b")));
        for away in ["../book", "/book", "a/../../book", ""] {
            assert!(matches!(begin(away), Err(Error::Location(LocationFault::OutsideFolder))), "{away}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
