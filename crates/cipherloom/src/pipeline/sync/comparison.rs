//! Compares a source with the index of its encrypted tree, and the index with the outputs, without changing anything.
//!
//! A file is unchanged if its size and time are those of the index, and its output has the length and time that the index says.
//! An output with another time is looked into. Where in doubt, a file is encrypted again.

use super::content::digest_of;
use super::outputs::Outputs;
use super::twins::twins;
use super::{Sync, output_path};
use crate::Error;
use crate::engine::Workers;
use crate::index::{ContentDigest, Index, IndexEntry, IndexFile, IndexKind, path_of, split};
use crate::pipeline::indexing::{Item, Items, Place, read_link};
use crate::pipeline::job::Links;
use crate::report::{Action, Observer};
use crate::tree::{Inode, Moment};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::OnceLock;

/// What is to be done so that the encrypted tree is as its source.
#[derive(Default)]
pub(super) struct Comparison {
    /// Files to encrypt, in the index's order.
    pub(super) due: Vec<Due>,
    /// Folders that are new or have other attributes than the index lists.
    pub(super) folders: Vec<u32>,
    /// Links to make or replace.
    pub(super) links: Vec<(u32, Action)>,
    pub(super) renames: Vec<Kept>,
    /// Files of which the permissions alone have changed.
    pub(super) modes: Vec<Kept>,
    pub(super) gone: Vec<Gone>,
    pub(super) obstacles: Obstacles,
    /// Folders that hold entries which the source's listing was not to find.
    pub(super) holds_excluded: HashSet<Vec<u8>>,
    pub(super) unchanged: u64,
}

