//! Compares an encrypted tree with its index: before the run, what is missing and what is extra; in the run, which stream each file
//! is; after it, where else the index lists a stream that was found in the wrong place.

use super::items::{Item, Items, Place, read_link};
use super::listing::place_of_listed;
use super::streams::StreamEnds;
use crate::Error;
use crate::error::IndexFault;
use crate::index::{
    Anchor, Entries, FOLDER, Index, IndexEntry, IndexKind, StreamIdentity, is_hidden_folder, path_of, split,
};
use crate::pipeline::job::{IndexMode, IndexUse, Job, Work};
use crate::pipeline::tally::Tally;
use crate::report::IndexReport;
use crate::tree::Tree;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An index that a tree is compared with.
pub(super) struct Checking {
    /// `None` if somebody else has read it, who reports what is missing.
    index: Option<Index>,
    pub(super) expected: Expectations,
    report: IndexReport,
    /// What is to remember this generation.
    anchor: Option<Anchor>,
}

/// By entry of a tree, what its index lists at the entry's path.
#[derive(Debug, Clone)]
pub struct Expectations(Arc<Vec<Expected>>);

impl Expectations {
    /// Fails with [`IndexFault::Replaced`] if an entry is another stream than the index lists, or is not listed.
    ///
    /// # Errors
    /// That; those of `identity`.
    pub fn compare(
        &self,
        entry: u32,
        identity: impl FnOnce() -> Result<StreamIdentity, Error>,
    ) -> Result<(), Error> {
        let replaced = || Err(IndexFault::Replaced { by: None }.into());
        let Some(expected) = self.listed_stream(entry) else { return replaced() };
        match identity() {
            Ok(found) if found == expected => Ok(()),
            Ok(_) | Err(Error::NotThisFormat { .. } | Error::SourceShrank) => replaced(),
            Err(error) => Err(error),
        }
    }

