//! What a tree holds, in the order of an index.

use crate::pipeline::job::{IndexMode, Job};
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path};

/// Whose names are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline) enum Place {
    /// Those of the tree.
    Source,
    /// Those that a job gives to its outputs.
    Output,
}

/// A folder, file or link of a tree, by its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pipeline) enum Item {
    Folder(u32),
    File(u32),
    Link(u32),
}

/// All items of a tree but its root, with their paths.
pub(in crate::pipeline) struct Items<'t> {
    tree: &'t Tree,
    /// What the names of files get behind them.
    suffix: &'t [u8],
    /// The folders' paths, with `/` between names.
    folders: Vec<Vec<u8>>,
    sorted: std::vec::IntoIter<Item>,
}

impl<'t> Items<'t> {
    pub(in crate::pipeline) fn sorted(tree: &'t Tree, job: &'t Job, place: Place) -> Items<'t> {
        let suffix = if place == Place::Output { job.suffix.as_encoded_bytes() } else { &[] };
        let folders: Vec<Vec<u8>> = tree.directories.iter().map(|folder| bytes_of(&folder.path)).collect();
        let mut by_path: Vec<usize> = (0..folders.len()).collect();
        by_path.sort_unstable_by_key(|folder| &folders[*folder]);
        let ranks: HashMap<&[u8], usize> =
            by_path.iter().enumerate().map(|(rank, folder)| (&*folders[*folder], rank)).collect();
        let known = |folder: &[u8]| ranks.get(folder).copied().unwrap_or(0);
        // By folder, where it and the one above it are among all of them.
        let places: Vec<(usize, usize)> =
            folders.iter().map(|folder| (known(folder), known(crate::index::split(folder).0))).collect();
        let rank_of = |folder: u32| places[folder as usize].0;
        let key = |item: &Item| match *item {
            Item::Folder(folder) => {
                let (_, name) = crate::index::split(&folders[folder as usize]);
                (places[folder as usize].1, name, &[][..])
            }
            Item::File(file) => {
                let entry = &tree.entries[file as usize];
                (rank_of(entry.directory), entry.name.as_encoded_bytes(), suffix)
            }
            Item::Link(link) => {
                let link = &tree.links[link as usize];
                (rank_of(link.directory), link.name.as_encoded_bytes(), &[][..])
            }
        };
        let order = |one: &Item, other: &Item| -> Ordering {
            let ((rank, name, end), (other_rank, other_name, other_end)) = (key(one), key(other));
            let by_name = || match (end, other_end) {
                ([], []) => name.cmp(other_name),
                _ => name.iter().chain(end).cmp(other_name.iter().chain(other_end)),
            };
            rank.cmp(&other_rank).then_with(by_name)
        };
        let count = |len: usize| 0..u32::try_from(len).expect("fewer than 2^32 items fit into memory");
        let mut sorted: Vec<Item> = count(tree.entries.len()).map(Item::File).collect();
        match job.index.as_ref().filter(|index| index.store.is_some()).map(|index| index.mode) {
            None => {
                sorted.extend(count(folders.len()).skip(1).map(Item::Folder));
                sorted.extend(count(tree.links.len()).map(Item::Link));
                // A part of a tree is in this order already, but for its folders.
                sorted.sort_by(order);
            }
            // A store has neither links nor folders.
            Some(IndexMode::Check { .. } | IndexMode::Carry) => sorted.sort_unstable_by(order),
            // It leaves out those without files itself.
            Some(IndexMode::Sync(_)) => {
                sorted.extend(count(folders.len()).skip(1).map(Item::Folder));
                sorted.sort_by(order);
                sorted.dedup_by(|later, first| order(later, first) == Ordering::Equal);
            }
            // A copy of the tree in a file system has the folders that its files need.
            Some(IndexMode::Update | IndexMode::Rebuild { .. }) => {
                let needed = folders_with_files(tree);
                let is_needed = |folder: &u32| needed.contains(&*tree.directories[*folder as usize].path);
                sorted.extend(count(folders.len()).skip(1).filter(is_needed).map(Item::Folder));
                // Files come first, and an object may have the path of a folder.
                sorted.sort_by(order);
                sorted.dedup_by(|later, first| order(later, first) == Ordering::Equal);
            }
        }
        Items { tree, suffix, sorted: sorted.into_iter(), folders }
    }
}

impl Iterator for Items<'_> {
    type Item = (Item, Vec<u8>);

    fn next(&mut self) -> Option<(Item, Vec<u8>)> {
        let item = self.sorted.next()?;
        let (folder, name, suffix) = match item {
            Item::Folder(folder) => return Some((item, self.folders[folder as usize].clone())),
            Item::File(file) => {
                let entry = &self.tree.entries[file as usize];
                (entry.directory, &entry.name, self.suffix)
            }
            Item::Link(link) => {
                let link = &self.tree.links[link as usize];
                (link.directory, &link.name, &[][..])
            }
        };
        let mut path = self.folders[folder as usize].clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name.as_encoded_bytes());
        path.extend_from_slice(suffix);
        Some((item, path))
    }
}

/// The folders below which there are files.
pub(in crate::pipeline) fn folders_with_files(tree: &Tree) -> HashSet<&Path> {
    let mut folders = HashSet::new();
    let with_files: HashSet<u32> = tree.entries.iter().map(|entry| entry.directory).collect();
    for folder in with_files {
        for path in tree.directories[folder as usize].path.ancestors() {
            if !folders.insert(path) {
                break;
            }
        }
    }
    folders
}

/// A relative path with `/` between its names, on every system.
pub(in crate::pipeline) fn bytes_of(path: &Path) -> Vec<u8> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.as_encoded_bytes()),
        _ => None,
    });
    names.collect::<Vec<_>>().join(&b'/')
}
