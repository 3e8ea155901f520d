//! The sealed index of an encrypted tree: which files belong to it, and which streams they are. A file by itself is authentic or
//! not; the index shows that one is missing, was added, was swapped with another, or was put back to an earlier version.
//!
//! ```text
//! DST/.cipherloom/index/lock            writers lock it alone, readers together
//!                      /root            the newest generation, replaced in one rename
//!                      /root.previous   the one before
//!                      /parts/<SHA-256 of the file>
//!                      /journals/…      what a run over several machines has made, until its end (`journal.rs`)
//! ```
//!
//! Parts are written first, then the root. The parts of the generation before stay until the next one, and parts that are the
//! same in both are shared. In an object store the same files are objects without a lock, and both roots are replaced by
//! conditional writes (`place.rs`). `docs/formats.md` has the bytes, and decision 9 the reasons.

use crate::Error;
#[cfg(not(unix))]
use crate::error::IndexFault;
use std::path::PathBuf;

mod anchor;
mod entry;
mod folder;
mod hidden;
mod journal;
mod name_lists;
mod part;
mod place;
mod reader;
mod root;
mod sealed;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use anchor::Anchor;
pub(crate) use entry::{ContentDigest, IndexEntry, IndexFile, IndexKind, ancestors, split};
pub use entry::{ObjectVersion, StreamIdentity};
pub(crate) use folder::has_copy;
pub use folder::has_index;
pub(crate) use hidden::{HiddenName, NewNames, folder_path, is_hidden_folder};
pub(crate) use journal::{JournalEntries, JournalWriter};
pub(crate) use name_lists::{has_name_lists, is_name_list, read_name_lists};
pub use part::rewrite_part;
#[cfg(test)]
pub(crate) use place::tests::{Memory, Objects};
pub use place::{IndexPlace, IndexStore};
pub(crate) use reader::{Entries, Index};
pub(crate) use root::Root;
pub use root::rewrite_root;
pub(crate) use sealed::digest;
pub(crate) use writer::{IndexWriter, Replacing, is_unreadable};

/// The folder at the top of a tree that holds its index. No entry of a tree has this name, at any depth: a folder of the tree may
/// be a tree with an index of its own.
pub(crate) const FOLDER: &str = ".cipherloom";

/// A path of an index, as one of this system.
///
/// # Errors
/// [`IndexFault::Damaged`] where paths are text and this is none.
#[cfg(unix)]
pub(crate) fn path_of(path: &[u8]) -> Result<PathBuf, Error> {
    use std::os::unix::ffi::OsStrExt;
    Ok(std::ffi::OsStr::from_bytes(path).into())
}

/// A path of an index, as one of this system.
///
/// # Errors
/// [`IndexFault::Damaged`] where paths are text and this is none.
#[cfg(not(unix))]
pub(crate) fn path_of(path: &[u8]) -> Result<PathBuf, Error> {
    let path =
        std::str::from_utf8(path).map_err(|_| IndexFault::Damaged("a path that this system cannot have"))?;
    Ok(path.into())
}

/// Whether an entry of this name would be in an index's place; some file systems ignore case.
#[must_use]
pub fn is_reserved(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().eq_ignore_ascii_case(FOLDER.as_bytes())
}
