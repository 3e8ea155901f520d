//! Decides whether files whose size and time have not changed are those that the index lists.

use super::{Comparing, Kept, State};
use crate::Error;
use crate::index::{Index, IndexKind};
use crate::pipeline::sync::content::digest_of;
use crate::report::Action;
use crate::tree::Inode;
use std::collections::HashMap;
use std::sync::OnceLock;

impl Comparing<'_> {
    /// Decides about files with another inode than the index lists: two may have swapped their names. And about those whose
    /// content is compared.
    pub(super) fn decide_doubtful(&mut self, index: Option<&Index>) -> Result<(), Error> {
        let doubtful = std::mem::take(&mut self.doubtful);
        if doubtful.is_empty() {
            return Ok(());
        }
        let entries = &self.sync.tree.entries;
        let is_moved = |kept: &Kept| {
            let found = entries.get(kept.entry).attributes().inode;
            found.filter(|_| kept.listed.inode.is_some() && found != kept.listed.inode)
        };
        let state = |inode: Inode, kept: &Kept| -> State { (inode, kept.listed.size, kept.listed.modified) };
        let mut listed_as: HashMap<State, bool> =
            doubtful.iter().filter_map(|kept| Some((state(is_moved(kept)?, kept), false))).collect();
        if !listed_as.is_empty() {
            for listed in index.map(Index::entries).into_iter().flatten() {
                if let IndexKind::File(file) = listed?.kind
                    && let Some(inode) = file.inode
                    && let Some(is_listed) = listed_as.get_mut(&(inode, file.size, file.modified))
                {
                    *is_listed = true;
                }
            }
        }
        let is_swapped = |kept: &Kept| {
            is_moved(kept).is_some_and(|inode| listed_as.get(&state(inode, kept)) == Some(&true))
        };
        let verdicts: Vec<OnceLock<bool>> = doubtful.iter().map(|_| OnceLock::new()).collect();
        self.sync.each(doubtful.len(), |number| {
            let kept = &doubtful[number];
            let is_same = !is_swapped(kept)
                && (!self.sync.options.checksum
                    || digest_of(self.sync, kept.entry, kept.listed.key_id).ok() == kept.listed.digest);
            let _ = verdicts[number].set(is_same);
        })?;
        for (kept, verdict) in doubtful.into_iter().zip(verdicts) {
            match verdict.into_inner() {
                Some(true) => self.settle(kept),
                Some(false) => {
                    let has_listed_version = self.outputs.has_version(&kept.path, &kept.listed);
                    self.add_due(kept.entry, Action::Changed, has_listed_version);
                }
                None => return Err(Error::Stopped),
            }
        }
        Ok(())
    }
}