    /// The stream that the index lists at an entry's path.
    pub(super) fn listed_stream(&self, entry: u32) -> Option<StreamIdentity> {
        match self.0[entry as usize] {
            Expected::File(identity) => Some(identity),
            Expected::Nothing | Expected::Other => None,
        }
    }
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
    pub(super) fn begin<K>(tree: &Tree, job: &Job, tally: &Tally<'_, K>) -> Result<Option<Checking>, Error> {
        let (Some(format), Some(index_use)) = (job.work.opening(), &job.index) else {
            return Err(IndexFault::Unsupported("a job that verifies or decrypts").into());
        };
        if let Some(listed) = &index_use.expected {
            let expected = tree.entries.iter().map(|entry| match listed.get(&tree.relative_path(entry)) {
                Some(identity) => Expected::File(*identity),
                None => Expected::Nothing,
            });
            let (expected, report) = (Expectations(Arc::new(expected.collect())), IndexReport::default());
            return Ok(Some(Checking { index: None, expected, report, anchor: None }));
        }
        let is_decrypted = matches!(job.work, Work::Decrypt(_));
        // Without the index there is nothing else that such a job could do.
        let needs_index = is_decrypted || index_use.mode == IndexMode::Check { quick: true };
        let anchor = index_use.anchor.as_deref().map(Anchor::read).transpose()?;
        let begin = || -> Result<Option<Checking>, Error> {
            let Some(index) = Index::open(index_use.place(&tree.root), format)? else {
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
            let anchor = anchor.clone().filter(|_| is_followed);
            Checking::compared(index, tree, job, index_use, anchor, tally).map(Some)
        };
        match begin() {
            // The files may be sound.
            Err(error)
                if !needs_index
                    && matches!(
                        error.without_path(),
                        Error::Index(_) | Error::Io { .. } | Error::Store { .. }
                    ) =>
            {
                let path = error.path().map_or_else(|| tree.root.join(FOLDER), Path::to_owned);
                tally.fail_other(&path, None, error.without_path());
                Ok(None)
            }
            begun => begun,
        }
    }

    /// Compares the tree's listing with its index, and reports what is missing. `anchor`: what is to remember this generation.
    pub(super) fn compared<K>(
        index: Index,
        tree: &Tree,
        job: &Job,
        index_use: &IndexUse,
        anchor: Option<Anchor>,
        tally: &Tally<'_, K>,
    ) -> Result<Checking, Error> {
        let report_fault = |path: &Path, fault| tally.fail_other(path, None, &Error::Index(fault));
        let mut comparison = Comparison {
            tree,
            job,
            is_in_store: index_use.store.is_some(),
            expected: vec![Expected::Nothing; tree.entries.len()],
            report: super::report_of(index.root()),
            report_fault: &report_fault,
        };
        comparison.run(&index, index_use)?;
        // Others need neither copy nor lists, as long as there is the index.
        if matches!(job.work, Work::Verify(_)) {
            for error in index.find_damaged_copies().iter().chain(&index.find_damaged_lists()?) {
                tally.fail_other(error.path().unwrap_or(Path::new("")), None, error.without_path());
            }
        }
        let Comparison { expected, mut report, .. } = comparison;
        report.extra += count_extra(tree);
        Ok(Checking { index: Some(index), expected: Expectations(Arc::new(expected)), report, anchor })
    }

    /// All entries of the index.
    pub(super) fn entries(&self) -> Option<Entries> {
        self.index.as_ref().map(Index::entries)
    }

    /// Fails with [`Error::Index`] if this entry is another stream than the index lists.
    pub(super) fn compare(&self, entry: u32, file: &File, len: u64) -> Result<(), Error> {
        self.expected.compare(entry, || StreamEnds::read(file, len)?.identity())
    }

    /// Says what the entries are that were kept back: also the paths at which the index lists their streams.
    pub(super) fn finish<K>(
        mut self,
        tree: &Tree,
        held: Vec<u32>,
        identity_of: &dyn Fn(u32) -> Option<StreamIdentity>,
        tally: &Tally<'_, K>,
    ) -> (IndexReport, Vec<(u32, Error)>) {
        let origins = self.find_origins(tree, &held, identity_of);
        let mut faults = Vec::with_capacity(held.len());
        for entry in held {
            let origin = origins.get(&entry).cloned();
            let fault = match self.expected.0[entry as usize] {
                Expected::Nothing => {
                    self.report.extra += u64::from(origin.is_none());
                    IndexFault::Extra { of: origin }
                }
                Expected::Other | Expected::File(_) => IndexFault::Replaced { by: origin },
            };
            faults.push((entry, fault.into()));
        }
        if let (Some(anchor), Some(index)) = (&self.anchor, &self.index)
            && let Err(error) = anchor.write(index.root(), index.digest())
        {
            let path = error.path().map_or_else(PathBuf::new, Path::to_owned);
            tally.fail_other(&path, None, error.without_path());
        }
        (self.report, faults)
    }

    fn find_origins(
        &self,
        tree: &Tree,
        held: &[u32],
        identity_of: &dyn Fn(u32) -> Option<StreamIdentity>,
    ) -> HashMap<u32, PathBuf> {
        let mut streams: HashMap<StreamIdentity, Vec<u32>> = HashMap::new();
        for &entry in held {
            if let Some(stream) = identity_of(entry) {
                streams.entry(stream).or_default().push(entry);
            }
        }
        let mut origins = HashMap::new();
        if streams.is_empty() {
            return origins;
        }
        for entry in self.entries().into_iter().flatten().flatten() {
            let IndexKind::File(file) = &entry.kind else { continue };
            let (Some(found), Ok(path)) = (streams.get(&file.identity), path_of(&entry.path)) else {
                continue;
            };
            for &held in found {
                if tree.relative_path(tree.entries.get(held)) != path {
                    origins.insert(held, path.clone());
                }
            }
        }
        origins
    }
}

/// The listing of a tree and that of its index, which have the same order.
struct Comparison<'c> {
    tree: &'c Tree,
    job: &'c Job,
    /// A store has neither folders nor links.
    is_in_store: bool,
    /// By entry of the tree.
    expected: Vec<Expected>,
    report: IndexReport,
    report_fault: &'c dyn Fn(&Path, IndexFault),
}

