//! What a run writes into an index: the entries of what it has seen, between those that the index listed before.

use super::Seen;
use super::items::{Item, Items, read_link};
use super::output_names::Blocked;
use super::streams::Origin;
use crate::Error;
use crate::error::IndexFault;
use crate::files::sync_folders;
use crate::index::{
    ContentDigest, Index, IndexEntry, IndexFile, IndexKind, IndexWriter, JournalWriter, Root, folder_path,
    path_of, split,
};
use crate::pipeline::destination::OutputTree;
use crate::pipeline::hidden_names::HiddenNames;
use crate::pipeline::job::{Job, Links};
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the entries of a new generation are made of.
pub(super) struct Written<'w> {
    pub(super) tree: &'w Tree,
    pub(super) job: &'w Job,
    /// The encrypted tree.
    pub(super) root: &'w Path,
    pub(super) outputs: Option<&'w OutputTree>,
    pub(super) seen: &'w [OnceLock<Seen>],
    /// By entry, digests that a synchronization computed; empty if none were.
    pub(super) digests: &'w [Option<ContentDigest>],
    /// Where the ciphertexts are, if names are hidden.
    pub(super) names: &'w HiddenNames,
    pub(super) blocked: Blocked,
    /// Reports what is not as it should be.
    pub(super) report: &'w dyn Fn(&Path, &Error),
}

/// An entry, and whether it is a file that this run found and did not make.
type NewEntry = Result<(IndexEntry, bool), Error>;

/// Writes what the run has seen, in the index's order. `keeps`: what the index listed before stays in it, unless this run has
/// replaced it. With the root comes how many files are listed that are missing, and have been reported.
pub(super) fn write(
    mut writer: IndexWriter,
    entries: impl Iterator<Item = NewEntry>,
    keeps: bool,
    written: &Written<'_>,
) -> Result<(Root, u64), Error> {
    // Where names are hidden, nothing else knows them. So it stays in the index as far as it can be read, and also says what a file
    // does not show that is listed anew.
    let hides_names = written.job.hides_names();
    let before = writer.previous().filter(|_| keeps || hides_names).map(Index::entries);
    let before = before.into_iter().flatten().take_while(|listed| keeps || listed.is_ok());
    let (mut before, mut missing) = (before.peekable(), 0);
    let is_in_store = written.is_in_store();
    for entry in entries {
        let (entry, is_found) = entry?;
        let mut known = None;
        let is_due = |listed: &Result<IndexEntry, Error>| {
            listed.as_ref().map_or(true, |listed| listed.order(&entry) != Ordering::Greater)
        };
        while let Some(listed) = before.next_if(is_due) {
            let listed = listed?;
            if listed.path == entry.path {
                known = Some(listed);
            } else {
                missing += u64::from(!keeps && written.report_missing(&listed)?);
                writer.push(&listed)?;
            }
        }
        match known {
            // What was found does not say of which version of its source it was made; the index does.
            Some(listed) if is_found && hides_names && is_same_file(&listed, &entry) => {
                writer.push(&listed)?;
            }
            // This run found another file there than the index lists, which is for its owner to decide.
            Some(listed) if keeps && is_found && !is_same_file(&listed, &entry) => {
                let path = written.root.join(path_of(&entry.path)?);
                let fault = Error::from(IndexFault::Replaced { by: None });
                (written.report)(&path, &fault);
                writer.push(&listed)?;
            }
            // An object, whose path is that of a folder for others.
            Some(listed) if is_in_store && is_folder(&entry) && !is_folder(&listed) => {
                writer.push(&listed)?
            }
            _ => writer.push(&entry)?,
        }
    }
    for listed in before {
        let listed = listed?;
        missing += u64::from(!keeps && written.report_missing(&listed)?);
        writer.push(&listed)?;
    }
    if written.outputs.is_some() && written.job.durable {
        written.sync_names()?;
    }
    written.write_names(&writer);
    Ok((writer.finish()?, missing))
}

/// Writes what the run has seen into a journal, with the folders that it needs.
pub(super) fn write_journal(
    mut writer: JournalWriter,
    entries: impl Iterator<Item = NewEntry>,
    written: &Written<'_>,
) -> Result<(), Error> {
    if written.seen.iter().all(|seen| seen.get().is_none()) {
        return Ok(());
    }
    for entry in entries {
        writer.push(&entry?.0)?;
    }
    if written.outputs.is_some() && written.job.durable {
        written.sync_names()?;
    }
    writer.finish()
}

