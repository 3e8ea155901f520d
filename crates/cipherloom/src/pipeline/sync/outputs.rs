//! What bears the names in a tree: looked at folder by folder, through no link.

use super::comparison::ancestors;
use crate::files::{Looked, Target};
use crate::index::{path_of, split};
use std::ffi::OsStr;
use std::path::Path;

/// A source or an encrypted tree.
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
    pub(super) fn has_same_device(&mut self, one: &[u8], other: &[u8]) -> bool {
        self.device(one) == self.device(other)
    }

    /// The device of the folder that a path is in, or would be if it were made.
    fn device(&mut self, path: &[u8]) -> Option<u64> {
        let folder = ancestors(path).find_map(|folder| self.look(folder));
        let root = || self.root.as_ref()?.look(OsStr::new(".")).ok()?;
        folder.or_else(root).map(|folder| folder.device)
    }
}