/// A file to encrypt.
pub(super) struct Due {
    pub(super) entry: u32,
    pub(super) action: Action,
    /// The digest of its content, if that is compared.
    pub(super) digest: Option<ContentDigest>,
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

/// Paths at which the index lists something else than the source has: a file in a folder's place, or the other way round.
#[derive(Default)]
pub(super) struct Obstacles(HashSet<Vec<u8>>);

impl Obstacles {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one is at this path, or above.
    pub(super) fn block(&self, path: &[u8]) -> bool {
        !self.is_empty() && (self.0.contains(path) || ancestors(path).any(|folder| self.0.contains(folder)))
    }
}

/// A state of a file that outlasts a new name.
type State = (Inode, u64, Option<Moment>);

impl Comparison {
    /// Compares. `index`: the newest generation, if there is one.
    ///
    /// # Errors
    /// If the index cannot be read; [`Error::Stopped`].
    pub(super) fn of(sync: &Sync<'_>, index: Option<&Index>) -> Result<Comparison, Error> {
        let mut comparing = Comparing {
            sync,
            outputs: Outputs::of(sync.root),
            result: Comparison::default(),
            doubtful: Vec::new(),
            twins: twins(sync),
        };
        comparing.compare_listings(index)?;
        comparing.decide_doubtful(index)?;
        comparing.find_renames()?;
        if sync.options.checksum && !sync.options.dry_run {
            comparing.digest_due()?;
        }
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
    outputs: Outputs,
    result: Comparison,
    /// Files whose size and time have not changed, and of which more is to be known.
    doubtful: Vec<Kept>,
    /// Entries whose outputs the destination cannot tell apart, each with another one of these.
    twins: HashMap<u32, u32>,
}

impl Comparing<'_> {
    /// Goes through both listings, which have the same order.
    fn compare_listings(&mut self, index: Option<&Index>) -> Result<(), Error> {
        let Sync { tree, job, .. } = *self.sync;
        let mut items = Items::sorted(tree, job, Place::Output).peekable();
        for listed in index.map(Index::entries).into_iter().flatten() {
            self.sync.check_stopped()?;
            let listed = listed?;
            let is_before =
                |(_, path): &(Item, Vec<u8>)| split(path).cmp(&split(&listed.path)) == Ordering::Less;
            while let Some((item, _)) = items.next_if(is_before) {
                self.add_new(item);
            }
            match items.next_if(|(_, path)| *path == listed.path) {
                Some((item, _)) => self.meet(item, listed),
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
            Item::File(entry) => self.add_due(entry, Action::New),
            Item::Folder(folder) => self.result.folders.push(folder),
            Item::Link(_) if self.sync.job.links == Links::Skip => {}
            Item::Link(link) => self.result.links.push((link, Action::New)),
        }
    }

    fn add_due(&mut self, entry: u32, action: Action) {
        match self.twins.get(&entry) {
            Some(twin) => {
                let name = &self.sync.tree.entries[*twin as usize].name;
                let collision = Error::NameCollision { other: name.to_string_lossy().into_owned() };
                self.sync.fail(&output_path(self.sync.tree, self.sync.job, entry), &collision);
            }
            None => self.result.due.push(Due { entry, action, digest: None }),
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
                if !(is_same && self.outputs.look(&path).is_some_and(|found| found.is_folder)) {
                    self.result.folders.push(folder);
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
            (item, kind) => {
                let is_in_the_way = !matches!(item, Item::Link(_)) || job.links != Links::Skip;
                if is_in_the_way {
                    self.result.obstacles.0.insert(path.clone());
                }
                // A run that was killed may have put the one in the place of the other.
                let is_replaced = self.outputs.look(&path).is_some_and(|output| match item {
                    Item::File(_) => output.is_file,
                    Item::Folder(_) => output.is_folder,
                    Item::Link(_) => !output.is_file && !output.is_folder,
                });
                if !is_replaced {
                    self.result.gone.push(Gone { path, kind, is_in_the_way });
                }
                self.add_new(item);
            }
        }
    }

    fn meet_file(&mut self, entry: u32, path: Vec<u8>, listed: IndexFile) {
        let found = &self.sync.tree.entries[entry as usize];
        let modified = found.attributes.moment();
        if found.size != listed.size || modified.is_none() || modified != listed.modified {
            return self.add_due(entry, Action::Changed);
        }
        let looks_listed = self.outputs.look(&path).is_some_and(|output| {
            output.is_file && output.len == listed.ciphertext_len && output.modified == listed.modified
        });
        if !(looks_listed || self.sync.is_listed_stream(&path, &listed)) {
            return self.add_due(entry, Action::Restored);
        }
        let checksum = self.sync.options.checksum;
        if checksum && listed.digest.is_none() {
            return self.add_due(entry, Action::Changed);
        }
        let has_other_inode = listed.inode.is_some() && found.attributes.inode != listed.inode;
        let kept = Kept { entry, path, listed };
        if checksum || has_other_inode {
            self.doubtful.push(kept);
        } else {
            self.settle(kept);
        }
    }

    /// A file that is the one that the index lists.
    fn settle(&mut self, kept: Kept) {
        let found = self.sync.tree.entries[kept.entry as usize].attributes.mode();
        if found == kept.listed.mode {
            self.result.unchanged += 1;
        } else if self.sync.is_listed_stream(&kept.path, &kept.listed) {
            self.result.modes.push(kept);
        } else {
            // It cannot be opened to be given others.
            self.add_due(kept.entry, Action::Changed);
        }
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
        let is_in_the_way = self.result.obstacles.block(&listed.path);
        self.result.gone.push(Gone { path: listed.path, kind: listed.kind, is_in_the_way });
        Ok(())
    }

    /// Decides about files with another inode than the index lists: two may have swapped their names. And about those whose
    /// content is compared.
    fn decide_doubtful(&mut self, index: Option<&Index>) -> Result<(), Error> {
        let doubtful = std::mem::take(&mut self.doubtful);
        if doubtful.is_empty() {
            return Ok(());
        }
        let entries = &self.sync.tree.entries;
        let is_moved = |kept: &Kept| {
            let found = entries[kept.entry as usize].attributes.inode;
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
        self.each(doubtful.len(), |number| {
            let kept = &doubtful[number];
            let is_same = !is_swapped(kept)
                && (!self.sync.options.checksum
                    || digest_of(self.sync, kept.entry, kept.listed.key_id).ok() == kept.listed.digest);
            let _ = verdicts[number].set(is_same);
        })?;
        for (kept, verdict) in doubtful.into_iter().zip(verdicts) {
            match verdict.into_inner() {
                Some(true) => self.settle(kept),
                Some(false) => self.add_due(kept.entry, Action::Changed),
                None => return Err(Error::Stopped),
            }
        }
        Ok(())
    }

    /// Finds new files that were files of other names before, and whose outputs can be renamed: paths are not bound, and the
    /// output is the listed one and opens without its path.
    fn find_renames(&mut self) -> Result<(), Error> {
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
        if known.is_empty() || job.bind_path {
            return Ok(());
        }
        let mut taken = HashSet::new();
        let mut due = std::mem::take(&mut self.result.due);
        due.retain(|due| {
            let entry = &tree.entries[due.entry as usize];
            let inode = entry.attributes.inode.filter(|_| !entry.attributes.has_other_names);
            let state = inode.map(|inode| (inode, entry.size, entry.attributes.moment()));
            let Some(at) =
                state.filter(|_| due.action == Action::New).and_then(|state| known.remove(&state)?)
            else {
                return true;
            };
            let (gone, new_path) = (&self.result.gone[at], output_path(tree, job, due.entry));
            let IndexKind::File(listed) = &gone.kind else { return true };
            // One without a digest counts as changed, as everywhere.
            let has_content = !self.sync.options.checksum
                || (listed.digest.is_some()
                    && digest_of(self.sync, due.entry, listed.key_id).ok() == listed.digest);
            let has_new_name = self.sync.is_listed_stream(&new_path, listed);
            let is_free = has_new_name || self.outputs.look(&new_path).is_none();
            let is_there = has_new_name || self.sync.is_listed_stream(&gone.path, listed);
            let from = if has_new_name { &new_path } else { &gone.path };
            if self.result.obstacles.block(&new_path)
                || !(has_content && is_free && is_there && self.sync.opens_without_path(root, from))
            {
                return true;
            }
            let kept = Kept { entry: due.entry, path: gone.path.clone(), listed: listed.clone() };
            taken.insert(at);
            self.result.renames.push(kept);
            false
        });
        self.result.due = due;
        let mut at = 0..;
        self.result.gone.retain(|_| !taken.contains(&at.next().expect("endless")));
        Ok(())
    }

    /// Computes the digests of the files to encrypt. A file that changes between this and its encryption fails there.
    fn digest_due(&mut self) -> Result<(), Error> {
        let key_id = self.sync.format.key_id().ok_or(Error::NoKey)?;
        let digests: Vec<OnceLock<ContentDigest>> = self.result.due.iter().map(|_| OnceLock::new()).collect();
        self.each(digests.len(), |number| {
            // One that cannot be read fails when it is encrypted.
            if let Ok(digest) = digest_of(self.sync, self.result.due[number].entry, key_id) {
                let _ = digests[number].set(digest);
            }
        })?;
        for (due, digest) in self.result.due.iter_mut().zip(digests) {
            due.digest = digest.into_inner();
        }
        self.sync.check_stopped()
    }

    fn each(&self, count: usize, work: impl Fn(usize) + std::marker::Sync) -> Result<(), Error> {
        let threads = self.sync.thread_count().min(count.max(1));
        let workers = Workers::new(threads, self.sync.observer);
        workers.run_each(count, || (), |number, ()| work(number))?;
        if workers.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// The folders above a path, from the inmost one on, without the root.
pub(super) fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(split(path).0), |folder| Some(split(folder).0))
        .take_while(|folder| !folder.is_empty())
}
