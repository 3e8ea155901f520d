//! A tree: the set of files under one root, listed once before anything runs.
//!
//! The listing is the only place that asks the operating system for sizes, permissions and times; plan and pipeline
//! work from what stands here, so that a small file costs no second `stat`. It never follows a symbolic link and
//! never opens a file's content.

mod attributes;
mod dropped;
mod entries;
mod items;
mod named;
mod selection;
mod shard;
mod temporary;
mod walk;

pub use attributes::Attributes;
pub(crate) use attributes::{Inode, Moment, attributes, changed};
pub use dropped::Dropped;
pub(crate) use entries::ByFolder;
pub use entries::{Entry, EntryList};
pub use selection::Selection;
pub use shard::Shard;
pub(crate) use temporary::{is_temporary, temporary_name};

use crate::Error;
use crate::report::Unobserved;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A folder of the tree.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Path relative to the root; empty for the root itself.
    pub path: PathBuf,
    /// Permissions and time, to be given to its twin in the output tree.
    pub attributes: Attributes,
}

/// A symbolic link of the tree; never followed.
#[derive(Debug, Clone)]
pub struct Link {
    /// Index of its folder in [`Tree::directories`].
    pub directory: u32,
    /// The link's own name within that folder.
    pub name: OsString,
}

/// How many things the listing passed over, by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PassedOver {
    /// FIFOs, sockets and devices.
    pub special: u64,
    /// Files and folders that the selection left out.
    pub excluded: u64,
    /// What has the name of an index, `.cipherloom`.
    pub index: u64,
    /// Temporary files of runs that were killed: `.cipherloom-` and 16 hexadecimal digits.
    pub leftovers: u64,
}

/// A part of the tree that could not be listed; the rest was.
#[derive(Debug)]
pub struct Unlisted {
    /// What could not be read.
    pub path: PathBuf,
    /// Why not.
    pub error: Error,
}

/// Every file under one root with its size, in the order of listing (a folder's files stand together).
#[derive(Debug)]
pub struct Tree {
    /// The folder that all relative paths start from. For a single file, the folder that holds it.
    pub root: PathBuf,
    /// The folders, parents before their children; the root is the first.
    pub directories: Vec<Directory>,
    /// The regular files.
    pub entries: EntryList,
    /// The symbolic links.
    pub links: Vec<Link>,
    /// What was passed over.
    pub passed_over: PassedOver,
    /// What the files have that outputs do not carry over.
    pub dropped: Dropped,
    /// What could not be listed.
    pub unlisted: Vec<Unlisted>,
    /// True if the tree is one file named by the user, not a folder.
    pub is_single_file: bool,
    /// True if the tree is files and folders named by the user, side by side in the root, which itself is no part of it.
    pub is_several: bool,
}

impl Tree {
    /// Lists the file or folder at `source`.
    ///
    /// # Errors
    /// If `source` itself cannot be read, or is neither a file nor a folder. Trouble further down goes to
    /// [`Tree::unlisted`].
    pub fn list(source: &Path, selection: &Selection) -> Result<Tree, Error> {
        Tree::list_observed(source, selection, &Unobserved)
    }

    /// The entry's path relative to the root.
    #[must_use]
    pub fn relative_path(&self, entry: Entry<'_>) -> PathBuf {
        self.directories[entry.directory() as usize].path.join(entry.name())
    }

    /// Sum of all sizes, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().map(Entry::size).sum()
    }
}
