//! Compares an encrypted tree with its index: before the run, what is missing and what is extra; in the run, which stream each file
//! is; after it, where else the index lists a stream that was found in the wrong place.

use super::identity::identity;
use super::items::{Item, Items, Place};
use super::read_link;
use crate::Error;
use crate::error::IndexFault;
use crate::files::open_file_below;
use crate::index::{Anchor, Entries, FOLDER, Index, IndexEntry, IndexKind, StreamIdentity, path_of, split};
use crate::pipeline::job::{IndexMode, IndexUse, Job, Work};
use crate::pipeline::tally::Tally;
use crate::report::IndexReport;
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// An index that a tree is compared with.
pub(super) struct Checking {
    index: Index,
    /// By entry of the tree.
    expected: Vec<Expected>,
    report: IndexReport,
    /// What is to remember this generation.
    anchor: Option<Anchor>,
}

/// What the index lists at an entry's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Nothing,
    /// A file of another length, or something else.
    Other,
    File(StreamIdentity),
}

impl Checking {
    /// Opens the tree's index and reports what is missing. `None` if there is nothing to compare with: no index, or one that
    /// cannot be used, which is reported.
    pub(super) fn begin(tree: &Tree, job: &Job, tally: &Tally<'_, u32>) -> Result<Option<Checking>, Error> {
        let (Some(format), Some(index_use)) = (job.work.opening(), &job.index) else {
            return Err(IndexFault::Unsupported("a job that verifies or decrypts").into());
        };
        let is_decrypted = matches!(job.work, Work::Decrypt(_));
        // Without the index there is nothing else that such a job could do.
        let needs_index = is_decrypted || index_use.mode == IndexMode::Check { quick: true };
        let anchor = index_use.anchor.as_deref().map(Anchor::read).transpose()?;
        let begin = || -> Result<Option<Checking>, Error> {
            let Some(index) = Index::open(&tree.root, format)? else {
                if let Some(anchor) = &anchor {
                    anchor.check(None).map_err(|error| error.at(&tree.root.join(FOLDER)))?;
                }
                return if needs_index || anchor.is_some() {
                    Err(Error::from(IndexFault::Absent).at(&tree.root))
                } else {
                    Ok(None)
                };
            };
            let checked = anchor.as_ref().map_or(Ok(()), |anchor| anchor.check(Some(&index)));
            let is_followed = match checked {
                Err(error) if is_decrypted => return Err(error.at(&tree.root.join(FOLDER))),
                Err(error) => {
                    tally.fail_other(&tree.root.join(FOLDER), None, &error);
                    false
                }
                Ok(()) => true,
            };
            let mut checking = Checking::new(index, tree, anchor.clone().filter(|_| is_followed));
            checking.compare_listings(tree, job, index_use, tally)?;
            Ok(Some(checking))
        };
        match begin() {
            // The files may be sound.
            Err(error)
                if !needs_index && matches!(error.without_path(), Error::Index(_) | Error::Io { .. }) =>
            {
                let path = error.path().map_or_else(|| tree.root.join(FOLDER), Path::to_owned);
                tally.fail_other(&path, None, error.without_path());
                Ok(None)
            }
            begun => begun,
        }
    }

    pub(super) fn new(index: Index, tree: &Tree, anchor: Option<Anchor>) -> Checking {
        let (report, expected) =
            (super::report_of(index.root()), vec![Expected::Nothing; tree.entries.len()]);
        Checking { index, expected, report, anchor }
    }

    /// All entries of the index.
    pub(super) fn entries(&self) -> Entries {
        self.index.entries()
    }

    /// The stream that the index lists at an entry's path.
    pub(super) fn listed_stream(&self, entry: u32) -> Option<StreamIdentity> {
        match self.expected[entry as usize] {
            Expected::File(identity) => Some(identity),
            Expected::Nothing | Expected::Other => None,
        }
    }

    /// Goes through both listings, which have the same order.
    pub(super) fn compare_listings(
        &mut self,
        tree: &Tree,
        job: &Job,
        index_use: &IndexUse,
        tally: &Tally<'_, u32>,
    ) -> Result<(), Error> {
        let is_decrypted = matches!(job.work, Work::Decrypt(_));
        // What is below them has been reported.
        let unlisted: HashSet<&Path> = tree.unlisted.iter().map(|unlisted| &*unlisted.path).collect();
        let mut items = Items::sorted(tree, job, Place::Source).peekable();
        for entry in self.index.entries() {
            let entry = entry?;
            while let Some((item, path)) =
                items.next_if(|(_, path)| split(path).cmp(&split(&entry.path)) == Ordering::Less)
            {
                self.report_extra(tree, item, &path, is_decrypted, tally)?;
            }
            match items.next_if(|(_, path)| *path == entry.path) {
                Some((item, _)) => self.meet(tree, job, item, &entry, tally)?,
                None if is_wanted(&entry, job, index_use)? => {
                    let path = tree.root.join(path_of(&entry.path)?);
                    if !path.ancestors().any(|folder| unlisted.contains(folder)) {
                        self.report_missing(&path, tally);
                    }
                }
                None => {}
            }
        }
        for (item, path) in items {
            self.report_extra(tree, item, &path, is_decrypted, tally)?;
        }
        Ok(())
    }

