//! Compares a source with the index of its encrypted tree, and the index with the outputs, without changing anything.
//!
//! A file is unchanged if its size and time are those of the index, and its output has the length and time that the index says
//! (in a store: its length and version). Any other output is looked into. Where in doubt, a file is encrypted again.

mod doubtful;
mod renames;

use super::outputs::{Lookup, Outputs};
use super::removal::Obstacles;
use super::twins::twins;
use super::{Sync, output_path};
use crate::Error;
use crate::error::IndexFault;
pub(super) use crate::index::ancestors;
use crate::index::{Index, IndexEntry, IndexFile, IndexKind, path_of, split};
use crate::pipeline::indexing::{Item, Items, Place, read_link};
use crate::pipeline::job::Links;
use crate::report::Action;
use crate::tree::{Inode, Moment};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What is to be done so that the encrypted tree is as its source.
#[derive(Default)]
pub(super) struct Comparison {
    /// Files to encrypt, in the index's order.
    pub(super) due: Vec<Due>,
    /// Folders that are new or have other attributes than the index lists.
    pub(super) folders: Vec<u32>,
    /// Unchanged folders of which the output's owner has a permission that the source's has not, as a run that is killed leaves it,
    /// and some file systems keep it: worth no generation.
    pub(super) opened_up: Vec<u32>,
    /// Links to make or replace.
    pub(super) links: Vec<(u32, Action)>,
    pub(super) renames: Vec<Kept>,
    /// Files of which the permissions alone have changed.
    pub(super) modes: Vec<Kept>,
    /// Unchanged files whose objects are the listed streams in another version than the index knows, or that have other inodes: to
    /// be listed anew with a generation that is written anyway.
    pub(super) learned: Vec<Kept>,
    pub(super) gone: Vec<Gone>,
    pub(super) obstacles: Obstacles,
    /// Folders that hold entries which the source's listing was not to find.
    pub(super) holds_excluded: HashSet<Vec<u8>>,
    pub(super) unchanged: u64,
}

/// A file to encrypt.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) entry: u32,
    pub(super) action: Action,
    /// Whether its output in a store is still the version that the index lists.
    pub(super) has_listed_version: bool,
}

/// A file whose output stays.
pub(super) struct Kept {
    pub(super) entry: u32,
    /// Where its output is.
    pub(super) path: Vec<u8>,
    pub(super) listed: IndexFile,
}

/// What the index lists and the source has not.
pub(super) struct Gone {
    pub(super) path: Vec<u8>,
    pub(super) kind: IndexKind,
    /// Whether the source has something else of this name, or of that of a folder above.
    pub(super) is_in_the_way: bool,
}

/// A state of a file that outlasts a new name.
type State = (Inode, u64, Option<Moment>);

impl Comparison {
    /// Compares. `index`: the newest generation, if there is one.
    ///
    /// # Errors
    /// If the index cannot be read; [`Error::Stopped`].
    pub(super) fn of(sync: &Sync<'_>, index: Option<&Index>) -> Result<Comparison, Error> {
        if let Some(store) = sync.store() {
            store.list(sync.observer)?;
        }
        let mut comparing = Comparing {
            sync,
            source: Lookup::of(&sync.tree.root),
            outputs: Outputs::of(sync),
            passed_over: HashSet::new(),
            has_listed_file: false,
            result: Comparison::default(),
            unsure: Vec::new(),
            doubtful: Vec::new(),
            twins: twins(sync),
        };
        comparing.compare_listings(index)?;
        comparing.open_unsure()?;
        comparing.decide_doubtful(index)?;
        comparing.find_renames()?;
        comparing.refuse_other_source()?;
        let mut result = comparing.result;
        // As the listing has them: those of one folder together.
        result.due.sort_unstable_by_key(|due| due.entry);
        Ok(result)
    }

    pub(super) fn is_empty(&self, deletes: bool) -> bool {
        let Comparison { due, folders, links, renames, modes, gone, .. } = self;
        due.is_empty()
            && folders.is_empty()
            && links.is_empty()
            && renames.is_empty()
            && modes.is_empty()
            && (gone.is_empty() || !deletes)
    }
}

struct Comparing<'s> {
    sync: &'s Sync<'s>,
    source: Lookup,
    outputs: Outputs<'s>,
    /// What the index lists where the source has a link or special file that the listing passes over.
    passed_over: HashSet<Vec<u8>>,
    /// Whether the source has something of the name of a listed file.
    has_listed_file: bool,
    result: Comparison,
    /// Files that have not changed, and whose outputs are not seen to be the listed ones before they are opened.
    unsure: Vec<Kept>,
    /// Files whose size and time have not changed, and of which more is to be known.
    doubtful: Vec<Kept>,
    /// Entries whose outputs the destination cannot tell apart, each with another one of these.
    twins: HashMap<u32, u32>,
}