/// The entries of a tree's items.
pub(super) fn entries_of<'w>(
    items: Items<'w>,
    written: &'w Written<'w>,
) -> impl Iterator<Item = NewEntry> + 'w {
    items.filter_map(|(item, path)| written.entry(item, path).transpose())
}

/// The entries of what was re-keyed, as the source's index lists them but for their streams; with the folders and links that were
/// made, and in a store with the folders that the files need elsewhere. `source`: the entries of that index. `is_in_place`: only
/// files, since all else is as it was.
pub(super) fn rekeyed_entries<'w>(
    source: impl Iterator<Item = Result<IndexEntry, Error>> + 'w,
    items: Items<'w>,
    is_in_place: bool,
    written: &'w Written<'w>,
) -> impl Iterator<Item = NewEntry> + 'w {
    let mut items = items.peekable();
    let needed = (written.is_in_store() && !is_in_place).then(|| written.folders_of_made());
    source.filter_map(move |listed| {
        let listed = match listed {
            Ok(listed) => listed,
            Err(error) => return Some(Err(error)),
        };
        if let (Some(needed), true) = (&needed, is_folder(&listed)) {
            let is_needed = path_of(&listed.path).map(|path| needed.contains(&*path));
            return is_needed.map(|is_needed| is_needed.then_some((listed, false))).transpose();
        }
        while items.next_if(|(_, path)| split(path) < split(&listed.path)).is_some() {}
        let (item, path) = items.next_if(|(_, path)| *path == listed.path)?;
        match item {
            Item::File(entry) => written.rekeyed(entry, listed).map(Ok),
            Item::Folder(_) | Item::Link(_) if is_in_place => None,
            Item::Folder(_) | Item::Link(_) => written.entry(item, path).transpose(),
        }
    })
}

fn is_folder(entry: &IndexEntry) -> bool {
    matches!(entry.kind, IndexKind::Folder { .. })
}

fn is_same_file(one: &IndexEntry, other: &IndexEntry) -> bool {
    matches!((&one.kind, &other.kind), (IndexKind::File(one), IndexKind::File(other))
        if (one.identity, one.name) == (other.identity, other.name))
}

