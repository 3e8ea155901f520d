//! The outputs of an encrypted tree, as they are: looked at folder by folder, through no link.

use crate::files::{Looked, Target};
use crate::index::{path_of, split};
use std::path::Path;

/// An encrypted tree.
pub(super) struct Outputs {
    /// `None` if it is not there.
    root: Option<Target>,
    /// The folder that was looked into last; `None` if it is not there.
    last: (Vec<u8>, Option<Target>),
}

impl Outputs {
    pub(super) fn of(root: &Path) -> Outputs {
        let open = || Target::root(root).ok();
        Outputs { root: open(), last: (Vec::new(), open()) }
    }

    /// What is at this path; `None` if nothing is.
    pub(super) fn look(&mut self, path: &[u8]) -> Option<Looked> {
        let (folder, name) = split(path);
        if self.last.0 != folder {
            let below = path_of(folder).ok();
            let opened = self.root.as_ref().zip(below).and_then(|(root, below)| root.below(&below).ok());
            self.last = (folder.to_vec(), opened);
        }
        self.last.1.as_ref()?.look(path_of(name).ok()?.as_os_str())
    }
}
