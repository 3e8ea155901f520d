//! Jobs over trees whose names only the index knows.

use super::job::{Job, Links, Work};
use crate::Error;
use crate::error::IndexFault;
use crate::index::HiddenName;
use std::sync::Arc;

/// By entry of a tree, the name of its ciphertext; `None` if it is where the listing says.
#[derive(Debug, Clone, Default)]
pub struct HiddenNames(pub(super) Arc<[Option<HiddenName>]>);

impl HiddenNames {
    /// The name of this entry's ciphertext, if that is hidden.
    pub(super) fn of(&self, entry: u32) -> Option<HiddenName> {
        self.0.get(entry as usize).copied().flatten()
    }
}

impl Job {
    /// Whether the files of the encrypted tree have hidden names.
    #[must_use]
    pub fn hides_names(&self) -> bool {
        self.index.as_ref().is_some_and(|index| index.hides_names)
    }

    /// Whether it writes files with hidden names.
    pub(super) fn hides_outputs(&self) -> bool {
        self.hides_names() && self.work.sealing().is_some()
    }

    /// Refuses what hidden names exclude.
    ///
    /// # Errors
    /// [`IndexFault::Unsupported`].
    pub fn check_hidden_names(&self) -> Result<(), Error> {
        let Some(index) = self.index.as_ref().filter(|index| index.hides_names) else { return Ok(()) };
        let needed = [
            (index.store.is_some(), "a folder where names are hidden"),
            (self.bind_path, "paths that are not bound where names are hidden"),
            (!self.suffix.is_empty(), "names without a suffix where they are hidden"),
            (
                self.links != Links::Skip && matches!(self.work, Work::Encrypt(_)),
                "links to be skipped where names are hidden",
            ),
        ];
        match needed.iter().find(|(is_refused, _)| *is_refused) {
            Some((_, needed)) => Err(IndexFault::Unsupported(needed).into()),
            None => Ok(()),
        }
    }
}
