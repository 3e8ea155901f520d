//! What a synchronization did.

use serde::Serialize;

/// What a synchronization does with a file, folder or link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Action {
    /// Encrypts a file, or makes a link, that the index does not list.
    New,
    /// Encrypts a file again that is not the one that the index lists, or replaces a link.
    Changed,
    /// Encrypts a file again whose output is missing or is not the one that the index lists.
    Restored,
    /// Renames the output of a file that was renamed.
    Renamed,
    /// Changes the permissions of an output.
    Mode,
    /// Removes what is gone from the source.
    Removed,
}

/// How many files and links a synchronization met, by what it did with them, and how many files, folders and links it removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SyncReport {
    /// Encrypted or made for the first time.
    pub new: u64,
    /// Encrypted or made again because the source had changed.
    pub changed: u64,
    /// Encrypted or made again because the output was missing or another one.
    pub restored: u64,
    /// Outputs renamed as their sources were.
    pub renamed: u64,
    /// Outputs whose permissions alone were changed.
    pub mode: u64,
    /// Removed, as they are gone from the source.
    pub removed: u64,
    /// Left as they were.
    pub unchanged: u64,
    /// Gone from the source, and kept.
    pub gone: u64,
}

impl SyncReport {
    /// Counts one.
    pub(crate) fn count(&mut self, action: Action) {
        let counter = match action {
            Action::New => &mut self.new,
            Action::Changed => &mut self.changed,
            Action::Restored => &mut self.restored,
            Action::Renamed => &mut self.renamed,
            Action::Mode => &mut self.mode,
            Action::Removed => &mut self.removed,
        };
        *counter += 1;
    }

    /// How many are as they should be.
    #[must_use]
    pub fn done(&self) -> u64 {
        let SyncReport { new, changed, restored, renamed, mode, removed, unchanged, gone } = self;
        new + changed + restored + renamed + mode + removed + unchanged + gone
    }
}
