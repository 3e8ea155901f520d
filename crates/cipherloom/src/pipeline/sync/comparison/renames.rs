//! Recognises files that were renamed.

use super::{Comparing, Kept, State};
use crate::Error;
use crate::index::IndexKind;
use crate::pipeline::sync::content::digest_of;
use crate::pipeline::sync::{Sync, output_path};
use crate::report::Action;
use std::collections::{HashMap, HashSet};

impl Comparing<'_> {
    /// Finds new files that were files of other names before, and whose outputs can be renamed: paths are not bound, and the
    /// output is the listed one and opens without its path.
    pub(super) fn find_renames(&mut self) -> Result<(), Error> {
        let Sync { tree, job, root, .. } = *self.sync;
        let mut known: HashMap<State, Option<usize>> = HashMap::new();
        for (at, gone) in self.result.gone.iter().enumerate() {
            if let IndexKind::File(file) = &gone.kind
                && let Some(inode) = file.inode
            {
                known
                    .entry((inode, file.size, file.modified))
                    .and_modify(|at| *at = None)
                    .or_insert(Some(at));
            }
        }
        if known.is_empty() || job.bind_path || self.sync.store().is_some() {
            return Ok(());
        }
        let mut taken = HashSet::new();
        let mut due = std::mem::take(&mut self.result.due);
        due.retain(|due| {
            let entry = tree.entries.get(due.entry);
            let attributes = entry.attributes();
            let inode = attributes.inode.filter(|_| !attributes.has_other_names);
            // A time of whole seconds may be that of another file, which got the inode of one that was removed.
            let modified = attributes.moment().filter(|(_, nanoseconds)| *nanoseconds != 0);
            let state = inode.zip(modified).map(|(inode, modified)| (inode, entry.size(), Some(modified)));
            let Some(at) =
                state.filter(|_| due.action == Action::New).and_then(|state| known.remove(&state)?)
            else {
                return true;
            };
            let (gone, new_path) = (&self.result.gone[at], output_path(tree, job, due.entry));
            let IndexKind::File(listed) = &gone.kind else { return true };
            // One without a digest counts as changed, as everywhere.
            let has_content = || {
                !self.sync.options.checksum
                    || (listed.digest.is_some()
                        && digest_of(self.sync, due.entry, listed.key_id).ok() == listed.digest)
            };
            let has_new_name = self.sync.is_listed_stream(&new_path, listed);
            let is_free = has_new_name
                || (self.outputs.look(&new_path).is_none() && self.outputs.can_rename(&gone.path, &new_path));
            let is_there = has_new_name || self.sync.is_listed_stream(&gone.path, listed);
            let from = if has_new_name { &new_path } else { &gone.path };
            let is_unbound = || job.hides_names() || self.sync.opens_without_path(root, from);
            // Its content is read last.
            let is_kept = is_free && is_there && is_unbound();
            if self.result.obstacles.block(&new_path) || !is_kept || !has_content() {
                return true;
            }
            let kept = Kept { entry: due.entry, path: gone.path.clone(), listed: listed.clone() };
            taken.insert(at);
            self.result.obstacles.release(&gone.path);
            self.result.renames.push(kept);
            false
        });
        self.result.due = due;
        let mut at = 0..;
        self.result.gone.retain(|_| !taken.contains(&at.next().expect("endless")));
        Ok(())
    }
}