    /// Something is where the index lists an entry.
    fn meet(
        &mut self,
        tree: &Tree,
        job: &Job,
        item: Item,
        entry: &IndexEntry,
        tally: &Tally<'_, u32>,
    ) -> Result<(), Error> {
        let is_same = match (item, &entry.kind) {
            (Item::File(file), kind) => {
                let len = tree.entries[file as usize].size;
                // A run that was killed may have re-keyed it to another length.
                let is_any_len = matches!(job.work, Work::Rekey { .. });
                self.expected[file as usize] = match kind {
                    IndexKind::File(listed) if is_any_len || listed.ciphertext_len == len => {
                        Expected::File(listed.identity)
                    }
                    _ => Expected::Other,
                };
                // The run comes to it.
                return Ok(());
            }
            (Item::Folder(_), IndexKind::Folder { .. }) => true,
            (Item::Link(link), IndexKind::Link { target }) => read_link(&tree.root, tree, link)
                .is_ok_and(|found| found.as_os_str().as_encoded_bytes() == &**target),
            _ => false,
        };
        if !is_same {
            let fault = IndexFault::Replaced { by: None }.into();
            tally.fail_other(&tree.root.join(path_of(&entry.path)?), None, &fault);
        }
        Ok(())
    }

    fn report_missing(&mut self, path: &Path, tally: &Tally<'_, u32>) {
        let fault = match fs::symlink_metadata(path) {
            Ok(_) => IndexFault::Replaced { by: None },
            Err(_) => {
                self.report.missing += 1;
                IndexFault::Missing
            }
        };
        tally.fail_other(path, None, &fault.into());
    }

    /// Files are reported when they were read; then it is known what they are.
    fn report_extra(
        &mut self,
        tree: &Tree,
        item: Item,
        path: &[u8],
        is_decrypted: bool,
        tally: &Tally<'_, u32>,
    ) -> Result<(), Error> {
        if !matches!(item, Item::File(_)) && !is_decrypted {
            self.report.extra += 1;
            let fault = IndexFault::Extra { of: None }.into();
            tally.fail_other(&tree.root.join(path_of(path)?), None, &fault);
        }
        Ok(())
    }

    /// Fails with [`Error::Index`] if this entry is another stream than the index lists.
    pub(super) fn compare(&self, entry: u32, file: &File, len: u64) -> Result<(), Error> {
        let Some(expected) = self.listed_stream(entry) else {
            return Err(IndexFault::Replaced { by: None }.into());
        };
        match identity(file, len) {
            Ok(found) if found == expected => Ok(()),
            Ok(_) | Err(Error::NotThisFormat { .. } | Error::SourceShrank) => {
                Err(IndexFault::Replaced { by: None }.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Reports the entries that were kept back, with the paths at which the index lists their streams.
    pub(super) fn finish(mut self, tree: &Tree, held: Vec<u32>, tally: &Tally<'_, u32>) -> IndexReport {
        let origins = self.find_origins(tree, &held);
        for entry in held {
            let origin = origins.get(&entry).cloned();
            let fault = match self.expected[entry as usize] {
                Expected::Nothing => {
                    self.report.extra += u64::from(origin.is_none());
                    IndexFault::Extra { of: origin }
                }
                Expected::Other | Expected::File(_) => IndexFault::Replaced { by: origin },
            };
            tally.end_entry(entry, Err(fault.into()));
        }
        if let Some(anchor) = &self.anchor
            && let Err(error) = anchor.write(self.index.root(), self.index.digest())
        {
            let path = error.path().map_or_else(PathBuf::new, Path::to_owned);
            tally.fail_other(&path, None, error.without_path());
        }
        self.report
    }

    fn find_origins(&self, tree: &Tree, held: &[u32]) -> HashMap<u32, PathBuf> {
        let mut streams: HashMap<StreamIdentity, Vec<u32>> = HashMap::new();
        for &entry in held {
            let listed = &tree.entries[entry as usize];
            let stream = open_file_below(&tree.root, &tree.relative_path(listed))
                .and_then(|file| identity(&file, listed.size));
            if let Ok(stream) = stream {
                streams.entry(stream).or_default().push(entry);
            }
        }
        let mut origins = HashMap::new();
        if streams.is_empty() {
            return origins;
        }
        for entry in self.index.entries().flatten() {
            let IndexKind::File(file) = &entry.kind else { continue };
            let (Some(found), Ok(path)) = (streams.get(&file.identity), path_of(&entry.path)) else {
                continue;
            };
            for &held in found {
                if tree.relative_path(&tree.entries[held as usize]) != path {
                    origins.insert(held, path.clone());
                }
            }
        }
        origins
    }
}

/// Whether the listing was to find this entry.
fn is_wanted(entry: &IndexEntry, job: &Job, index_use: &IndexUse) -> Result<bool, Error> {
    let selection = &index_use.selection;
    if matches!(job.work, Work::Decrypt(_)) {
        let plaintext = entry.plaintext_path();
        let has_suffix = entry.path.strip_prefix(plaintext) == Some(job.suffix.as_encoded_bytes());
        let is_file = matches!(entry.kind, IndexKind::File(_));
        return Ok(is_file && has_suffix && selection.takes(&path_of(plaintext)?));
    }
    let path = path_of(&entry.path)?;
    Ok(match entry.kind {
        IndexKind::Folder { .. } => !path.ancestors().any(|folder| selection.leaves_out(folder)),
        IndexKind::File(_) | IndexKind::Link { .. } => selection.takes(&path),
    })
}
