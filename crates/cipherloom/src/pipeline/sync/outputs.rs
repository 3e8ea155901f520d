//! What bears the names in a tree: looked at folder by folder, through no link.

use super::comparison::ancestors;
use super::{StoredItem, Sync, SyncStore};
use crate::files::{Looked, Target};
use crate::index::{IndexFile, ObjectVersion, path_of, split};
use std::ffi::OsStr;
use std::path::Path;

/// An encrypted tree.
pub(super) enum Outputs<'s> {
    Folder(Lookup),
    Store(&'s dyn SyncStore),
}

impl<'s> Outputs<'s> {
    pub(super) fn of(sync: &'s Sync<'_>) -> Outputs<'s> {
        sync.store().map_or_else(|| Outputs::Folder(Lookup::of(sync.root)), Outputs::Store)
    }

    /// What is at this path; `None` if nothing is, or it cannot be looked at.
    pub(super) fn look(&mut self, path: &[u8]) -> Option<Looked> {
        let item = match self {
            Outputs::Folder(lookup) => return lookup.look(path),
            Outputs::Store(store) => store.look(path)?,
        };
        let (is_file, len) = match item {
            StoredItem::Object { len, .. } => (true, len),
            StoredItem::Prefix => (false, 0),
        };
        let is_folder = !is_file;
        Some(Looked { is_file, is_folder, is_link: false, device: 0, mode: 0, len, modified: None })
    }

    /// Whether an output is as the index lists it, as far as that shows without opening it.
    pub(super) fn looks_listed(&mut self, path: &[u8], listed: &IndexFile) -> bool {
        match self {
            Outputs::Folder(lookup) => lookup.look(path).is_some_and(|output| {
                output.is_file && output.len == listed.ciphertext_len && output.modified == listed.modified
            }),
            Outputs::Store(_) => {
                let has_len = |output: Looked| output.is_file && output.len == listed.ciphertext_len;
                self.has_version(path, listed) && self.look(path).is_some_and(has_len)
            }
        }
    }

    /// Which version a store has at this path, if there is an object.
    pub(super) fn version(&self, path: &[u8]) -> Option<ObjectVersion> {
        match self {
            Outputs::Store(store) => match store.look(path)? {
                StoredItem::Object { version, .. } => version,
                StoredItem::Prefix => None,
            },
            Outputs::Folder(_) => None,
        }
    }

    /// Whether an output in a store is the version that the index lists.
    pub(super) fn has_version(&self, path: &[u8], listed: &IndexFile) -> bool {
        listed.version.is_some() && self.version(path) == listed.version
    }

    /// Whether an output at one of these paths can get the other as its name.
    pub(super) fn can_rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        match self {
            Outputs::Folder(lookup) => lookup.has_same_device(from, to),
            Outputs::Store(_) => false,
        }
    }
}

/// A source or an encrypted tree in a folder.
pub(super) struct Lookup {
    /// `None` if it is not there.
    root: Option<Target>,
    /// The folder that was looked into last; `None` if it is not there.
    last: (Vec<u8>, Option<Target>),
}

impl Lookup {
    pub(super) fn of(root: &Path) -> Lookup {
        let open = || Target::root(root).ok();
        Lookup { root: open(), last: (Vec::new(), open()) }
    }

    /// What is at this path; `None` if nothing is, or it cannot be looked at.
    pub(super) fn look(&mut self, path: &[u8]) -> Option<Looked> {
        let (folder, name) = split(path);
        if self.last.0 != folder {
            let below = path_of(folder).ok();
            let opened = self.root.as_ref().zip(below).and_then(|(root, below)| root.below(&below).ok());
            self.last = (folder.to_vec(), opened);
        }
        self.last.1.as_ref()?.look(path_of(name).ok()?.as_os_str()).ok()?
    }

    /// Whether a file system can give a file at one of these paths the other as its name.
    fn has_same_device(&mut self, one: &[u8], other: &[u8]) -> bool {
        self.device(one) == self.device(other)
    }

    /// The device of the folder that a path is in, or would be if it were made.
    fn device(&mut self, path: &[u8]) -> Option<u64> {
        let folder = ancestors(path).find_map(|folder| self.look(folder));
        let root = || self.root.as_ref()?.look(OsStr::new(".")).ok()?;
        folder.or_else(root).map(|folder| folder.device)
    }
}
