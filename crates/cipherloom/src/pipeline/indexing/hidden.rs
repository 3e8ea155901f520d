//! Trees with hidden names: the listing of such a tree as its index has it.
//!
//! A run works on a tree of plaintexts' paths, and looks up where the ciphertext of each entry is. So the comparison with an index,
//! and what a run writes into one, are the same as for any other tree.

use super::{Indexing, stream_key};
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Hidden, open_file_below};
use crate::format::Format;
use crate::index::{
    FOLDER, HiddenName, Index, IndexEntry, IndexKind, ancestors, has_copy, has_index, has_name_lists,
    is_name_list, is_unreadable, path_of, read_name_lists, split,
};
use crate::pipeline::hidden_names::HiddenNames;
use crate::pipeline::job::{IndexMode, IndexUse, Work};
use crate::pipeline::tally::FILES_TRIED;
use crate::tree::{Attributes, Directory, Entry, Link, Selection, Tree, Unlisted};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the encrypted folder `root`, if their names are hidden: under the paths, with the modes and times of their
/// plaintexts, and at the end what the index does not list, as it is. `None` for any other folder. `index` then says where the files
/// are; a run that would use no index compares them with it. `selection`: which of the plaintexts are taken.
///
/// # Errors
/// If the folder cannot be listed, or the run cannot do with hidden names what it is to do.
pub fn reveal(
    root: &Path,
    work: &Work,
    selection: &Selection,
    index: &mut Option<IndexUse>,
) -> Result<Option<Tree>, Error> {
    let Some(format) = work.opening().filter(|format| format.key_id().is_some()) else { return Ok(None) };
    // Whoever uses the index reports what is wrong with it.
    let open = |format| if has_index(root) { Index::open(root, format) } else { Ok(None) };
    let mut listing = open(format);
    if let (Err(_), Work::Rekey { to, .. }) = (&listing, work) {
        // A run that was stopped has sealed it with the new key.
        listing = open(to).or(listing);
    }
    let hides_names = match &listing {
        Ok(Some(listing)) => listing.root().hides_names,
        Ok(None) => has_name_lists(root, format),
        // Another run may be at work, and have written no list yet.
        Err(_) => {
            has_copy(root) || has_name_lists(root, format) || Index::hides_names(root, format) == Some(true)
        }
    };
    if !hides_names {
        return Ok(None);
    }
    let used = index.get_or_insert_with(|| {
        let mode = IndexMode::Check { quick: false };
        IndexUse { selection: selection.clone(), releases_replaced: true, ..IndexUse::new(mode) }
    });
    // Globs are for plaintexts' paths.
    let found = Tree::list(root, &Selection::default())?;
    let mut revealed = Revealed::of(&found)?;
    revealed.needs_files = matches!(work, Work::Decrypt(_)) && !used.releases_replaced;
    match (used.mode, listing) {
        (IndexMode::Rebuild { .. }, Err(error)) if !is_unreadable(&error) => return Err(error),
        (IndexMode::Rebuild { .. }, Err(error))
            if !(has_name_lists(root, format) || revealed.opens(format)) =>
        {
            return Err(error);
        }
        (IndexMode::Rebuild { .. }, listing) => {
            // What the index still knows, lists need not.
            let listed = listing.ok().flatten().map(|listing| listing.entries());
            let is_whole = listed.is_some_and(|listed| revealed.add_listed(selection, listed).is_ok());
            if !(is_whole || selection.takes_everything()) {
                return Err(IndexFault::Unsupported("all files of a tree with hidden names").into());
            }
            revealed.add_named(root, format, selection, is_whole)?;
            revealed.report_others(selection);
        }
        (_, Ok(Some(listing))) => {
            revealed.add_listed(selection, listing.entries())?;
            if selection.takes_everything() {
                revealed.add_others(matches!(work, Work::Decrypt(_)))?;
            }
        }
        (_, Ok(None)) => return Err(IndexFault::NamesLost.into()),
        (_, Err(error)) => return Err(error),
    }
    let (mut tree, names) = revealed.finish();
    tree.unlisted.extend(found.unlisted);
    (used.hides_names, used.names) = (true, names);
    Ok(Some(tree))
}

/// Where files are listed whose names are lost.
const LOST: &str = "lost+found";

