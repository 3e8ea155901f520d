//! What an index needs of its tree's root beside drafts: the owner's permissions for a while, and files removed again.

use super::draft::divide;
use super::folders::{Ending, Opened, Target};
use crate::Error;
use std::path::{Path, PathBuf};

/// A folder that lacked permissions of its owner, and has them as long as this exists.
#[derive(Debug)]
pub(crate) struct OpenedRoot {
    root: PathBuf,
    opened: Opened,
}

impl OpenedRoot {
    /// Gives this user the owner's permissions on the folder; `None` if it is not this user's or lacks none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn open(root: &Path) -> Result<Option<OpenedRoot>, Error> {
        let opened = Target::root(root)?.open_up(Path::new(""))?;
        Ok(opened.map(|opened| OpenedRoot { root: root.to_owned(), opened }))
    }
}

impl Drop for OpenedRoot {
    fn drop(&mut self) {
        // What cannot be closed is no less readable than it was.
        let closed = Target::root(&self.root)
            .and_then(|root| root.finish(Path::new(""), Ending::Closed(self.opened), false));
        let _ = closed;
    }
}

/// Removes the file at `relative` below the folder `root`. No link is followed on the way.
///
/// # Errors
/// [`Error::Io`], [`Error::LinkInDestination`].
pub(crate) fn remove_file_below(root: &Path, relative: &Path) -> Result<(), Error> {
    let (below, name) = divide(relative)?;
    Target::root(root)?.below(below)?.remove_file(name)
}

/// Removes what killed runs left under temporary names in the folder at `relative` below `root`. What remains is no harm.
pub(crate) fn remove_leftovers_below(root: &Path, relative: &Path) {
    if let Ok(root) = Target::root(root) {
        root.remove_leftovers(relative);
    }
}
