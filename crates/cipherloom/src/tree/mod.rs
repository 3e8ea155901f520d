//! A tree: the set of files under one root, listed once before anything runs.
//!
//! The listing is the only place that asks the operating system for sizes, permissions and times; plan and pipeline
//! work from what stands here, so that a small file costs no second `stat`. It never follows a symbolic link and
//! never opens a file's content.

mod dropped;
mod items;
mod named;
mod selection;
mod shard;
mod temporary;
mod walk;

pub use dropped::Dropped;
pub use selection::Selection;
pub use shard::Shard;
pub(crate) use temporary::{is_temporary, temporary_name};
pub(crate) use walk::{attributes, changed};

use crate::Error;
use crate::report::Unobserved;
use std::ffi::OsString;
use std::fs::Permissions;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is carried over from a file or folder to its output.
#[derive(Debug, Clone)]
pub struct Attributes {
    /// Permission bits (Unix) or the read-only flag (Windows).
    pub permissions: Permissions,
    /// Time of the last change of the content, where the file system has one.
    pub modified: Option<SystemTime>,
    /// Time of the last change of content or attributes (Unix: ctime, in seconds and nanoseconds), which no program can set.
    pub(crate) changed: Option<(i64, i64)>,
    /// Which file this is, where files have numbers.
    pub(crate) inode: Option<Inode>,
    /// Whether the file has several names (hard links), as far as that is known.
    pub(crate) has_other_names: bool,
}

/// A time of the last change, in seconds and nanoseconds since 1970.
pub(crate) type Moment = (i64, u32);

impl Attributes {
    /// The permission bits.
    #[cfg(unix)]
    pub(crate) fn mode(&self) -> u32 {
        std::os::unix::fs::PermissionsExt::mode(&self.permissions) & 0o7777
    }

    /// What comes nearest to permission bits.
    #[cfg(not(unix))]
    pub(crate) fn mode(&self) -> u32 {
        if self.permissions.readonly() { 0o444 } else { 0o644 }
    }

    /// The time that [`Attributes::moment`] gives, as one of this system.
    pub(crate) fn time_of(moment: Moment) -> Option<SystemTime> {
        let (seconds, nanoseconds) = moment;
        let whole = Duration::from_secs(seconds.unsigned_abs());
        let time = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
        time?.checked_add(Duration::from_nanos(u64::from(nanoseconds)))
    }

    /// The time of the last change of the content.
    pub(crate) fn moment(&self) -> Option<Moment> {
        match self.modified?.duration_since(UNIX_EPOCH) {
            Ok(since) => Some((i64::try_from(since.as_secs()).ok()?, since.subsec_nanos())),
            Err(before) => {
                let before = before.duration();
                let seconds = -i64::try_from(before.as_secs()).ok()?;
                match before.subsec_nanos() {
                    0 => Some((seconds, 0)),
                    nanoseconds => Some((seconds - 1, 1_000_000_000 - nanoseconds)),
                }
            }
        }
    }
}

/// What a file keeps when it is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Inode {
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Attributes {
    /// Attributes of an object of a store, which keeps neither permissions nor times: those of any new file, or folder.
    ///
    /// # Errors
    /// [`Error::Io`], on systems that give permissions only with a file.
    pub fn of_object(is_folder: bool) -> Result<Attributes, Error> {
        Attributes::with_mode(if is_folder { 0o755 } else { 0o644 })
    }

    /// Attributes with these permission bits, as far as there are some, and without a time.
    pub(crate) fn with_mode(mode: u32) -> Result<Attributes, Error> {
        #[cfg(unix)]
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        #[cfg(not(unix))]
        let permissions = {
            let _ = mode;
            let found = std::fs::metadata(".").map_err(|error| Error::io("read the attributes", error))?;
            found.permissions()
        };
        Ok(Attributes::new(permissions, None))
    }

    /// Attributes of something that is no file of this system.
    #[must_use]
    pub fn new(permissions: Permissions, modified: Option<SystemTime>) -> Attributes {
        Attributes { permissions, modified, changed: None, inode: None, has_other_names: false }
    }
}

/// A folder of the tree.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Path relative to the root; empty for the root itself.
    pub path: PathBuf,
    /// Permissions and time, to be given to its twin in the output tree.
    pub attributes: Attributes,
}

/// A regular file of the tree.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Index of its folder in [`Tree::directories`].
    pub directory: u32,
    /// File name within that folder.
    pub name: OsString,
    /// Size in bytes when listed.
    pub size: u64,
    /// Permissions and time, to be given to its output.
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
    pub entries: Vec<Entry>,
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

    /// A tree of nothing but its root, below which files are to be found.
    pub(crate) fn empty(root: PathBuf, attributes: Attributes) -> Tree {
        walk::empty_tree(root, attributes, false)
    }

    /// The entry's path relative to the root.
    #[must_use]
    pub fn relative_path(&self, entry: &Entry) -> PathBuf {
        self.directories[entry.directory as usize].path.join(&entry.name)
    }

    /// Sum of all sizes, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.size).sum()
    }
}