impl Comparing<'_> {
    /// Goes through both listings, which have the same order.
    fn compare_listings(&mut self, index: Option<&Index>) -> Result<(), Error> {
        let Sync { tree, job, .. } = *self.sync;
        if index.is_none() && self.sync.store().is_none() {
            // What is new needs no order, and no path.
            (0..).take(tree.entries.len()).for_each(|entry| self.add_new(Item::File(entry)));
            (0..).take(tree.directories.len()).skip(1).for_each(|folder| self.add_new(Item::Folder(folder)));
            (0..).take(tree.links.len()).for_each(|link| self.add_new(Item::Link(link)));
            return Ok(());
        }
        let is_listed = |item: &Item| match item {
            Item::Folder(folder) => self.sync.lists_folder(*folder),
            Item::File(_) | Item::Link(_) => true,
        };
        let items = Items::sorted(tree, job, Place::Output);
        let mut items = items.filter(|(item, _)| is_listed(item)).peekable();
        for listed in index.map(Index::entries).into_iter().flatten() {
            self.sync.check_stopped()?;
            let listed = listed?;
            let is_before =
                |(_, path): &(Item, Vec<u8>)| split(path).cmp(&split(&listed.path)) == Ordering::Less;
            while let Some((item, _)) = items.next_if(is_before) {
                self.add_new(item);
            }
            match items.next_if(|(_, path)| *path == listed.path) {
                Some((item, _)) => {
                    self.has_listed_file |= matches!(listed.kind, IndexKind::File(_));
                    self.meet(item, listed);
                }
                None => self.miss(listed)?,
            }
        }
        for (item, _) in items {
            self.add_new(item);
        }
        Ok(())
    }

    fn add_new(&mut self, item: Item) {
        match item {
            Item::File(entry) => self.add_due(entry, Action::New, false),
            Item::Folder(folder) => self.result.folders.push(folder),
            Item::Link(_) if self.sync.job.links == Links::Skip => {}
            Item::Link(link) => self.result.links.push((link, Action::New)),
        }
    }

    fn add_due(&mut self, entry: u32, action: Action, has_listed_version: bool) {
        match self.twins.get(&entry) {
            Some(twin) => {
                let name = self.sync.tree.entries.get(*twin).name();
                let collision = Error::NameCollision { other: name.to_string_lossy().into_owned() };
                self.sync.fail(&output_path(self.sync.tree, self.sync.job, entry), &collision);
            }
            None => self.result.due.push(Due { entry, action, has_listed_version }),
        }
    }

    /// The source has something of the name that the index lists.
    fn meet(&mut self, item: Item, listed: IndexEntry) {
        let IndexEntry { path, kind } = listed;
        let Sync { tree, job, root, .. } = *self.sync;
        match (item, kind) {
            (Item::File(entry), IndexKind::File(listed)) => self.meet_file(entry, path, listed),
            (Item::Folder(folder), IndexKind::Folder { mode: listed_mode, modified }) => {
                let attributes = &tree.directories[folder as usize].attributes;
                let is_same = (attributes.mode(), attributes.moment()) == (listed_mode, modified);
                let has_mode = self.has_mode(&path, attributes.mode());
                let has_twin = self.sync.store().is_none() && !job.hides_names();
                let output = self.outputs.look(&path).filter(|found| has_twin && found.is_folder);
                if !is_same || !has_mode || has_twin && output.is_none() {
                    self.result.folders.push(folder);
                } else if output.is_some_and(|found| found.mode & !attributes.mode() & 0o700 != 0) {
                    self.result.opened_up.push(folder);
                }
            }
            (Item::Link(_), IndexKind::Link { .. }) if job.links == Links::Skip => self.result.unchanged += 1,
            (Item::Link(link), IndexKind::Link { target }) => {
                let leads_there = |root: &Path| {
                    read_link(root, tree, link)
                        .is_ok_and(|found| found.as_os_str().as_encoded_bytes() == &*target)
                };
                match (leads_there(&tree.root), leads_there(root)) {
                    (true, true) => self.result.unchanged += 1,
                    (true, false) => self.result.links.push((link, Action::Restored)),
                    (false, _) => self.result.links.push((link, Action::Changed)),
                }
            }
            (Item::Link(_), _) if job.links == Links::Skip => self.pass_over(path),
            (item, kind) => {
                // A run that was killed may have put the one in the place of the other, but not where names are hidden.
                let output = self.outputs.look(&path).filter(|_| !job.hides_names());
                let is_replaced = output.is_some_and(|output| match item {
                    Item::File(_) => output.is_file,
                    Item::Folder(_) => output.is_folder,
                    Item::Link(_) => !output.is_file && !output.is_folder,
                });
                // In a store, nothing keeps an object from having the path of a folder.
                let is_kept = output.is_some() || job.hides_names() || self.sync.store().is_some();
                self.result.obstacles.insert(path.clone(), is_kept && !is_replaced);
                if !is_replaced {
                    self.result.gone.push(Gone { path, kind, is_in_the_way: true });
                }
                self.add_new(item);
            }
        }
    }

    fn meet_file(&mut self, entry: u32, path: Vec<u8>, listed: IndexFile) {
        let found = self.sync.tree.entries.get(entry);
        let attributes = found.attributes();
        let modified = attributes.moment();
        let is_other = listed.plaintext != self.sync.job.plaintext_path(&path);
        if is_other || found.size() != listed.size || modified.is_none() || modified != listed.modified {
            return self.add_due(entry, Action::Changed, self.outputs.has_version(&path, &listed));
        }
        // A key that was disabled opens it no longer.
        if !self.sync.format.has_key(listed.key_id) {
            return self.add_due(entry, Action::Restored, self.outputs.has_version(&path, &listed));
        }
        let looks_listed = self.outputs.looks_listed(&path, &listed);
        let kept = Kept { entry, path, listed };
        if looks_listed { self.meet_content(kept) } else { self.unsure.push(kept) }
    }

    /// Decides about files whose outputs are to be opened first.
    fn open_unsure(&mut self) -> Result<(), Error> {
        let unsure = std::mem::take(&mut self.unsure);
        let verdicts = self.sync.are_listed_streams(&unsure)?;
        for (kept, is_listed) in unsure.into_iter().zip(verdicts) {
            if is_listed {
                self.meet_content(kept)
            } else {
                self.add_due(kept.entry, Action::Restored, false)
            }
        }
        Ok(())
    }

    /// A file with the size and time that the index lists, and with its output.
    fn meet_content(&mut self, kept: Kept) {
        let Kept { entry, path, listed } = &kept;
        let inode = self.sync.tree.entries.get(*entry).attributes().inode;
        let checksum = self.sync.options.checksum;
        if checksum && listed.digest.is_none() {
            return self.add_due(*entry, Action::Changed, self.outputs.has_version(path, listed));
        }
        let has_other_inode = listed.inode.is_some() && inode != listed.inode;
        if checksum || has_other_inode {
            self.doubtful.push(kept);
        } else {
            self.settle(kept);
        }
    }

    /// A file that is the one that the index lists.
    fn settle(&mut self, mut kept: Kept) {
        // Its object is known to be the listed stream, in whatever version.
        let version = self.outputs.version(&kept.path);
        let is_learned = version.is_some() && version != kept.listed.version;
        kept.listed.version = version.or(kept.listed.version);
        let found = self.sync.tree.entries.get(kept.entry).attributes().mode();
        let inode = self.sync.tree.entries.get(kept.entry).attributes().inode;
        let is_moved = kept.listed.inode.is_some() && inode.is_some() && inode != kept.listed.inode;
        if found == kept.listed.mode && self.has_mode(&kept.path, found) {
            self.result.unchanged += 1;
            if is_learned || is_moved {
                self.result.learned.push(kept);
            }
        } else if self.sync.store().is_some() || self.sync.is_listed_stream(&kept.path, &kept.listed) {
            self.result.modes.push(kept);
        } else {
            // It cannot be opened to be given others.
            self.add_due(kept.entry, Action::Changed, false);
        }
    }

    /// Whether an output has the permissions of its source, if they are preserved exactly.
    fn has_mode(&mut self, path: &[u8], wanted: u32) -> bool {
        !self.sync.job.preserve_modes
            || self.sync.job.hides_names()
            || self.outputs.look(path).is_some_and(|output| output.mode == wanted & 0o777)
    }

    /// Keeps what the index lists, and all below it: the source has something there that the listing passes over.
    fn pass_over(&mut self, path: Vec<u8>) {
        self.result.holds_excluded.extend(ancestors(&path).map(<[u8]>::to_vec));
        self.passed_over.insert(path);
    }

    /// The source has nothing of the name that the index lists.
    fn miss(&mut self, listed: IndexEntry) -> Result<(), Error> {
        let Sync { job, .. } = *self.sync;
        let selection = job.index.as_ref().map(|index| &index.selection);
        let plaintext = path_of(listed.plaintext_path())?;
        let is_excluded = selection.is_some_and(|selection| match listed.kind {
            IndexKind::Folder { .. } => plaintext.ancestors().any(|folder| selection.leaves_out(folder)),
            IndexKind::File(_) | IndexKind::Link { .. } => !selection.takes(&plaintext),
        });
        if is_excluded {
            self.result.holds_excluded.extend(ancestors(&listed.path).map(<[u8]>::to_vec));
            return Ok(());
        }
        let is_passed_over = ancestors(&listed.path).any(|folder| self.passed_over.contains(folder))
            || self.source.look(listed.plaintext_path()).is_some_and(|found| match found.is_link {
                true => job.links == Links::Skip,
                false => !found.is_file && !found.is_folder,
            });
        if is_passed_over {
            self.pass_over(listed.path);
            return Ok(());
        }
        let is_in_the_way = self.result.obstacles.block(&listed.path);
        self.result.gone.push(Gone { path: listed.path, kind: listed.kind, is_in_the_way });
        Ok(())
    }

    /// Refuses to remove everything that is listed: the source may be an unmounted disk, or another folder.
    fn refuse_other_source(&self) -> Result<(), Error> {
        let Comparison { gone, renames, .. } = &self.result;
        let loses_files = gone.iter().any(|gone| matches!(gone.kind, IndexKind::File(_)));
        if self.sync.deletes() && loses_files && !self.has_listed_file && renames.is_empty() {
            return Err(Error::from(IndexFault::EmptySource).at(&self.sync.tree.root));
        }
        Ok(())
    }
}