impl Comparison<'_> {
    /// Goes through both.
    fn run(&mut self, index: &Index, index_use: &IndexUse) -> Result<(), Error> {
        let (tree, job) = (self.tree, self.job);
        // What is below them has been reported.
        let unlisted: HashSet<&Path> = tree.unlisted.iter().map(|unlisted| &*unlisted.path).collect();
        let mut items = Items::sorted(tree, job, Place::Source).peekable();
        for entry in index.entries() {
            let entry = entry?;
            while let Some((item, path)) =
                items.next_if(|(_, path)| split(path).cmp(&split(&entry.path)) == Ordering::Less)
            {
                self.report_extra(item, &path)?;
            }
            match items.next_if(|(_, path)| *path == entry.path) {
                Some((item, _)) => self.meet(item, &entry)?,
                None if is_wanted(&entry, job, index_use)? => {
                    let place = tree.root.join(place_of_listed(&entry)?);
                    if !place.ancestors().any(|folder| unlisted.contains(folder)) {
                        self.report_missing(&tree.root.join(path_of(&entry.path)?), &place);
                    }
                }
                None => {}
            }
        }
        for (item, path) in items {
            self.report_extra(item, &path)?;
        }
        Ok(())
    }

    /// Something is where the index lists an entry.
    fn meet(&mut self, item: Item, entry: &IndexEntry) -> Result<(), Error> {
        let tree = self.tree;
        let is_same = match (item, &entry.kind) {
            (Item::File(file), kind) => {
                let len = tree.entries.get(file).size();
                // A run that was killed may have re-keyed it to another length.
                let is_any_len = matches!(self.job.work, Work::Rekey { .. });
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
            let path = tree.root.join(path_of(&entry.path)?);
            (self.report_fault)(&path, IndexFault::Replaced { by: None });
        }
        Ok(())
    }

    /// `place`: where its file is.
    fn report_missing(&mut self, path: &Path, place: &Path) {
        let fault = match self.is_in_store || fs::symlink_metadata(place).is_err() {
            true => {
                self.report.missing += 1;
                IndexFault::Missing
            }
            false => IndexFault::Replaced { by: None },
        };
        (self.report_fault)(path, fault);
    }

    /// Files are reported when they were read; then it is known what they are.
    fn report_extra(&mut self, item: Item, path: &[u8]) -> Result<(), Error> {
        // It holds files with hidden names.
        let is_own = self.job.hides_names() && is_hidden_folder(path);
        if !(matches!(item, Item::File(_)) || matches!(self.job.work, Work::Decrypt(_)) || is_own) {
            self.report.extra += 1;
            let path = self.tree.root.join(path_of(path)?);
            (self.report_fault)(&path, IndexFault::Extra { of: None });
        }
        Ok(())
    }
}

/// How many files the listing of a tree has found that are no part of it: where names are hidden, those that have none.
pub(super) fn count_extra(tree: &Tree) -> u64 {
    let is_extra = |error: &Error| matches!(error, Error::Index(IndexFault::Extra { of: None }));
    tree.unlisted.iter().filter(|unlisted| is_extra(&unlisted.error)).count() as u64
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
        // A store has neither.
        IndexKind::Folder { .. } | IndexKind::Link { .. } if index_use.store.is_some() => false,
        IndexKind::Folder { .. } => !path.ancestors().any(|folder| selection.leaves_out(folder)),
        IndexKind::File(_) | IndexKind::Link { .. } => selection.takes(&path),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::key::{Keyset, Template};
    use crate::machine::{Backend, Calibration, Machine};
    use crate::pipeline::{reveal, run};
    use crate::report::Unobserved;
    use crate::tree::{Selection, Unlisted};

    /// What it holds was reported with it, under whichever names.
    #[test]
    fn files_in_a_folder_that_cannot_be_listed_are_not_missing() {
        let folder = tempfile::tempdir().unwrap();
        let [source, sealed] = ["source", "sealed"].map(|name| folder.path().join(name));
        fs::create_dir(&source).unwrap();
        fs::write(source.join("file"), "text").unwrap();
        let key = Keyset::generate(Template::default()).unwrap();
        crate::encrypt(&source, &sealed).key(&key).index(true).hide_names(true).run().unwrap();
        let work = Work::Verify(Format::tink(&key, Backend::best()).unwrap());
        for is_unlisted in [true, false] {
            let mut index = Some(IndexUse::new(IndexMode::Check { quick: true }));
            let mut tree = reveal(&sealed, &work, &Selection::default(), &mut index).unwrap().unwrap();
            assert_eq!(tree.entries.len(), 1);
            // As if a permission was missing.
            tree.entries = Default::default();
            let Some(Ok(entry)) =
                Index::open(&sealed, work.opening().unwrap()).unwrap().unwrap().entries().next()
            else {
                panic!("the index lists a file");
            };
            let path = sealed.join(place_of_listed(&entry).unwrap().parent().unwrap());
            tree.unlisted.extend(is_unlisted.then_some(Unlisted { path, error: Error::NothingThere }));
            let job = Job { index, ..Job::new(work.clone(), None) };
            let plan = job.plan(&tree, &Machine::detect(Calibration::default()), None);
            let report = run(&tree, &plan, &job, &Unobserved).unwrap();
            assert_eq!((report.failed, report.index.unwrap().missing), (1, 0), "{is_unlisted}");
        }
    }
}