impl Written<'_> {
    fn is_in_store(&self) -> bool {
        self.job.index.as_ref().is_some_and(|index| index.store.is_some())
    }

    /// The folders that hold what the run has made or found, and those that hold them.
    fn folders_of_made(&self) -> HashSet<&Path> {
        let made = self.tree.entries.iter().zip(self.seen).filter(|(_, seen)| seen.get().is_some());
        let folders: BTreeSet<u32> = made.map(|(entry, _)| entry.directory()).collect();
        folders.iter().flat_map(|folder| self.tree.directories[*folder as usize].path.ancestors()).collect()
    }

    /// Reports a file that the index lists if it is not there, and returns whether that is so.
    fn report_missing(&self, listed: &IndexEntry) -> Result<bool, Error> {
        let IndexKind::File(IndexFile { name: Some(name), .. }) = &listed.kind else { return Ok(false) };
        let is_missing = std::fs::symlink_metadata(self.root.join(name.path())).is_err();
        if is_missing {
            (self.report)(&self.root.join(path_of(&listed.path)?), &IndexFault::Missing.into());
        }
        Ok(is_missing)
    }

    /// Writes the lists of hidden names, which come before the root.
    pub(super) fn write_names(&self, writer: &IndexWriter) {
        for error in writer.write_names() {
            (self.report)(error.path().unwrap_or(self.root), error.without_path());
        }
    }

    /// Has the names of the outputs forced to stable storage. Else the new root may be there after a power cut, and files that
    /// it lists may be the old ones, which nothing could tell from files that somebody has put back.
    fn sync_names(&self) -> Result<(), Error> {
        let made = self.tree.entries.iter().zip(self.seen).filter(|(_, seen)| seen.get().is_some());
        let folders: BTreeSet<u32> = made.map(|(entry, _)| entry.directory()).collect();
        let folders = folders.iter().map(|folder| &*self.tree.directories[*folder as usize].path);
        let hidden: BTreeSet<u8> = self.names.0.iter().flatten().map(|name| name.folder()).collect();
        let hidden: Vec<PathBuf> = hidden.into_iter().map(folder_path).collect();
        let is_hidden = !hidden.is_empty();
        let folders = folders.filter(|_| !is_hidden).chain(hidden.iter().map(|folder| &**folder));
        sync_folders(self.root, folders, self.root).map_err(|error| error.at(self.root))
    }

    /// The entry of a re-keyed file; `None` if this one was not.
    fn rekeyed(&self, entry: u32, listed: IndexEntry) -> Option<(IndexEntry, bool)> {
        let (seen, format) = (self.seen[entry as usize].get()?, self.job.work.sealing()?);
        let IndexKind::File(file) = listed.kind else { return None };
        let kind = IndexKind::File(IndexFile {
            ciphertext_len: format.layout().ciphertext_len(file.size),
            identity: seen.identity,
            key_id: seen.key_id,
            // It is of the key before.
            digest: None,
            // It was the stream before.
            version: seen.version,
            ..file
        });
        Some((IndexEntry { path: listed.path, kind }, seen.is_found()))
    }

    /// The entry of an item at `path`, and whether it is a file that this run found and did not make; `None` if there is none.
    pub(super) fn entry(&self, item: Item, path: Vec<u8>) -> Result<Option<(IndexEntry, bool)>, Error> {
        let mut is_found = false;
        let kind = match item {
            Item::Folder(folder) if self.blocked.folders.contains(&folder) => {
                (self.report)(&self.root.join(path_of(&path)?), &IndexFault::InTheWay.into());
                return Ok(None);
            }
            // Something else may have its name.
            Item::Folder(folder)
                if !self.job.hides_names()
                    && self.outputs.is_some_and(|outputs| outputs.is_refused(folder)) =>
            {
                return Ok(None);
            }
            Item::Folder(folder) => {
                let attributes = &self.tree.directories[folder as usize].attributes;
                IndexKind::Folder { mode: attributes.mode(), modified: attributes.moment() }
            }
            Item::Link(link) => match self.made_link(link) {
                Some(target) => IndexKind::Link { target: target.into_os_string().into_encoded_bytes() },
                None => return Ok(None),
            },
            Item::File(entry) => {
                let Some(seen) = self.seen[entry as usize].get() else { return Ok(None) };
                is_found = seen.is_found();
                IndexKind::File(self.file(entry, seen, &path)?)
            }
        };
        Ok(Some((IndexEntry { path, kind }, is_found)))
    }

    /// Where a link leads that is in the encrypted tree; `None` if it was passed over or is not the one of the source.
    fn made_link(&self, link: u32) -> Option<PathBuf> {
        let found = read_link(self.root, self.tree, link).ok()?;
        let is_made = || {
            self.job.links != Links::Skip
                && read_link(&self.tree.root, self.tree, link).is_ok_and(|target| target == found)
        };
        (self.job.work.sealing().is_none() || is_made()).then_some(found)
    }

    fn file(&self, entry: u32, seen: &Seen, path: &[u8]) -> Result<IndexFile, Error> {
        let Written { job, tree, .. } = self;
        let listed = tree.entries.get(entry);
        let (size, ciphertext_len, attributes) = match (&seen.origin, job.work.sealing()) {
            (Origin::Found(found), _) => (found.plaintext_len, found.len, found.attributes.clone()),
            (Origin::Listed { plaintext_len }, _) => (*plaintext_len, listed.size(), listed.attributes()),
            (Origin::Made, Some(format)) => {
                (listed.size(), format.layout().ciphertext_len(listed.size()), listed.attributes())
            }
            (Origin::Made, None) => return Err(Error::internal("a file of an index without a format")),
        };
        // What has a hidden name has neither the mode nor the time of its plaintext, and its source may have changed since.
        let is_unknown = job.hides_names() && seen.is_found();
        let mode = if is_unknown { listed.attributes().mode() } else { attributes.mode() };
        Ok(IndexFile {
            plaintext: job.plaintext_path(path).to_vec(),
            size,
            ciphertext_len,
            mode,
            modified: attributes.moment().filter(|_| !is_unknown),
            identity: seen.identity,
            key_id: seen.key_id,
            inode: attributes.inode.filter(|_| !seen.is_found()),
            digest: self.digests.get(entry as usize).copied().flatten(),
            name: self.names.of(entry),
            version: seen.version,
        })
    }
}
