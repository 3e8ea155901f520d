//! What a tree holds, in the order of an index.

use crate::Error;
use crate::files::{Input, Source, open_file_below};
use crate::index::split;
use crate::pipeline::job::{IndexMode, Job};
use crate::tree::{Attributes, Tree, attributes};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

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

/// All items of a tree but its root, with their paths. Those of one folder at a time are sorted.
pub(in crate::pipeline) struct Items<'t> {
    tree: &'t Tree,
    /// What the names of files get behind them.
    suffix: &'t [u8],
    /// Whether one of two items of the same path is left out.
    is_unique: bool,
    /// The folders' paths, with `/` between names.
    folders: Vec<Vec<u8>>,
    /// What the folders hold that come next, in their order.
    left: Peekable<std::vec::IntoIter<Held>>,
    /// What is left of one folder.
    sorted: std::vec::IntoIter<Item>,
}

/// Something that a folder holds.
struct Held {
    /// Where the folder is among all of them.
    rank: u32,
    what: What,
}

enum What {
    /// Files that follow each other in the listing.
    Files(Range<u32>),
    Other(Item),
}

impl<'t> Items<'t> {
    pub(in crate::pipeline) fn sorted(tree: &'t Tree, job: &'t Job, place: Place) -> Items<'t> {
        let suffix = if place == Place::Output { job.suffix.as_encoded_bytes() } else { &[] };
        let folders: Vec<Vec<u8>> = tree.directories.iter().map(|folder| bytes_of(&folder.path)).collect();
        let count = |len: usize| 0..u32::try_from(len).expect("fewer than 2^32 items fit into memory");
        let mut by_path: Vec<u32> = count(folders.len()).collect();
        by_path.sort_unstable_by_key(|folder| &folders[*folder as usize]);
        let ranks: HashMap<&[u8], u32> =
            by_path.iter().zip(0..).map(|(folder, rank)| (&*folders[*folder as usize], rank)).collect();
        let rank_of = |folder: &[u8]| ranks.get(folder).copied().unwrap_or(0);
        let rank = |folder: u32| rank_of(&folders[folder as usize]);

        let files = tree.entries.runs();
        let mut left: Vec<Held> = files
            .map(|(files, directory)| Held { rank: rank(directory), what: What::Files(files) })
            .collect();
        let mode = job.index.as_ref().filter(|index| index.store.is_some()).map(|index| index.mode);
        let (has_folders, has_links, is_unique) = match mode {
            None => (true, true, false),
            // A store has neither links nor folders.
            Some(IndexMode::Check { .. } | IndexMode::Carry) => (false, false, false),
            // A copy of the tree in a file system has the folders that its files need. An object may have the path of one.
            Some(IndexMode::Update | IndexMode::Rebuild { .. } | IndexMode::Sync(_)) => (true, false, true),
        };
        if has_folders {
            // A synchronization leaves out those without files itself.
            let is_sync = matches!(mode, Some(IndexMode::Sync(_)));
            let needed = (is_unique && !is_sync).then(|| folders_with_files(tree));
            let is_needed = |folder: &u32| match &needed {
                Some(needed) => needed.contains(&*tree.directories[*folder as usize].path),
                None => true,
            };
            left.extend(count(folders.len()).skip(1).filter(is_needed).map(|folder| {
                let rank = rank_of(split(&folders[folder as usize]).0);
                Held { rank, what: What::Other(Item::Folder(folder)) }
            }));
        }
        if has_links {
            left.extend(tree.links.iter().zip(0..).map(|(link, number)| Held {
                rank: rank(link.directory),
                what: What::Other(Item::Link(number)),
            }));
        }
        // Files come first.
        left.sort_by_key(|held| held.rank);
        let (left, sorted) = (left.into_iter().peekable(), Vec::new().into_iter());
        Items { tree, suffix, is_unique, folders, left, sorted }
    }

    /// What the next folder holds, sorted.
    fn next_folder(&mut self) -> Option<Vec<Item>> {
        let rank = self.left.peek()?.rank;
        let mut items = Vec::new();
        while let Some(held) = self.left.next_if(|held| held.rank == rank) {
            match held.what {
                What::Files(files) => items.extend(files.map(Item::File)),
                What::Other(item) => items.push(item),
            }
        }
        let order = |one: &Item, other: &Item| -> Ordering {
            let ((name, end), (other_name, other_end)) = (self.name(*one), self.name(*other));
            match (end, other_end) {
                ([], []) => name.cmp(other_name),
                _ => name.iter().chain(end).cmp(other_name.iter().chain(other_end)),
            }
        };
        items.sort_by(order);
        if self.is_unique {
            items.dedup_by(|later, first| order(later, first) == Ordering::Equal);
        }
        Some(items)
    }

    /// The name of an item, and what it gets behind it.
    fn name(&self, item: Item) -> (&[u8], &[u8]) {
        match item {
            Item::Folder(folder) => (split(&self.folders[folder as usize]).1, &[]),
            Item::File(file) => (self.tree.entries.get(file).name().as_encoded_bytes(), self.suffix),
            Item::Link(link) => (self.tree.links[link as usize].name.as_encoded_bytes(), &[]),
        }
    }
}

impl Iterator for Items<'_> {
    type Item = (Item, Vec<u8>);

    fn next(&mut self) -> Option<(Item, Vec<u8>)> {
        let item = loop {
            match self.sorted.next() {
                Some(item) => break item,
                None => self.sorted = self.next_folder()?.into_iter(),
            }
        };
        let folder = match item {
            Item::Folder(folder) => return Some((item, self.folders[folder as usize].clone())),
            Item::File(file) => self.tree.entries.get(file).directory(),
            Item::Link(link) => self.tree.links[link as usize].directory,
        };
        let (below, (name, suffix)) = (&self.folders[folder as usize], self.name(item));
        let mut path = Vec::with_capacity(below.len() + 1 + name.len() + suffix.len());
        path.extend_from_slice(below);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path.extend_from_slice(suffix);
        Some((item, path))
    }
}

/// The folders below which there are files.
pub(in crate::pipeline) fn folders_with_files(tree: &Tree) -> HashSet<&Path> {
    let mut folders = HashSet::new();
    let with_files: HashSet<u32> = tree.entries.runs().map(|(_, folder)| folder).collect();
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

/// Where the link leads that is in the place of the tree's below `root`.
pub(in crate::pipeline) fn read_link(root: &Path, tree: &Tree, link: u32) -> Result<PathBuf, Error> {
    let link = &tree.links[link as usize];
    let below = &tree.directories[link.directory as usize].path;
    Source::root(root)?.below(below)?.read_link(&link.name)
}

/// Opens a file of the encrypted tree that is to be an output of this run.
pub(super) fn open_output(root: &Path, path: &Path) -> Result<(Input, Attributes), Error> {
    let file = open_file_below(root, path).map_err(|error| match error {
        Error::SourceChanged => Error::LinkInDestination,
        error => error,
    })?;
    let metadata = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
    if !metadata.is_file() {
        return Err(Error::OutputExists);
    }
    let attributes = attributes(&metadata);
    Ok((Input::new(file, metadata.len(), &attributes), attributes))
}
