//! The part of a source that a round processes, as a tree of its own.

use super::Sync;
use super::comparison::{Comparison, Due};
use crate::Error;
use crate::index::{ContentDigest, path_of, split};
use crate::pipeline::indexing::bytes_of;
use crate::pipeline::job::Job;
use crate::pipeline::tally::Entries;
use crate::pipeline::worker::TreeEntries;
use crate::report::Action;
use crate::tree::{Dropped, EntryList, Link, PassedOver, Tree};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders of a source.
pub(super) struct Folders {
    /// By folder, the one above.
    parents: Vec<u32>,
    /// Those that get new attributes, or new names or permissions in them without a file of a round, and in whose way nothing is.
    pub(super) touched: Vec<u32>,
    /// The same, and those in whose way something is.
    pub(super) all_touched: Vec<u32>,
}

impl Folders {
    pub(super) fn of(sync: &Sync<'_>, comparison: &Comparison) -> Result<Folders, Error> {
        let directories = &sync.tree.directories;
        let by_path: HashMap<&Path, u32> =
            directories.iter().zip(0..).map(|(directory, index)| (&*directory.path, index)).collect();
        let parent = |path: &Path| path.parent().and_then(|above| by_path.get(above)).copied().unwrap_or(0);
        let parents = directories.iter().map(|directory| parent(&directory.path)).collect();
        let mut all_touched = comparison.folders.clone();
        all_touched
            .extend(comparison.links.iter().map(|(link, _)| sync.tree.links[*link as usize].directory));
        let kept = comparison.renames.iter().chain(&comparison.modes);
        all_touched.extend(kept.map(|kept| sync.tree.entries.get(kept.entry).directory()));
        let gone = comparison.gone.iter().filter(|_| sync.deletes()).map(|gone| &gone.path);
        for path in gone.chain(comparison.renames.iter().map(|kept| &kept.path)) {
            all_touched.extend(by_path.get(&*path_of(split(path).0)?));
        }
        all_touched.retain(|folder| sync.lists_folder(*folder));
        let mut touched = all_touched.clone();
        if !comparison.obstacles.is_empty() {
            let path = |folder: &u32| bytes_of(&directories[*folder as usize].path);
            touched.retain(|folder| !comparison.obstacles.block(&path(folder)));
        }
        Ok(Folders { parents, touched, all_touched })
    }
}

/// A part of a source.
pub(super) struct Subset {
    pub(super) tree: Arc<Tree>,
    /// By entry, why it is encrypted.
    pub(super) actions: Vec<Action>,
    /// By entry, whether the index lists none of its name.
    pub(super) is_unlisted: Vec<bool>,
    /// By entry, whether its output in a store is still the version that the index lists.
    pub(super) has_listed_version: Vec<bool>,
    /// By entry, the digest of its content, if it is compared.
    pub(super) digests: Vec<Option<ContentDigest>>,
    /// By link, why it is made.
    pub(super) link_actions: Vec<Action>,
}

impl Subset {
    /// These files and links, with the folders around them. `touched`: and those that are touched otherwise. `digests`: those of
    /// the files.
    pub(super) fn of(
        sync: &Sync<'_>,
        folders: &Folders,
        due: &[Due],
        links: &[(u32, Action)],
        touched: &[u32],
        digests: Vec<Option<ContentDigest>>,
    ) -> Subset {
        let Sync { tree, .. } = *sync;
        let mut is_needed = vec![false; tree.directories.len()];
        is_needed[0] = true;
        let files = due.iter().map(|due| tree.entries.get(due.entry).directory());
        let links_in = links.iter().map(|(link, _)| tree.links[*link as usize].directory);
        for mut folder in files.chain(links_in).chain(touched.iter().copied()) {
            while !std::mem::replace(&mut is_needed[folder as usize], true) {
                folder = folders.parents[folder as usize];
            }
        }
        let mut numbers = vec![0; tree.directories.len()];
        let mut directories = Vec::new();
        for (index, directory) in tree.directories.iter().enumerate().filter(|(index, _)| is_needed[*index]) {
            numbers[index] = directories.len() as u32;
            directories.push(directory.clone());
        }
        let mut entries = EntryList::default();
        for entry in due.iter().map(|due| tree.entries.get(due.entry)) {
            let directory = numbers[entry.directory() as usize];
            entries.push(directory, entry.name(), entry.size(), &entry.attributes());
        }
        let made_links = links.iter().map(|(link, _)| {
            let Link { directory, name } = &tree.links[*link as usize];
            Link { directory: numbers[*directory as usize], name: name.clone() }
        });
        let tree = Tree {
            root: tree.root.clone(),
            directories,
            entries,
            links: made_links.collect(),
            passed_over: PassedOver::default(),
            dropped: Dropped::default(),
            unlisted: Vec::new(),
            is_single_file: false,
            is_several: false,
        };
        Subset {
            tree: Arc::new(tree),
            actions: due.iter().map(|due| due.action).collect(),
            is_unlisted: due.iter().map(|due| due.action == Action::New).collect(),
            has_listed_version: due.iter().map(|due| due.has_listed_version).collect(),
            digests,
            link_actions: links.iter().map(|(_, action)| *action).collect(),
        }
    }

    /// The entries, for a tally.
    pub(super) fn entries<'s>(&'s self, job: &'s Job) -> impl Entries<u32> + 's {
        SubsetEntries { subset: self, entries: TreeEntries { tree: &self.tree, job } }
    }
}

struct SubsetEntries<'s> {
    subset: &'s Subset,
    entries: TreeEntries<'s>,
}

impl Entries<u32> for SubsetEntries<'_> {
    fn size(&self, entry: &u32) -> u64 {
        self.entries.size(entry)
    }

    fn paths(&self, entry: &u32) -> (PathBuf, Option<PathBuf>) {
        self.entries.paths(entry)
    }

    fn action(&self, entry: &u32) -> Option<Action> {
        Some(self.subset.actions[*entry as usize])
    }
}