/// A listing that is being made.
struct Revealed<'f> {
    found: &'f Tree,
    /// The files that have hidden names, and all others but lists of names.
    by_name: HashMap<HiddenName, Entry<'f>>,
    others: Vec<Entry<'f>>,
    folders: HashMap<Vec<u8>, u32>,
    /// Whether folders are taken only for files in them, and the attributes of others.
    needs_files: bool,
    others_listed: HashMap<Vec<u8>, Attributes>,
    tree: Tree,
    names: Vec<Option<HiddenName>>,
}

impl<'f> Revealed<'f> {
    fn of(found: &'f Tree) -> Result<Revealed<'f>, Error> {
        let (mut by_name, mut others) = (HashMap::new(), Vec::new());
        for entry in found.entries.iter() {
            let path = found.relative_path(entry);
            match HiddenName::of_path(&path) {
                Some(name) => _ = by_name.insert(name, entry),
                None if is_name_list(&path) => {}
                None => others.push(entry),
            }
        }
        let mut tree = Tree::empty(found.root.clone(), Attributes::with_mode(0o700)?);
        tree.passed_over = found.passed_over;
        // The second copy of the index, if the listing came to it.
        let has_copy = fs::symlink_metadata(found.root.join("00").join(FOLDER)).is_ok();
        tree.passed_over.index = tree.passed_over.index.saturating_sub(u64::from(has_copy));
        let folders = HashMap::from([(Vec::new(), 0)]);
        let (needs_files, others_listed, names) = (false, HashMap::new(), Vec::new());
        Ok(Revealed { found, by_name, others, folders, needs_files, others_listed, tree, names })
    }

    /// Whether a key opens one of the first files.
    fn opens(&self, format: &Format) -> bool {
        let opens = |name: &HiddenName| {
            let file = open_file_below(&self.found.root, &name.path());
            matches!(file.and_then(|file| stream_key(format, &file, b"")), Ok(Some(_)))
        };
        self.by_name.is_empty() || self.by_name.keys().take(FILES_TRIED).any(opens)
    }

    /// Adds what the index lists.
    fn add_listed(
        &mut self,
        selection: &Selection,
        listed: impl Iterator<Item = Result<IndexEntry, Error>>,
    ) -> Result<(), Error> {
        for listed in listed {
            let listed = listed?;
            let path = path_of(&listed.path)?;
            match listed.kind {
                IndexKind::Folder { mode, modified } => {
                    if !path.ancestors().any(|folder| selection.leaves_out(folder)) {
                        let mut attributes = Attributes::with_mode(mode)?;
                        attributes.modified = modified.and_then(Attributes::time_of);
                        if self.needs_files {
                            self.others_listed.insert(listed.path, attributes);
                        } else {
                            self.folder(&listed.path, Some(attributes))?;
                        }
                    }
                }
                IndexKind::File(file) => {
                    let there = file.name.and_then(|name| self.by_name.remove(&name));
                    let Some(there) = there.filter(|_| selection.takes(&path)) else { continue };
                    let mut attributes = Attributes::with_mode(file.mode)?;
                    attributes.modified = file.modified.and_then(Attributes::time_of);
                    // By which a change during the run is noticed.
                    attributes.changed = there.attributes().changed;
                    self.file(&listed.path, there.size(), &attributes, file.name)?;
                }
                IndexKind::Link { .. } => {}
            }
        }
        Ok(())
    }

    /// Adds the files whose names the lists know, and the others below `lost+found`. `is_rest`: the index has
    /// named all others, so lists that cannot be read are no loss.
    fn add_named(
        &mut self,
        root: &Path,
        format: &Format,
        selection: &Selection,
        is_rest: bool,
    ) -> Result<(), Error> {
        let (mut paths, faults) = read_name_lists(root, format);
        let unlisted = |path: PathBuf| Unlisted { path: root.join(path), error: IndexFault::NameList.into() };
        self.tree.unlisted.extend(faults.into_iter().filter(|_| !is_rest).map(unlisted));
        let mut by_name: Vec<_> = std::mem::take(&mut self.by_name).into_iter().collect();
        by_name.sort_by_key(|(name, _)| *name);
        // An old list may give a path to two files, or to one what is a folder of another.
        let known = self.tree.entries.iter().map(|entry| super::bytes_of(&self.tree.relative_path(entry)));
        let mut taken: HashSet<Vec<u8>> = known.collect();
        let mut folders: HashSet<Vec<u8>> = self.folders.keys().cloned().collect();
        for (name, entry) in by_name {
            let path = paths.remove(&name).filter(|path| {
                let above = || ancestors(path);
                !taken.contains(path)
                    && !folders.contains(path)
                    && !above().any(|folder| taken.contains(folder))
            });
            let path = path.unwrap_or_else(|| {
                let as_path = Path::new(LOST).join(name.path());
                let path = super::bytes_of(&as_path);
                let error = IndexFault::NameLost { as_path }.into();
                self.tree.unlisted.push(Unlisted { path: root.join(name.path()), error });
                path
            });
            folders.extend(ancestors(&path).map(<[u8]>::to_vec));
            taken.insert(path.clone());
            if selection.takes(&path_of(&path)?) {
                self.file(&path, entry.size(), &entry.attributes(), Some(name))?;
            }
        }
        let found: HashSet<HiddenName> = self.names.iter().flatten().copied().collect();
        let mut missing: Vec<_> =
            paths.into_iter().filter(|(name, _)| !(is_rest || found.contains(name))).collect();
        missing.sort();
        for (_, path) in missing {
            let path = root.join(path_of(&path)?);
            self.tree.unlisted.push(Unlisted { path, error: IndexFault::Missing.into() });
        }
        Ok(())
    }

    fn finish(self) -> (Tree, HiddenNames) {
        (self.tree, HiddenNames(self.names.into()))
    }

    /// Adds what the index does not list. What is to be decrypted has no name there, and fails.
    fn add_others(&mut self, is_decrypted: bool) -> Result<(), Error> {
        let mut others = std::mem::take(&mut self.others);
        others.extend(std::mem::take(&mut self.by_name).into_values());
        others.sort_by_key(|entry| (entry.directory(), entry.name()));
        if is_decrypted {
            self.others = others;
            self.report_others(&Selection::default());
            return Ok(());
        }
        for entry in others {
            let path = super::bytes_of(&self.found.relative_path(entry));
            self.file(&path, entry.size(), &entry.attributes(), None)?;
        }
        for link in &self.found.links {
            let folder = super::bytes_of(&self.found.directories[link.directory as usize].path);
            let directory = self.folder(&folder, None)?;
            self.tree.links.push(Link { directory, name: link.name.clone() });
        }
        Ok(())
    }

    /// Reports the files that are no part of the tree, and that the selection takes.
    fn report_others(&mut self, selection: &Selection) {
        for entry in std::mem::take(&mut self.others) {
            let path = self.found.relative_path(entry);
            if selection.takes(&path) {
                let error = IndexFault::Extra { of: None }.into();
                self.tree.unlisted.push(Unlisted { path: self.found.root.join(path), error });
            }
        }
    }

    fn file(
        &mut self,
        path: &[u8],
        size: u64,
        attributes: &Attributes,
        name: Option<HiddenName>,
    ) -> Result<(), Error> {
        let (folder, file_name) = split(path);
        let directory = self.folder(folder, None)?;
        self.tree.entries.push(directory, path_of(file_name)?.as_os_str(), size, attributes);
        self.names.push(name);
        Ok(())
    }

    /// The index of the folder at this path, which is added if it is not there.
    fn folder(&mut self, path: &[u8], attributes: Option<Attributes>) -> Result<u32, Error> {
        if let Some(known) = self.folders.get(path) {
            return Ok(*known);
        }
        self.folder(split(path).0, None)?;
        let attributes = attributes.or_else(|| self.others_listed.remove(path));
        let attributes = attributes.map_or_else(|| Attributes::with_mode(0o700), Ok)?;
        let index = self.tree.directories.len() as u32;
        self.tree.directories.push(Directory { path: path_of(path)?, attributes });
        self.folders.insert(path.to_vec(), index);
        Ok(index)
    }
}

impl Indexing<'_> {
    /// Where an entry is whose name is hidden.
    pub(in crate::pipeline) fn hidden(&self, entry: u32) -> Option<Hidden> {
        let (in_source, in_output) = (self.job.work.opening().is_some(), self.job.work.sealing().is_some());
        self.names.of(entry).map(|name| Hidden { name, in_source, in_output })
    }

    /// Refuses to make the output of an entry where the index lists something else.
    pub(in crate::pipeline) fn check_place(&self, entry: u32) -> Result<(), Error> {
        if self.blocked.files.contains(&entry) { Err(IndexFault::InTheWay.into()) } else { Ok(()) }
    }
}

/// Where an entry is in its encrypted tree.
pub(super) fn place_of(tree: &Tree, names: &HiddenNames, entry: u32) -> PathBuf {
    names.of(entry).map_or_else(|| tree.relative_path(tree.entries.get(entry)), HiddenName::path)
}
