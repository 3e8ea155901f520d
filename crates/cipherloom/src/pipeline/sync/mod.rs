//! Brings an encrypted tree and its index up to date with its source.
//!
//! ```text
//! source ┐                 ┌─> obstacles removed
//! index  ┼─> comparison ───┼─> rounds: folders, renames, encryption, [last: links, removal] ─> generation of the index
//! outputs┘                 └─> nothing to do: nothing is written
//! ```
//!
//! A round encrypts a bounded number of files and bytes, and ends with a generation of the index, so that a run that is killed
//! repeats at most one round. What is removed or renamed is so before the generation that says it: after a crash, the index lists
//! something that is missing, or that is found under its new name, and never leaves out something that is there.

mod comparison;
mod content;
mod outputs;
mod removal;
mod rounds;
mod settled;
mod store;
mod subset;
#[cfg(test)]
mod tests;
mod twins;

pub use store::{ListedStream, StoredItem, SyncStore, state_mark};

use super::destination;
use super::indexing::{StreamEnds, bytes_of, folders_with_files, refuse_other_names, report_of};
use super::job::{IndexUse, Job, Links, SyncOptions};
use super::tally::Tally;
use super::worker::TreeEntries;
use crate::Error;
use crate::error::IndexFault;
use crate::files::{IfExists, open_file_below};
use crate::format::Format;
use crate::index::{Anchor, Index, IndexFile, IndexKind, IndexPlace, has_name_lists, path_of};
use crate::machine::Machine;
use crate::report::{Action, Event, Observer, Outcome, Report, SyncReport};
use crate::tree::Tree;
use comparison::{Comparison, Kept};
use rounds::Rounds;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// A run's subject.
struct Sync<'s> {
    tree: &'s Tree,
    job: &'s Job,
    options: SyncOptions,
    /// The encrypted tree, as a path or address.
    root: &'s Path,
    destination: Destination<'s>,
    format: &'s Format,
    anchor: Option<&'s Path>,
    /// By folder of the source, whether the index lists it; `None`: all are listed.
    lists_folder: Option<Vec<bool>>,
    threads: Option<NonZeroUsize>,
    observer: &'s dyn Observer,
    /// For what is no entry of a round.
    tally: &'s Tally<'s, u32>,
    counts: Mutex<SyncReport>,
}

/// Where the encrypted tree is.
#[derive(Clone, Copy)]
enum Destination<'s> {
    /// In a folder. Rounds are planned for this machine.
    Folder(&'s Machine),
    Store(&'s dyn SyncStore),
}

/// Carries out a job of [`IndexMode::Sync`](super::IndexMode::Sync) for `tree`. Each round is planned for `machine`. A run that is
/// stopped writes the index for what is complete.
///
/// # Errors
/// As [`super::run`]; [`Error::Index`] if the index cannot be used, or everything would be removed.
pub fn sync(
    tree: &Tree,
    job: &Job,
    machine: &Machine,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    synchronize(tree, job, Destination::Folder(machine), threads, observer)
}

/// The same for an encrypted tree in an object store, which also has the job's index. Permissions and links mean nothing there.
///
/// # Errors
/// As [`sync`]; [`Error::Store`].
pub fn sync_to_store(
    tree: &Tree,
    job: &Job,
    store: &dyn SyncStore,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let job = Job { links: Links::Skip, preserve_modes: false, ..job.clone() };
    synchronize(tree, &job, Destination::Store(store), threads, observer)
}

fn synchronize(
    tree: &Tree,
    job: &Job,
    destination: Destination<'_>,
    threads: Option<NonZeroUsize>,
    observer: &dyn Observer,
) -> Result<Report, Error> {
    let start = Instant::now();
    let unsupported = |needed| Error::from(IndexFault::Unsupported(needed));
    let job = &Job { if_exists: IfExists::Overwrite, ..job.clone() };
    let (Some(options), Some(root), Some(format)) =
        (job.sync_options(), job.destination.as_deref(), job.work.sealing())
    else {
        return Err(unsupported("a job that encrypts"));
    };
    if format.key_id().is_none() {
        return Err(unsupported("a keyset"));
    }
    if tree.is_single_file || tree.is_several {
        return Err(unsupported("one folder as source"));
    }
    destination::refuse_contradictions(tree, job)?;
    refuse_other_names(job)?;
    if options.delete && tree.entries.is_empty() && tree.links.is_empty() && tree.directories.len() == 1 {
        return Err(Error::from(IndexFault::EmptySource).at(&tree.root));
    }
    let entries = TreeEntries { tree, job };
    let tally = Tally::new(&entries, observer);
    for unlisted in &tree.unlisted {
        tally.fail_other(&unlisted.path, None, &unlisted.error);
    }
    let anchor = job.index.as_ref().and_then(|IndexUse { anchor, .. }| anchor.as_deref());
    let lists_folder = matches!(destination, Destination::Store(_)).then(|| {
        let needed = folders_with_files(tree);
        tree.directories.iter().map(|folder| needed.contains(&*folder.path)).collect()
    });
    let run = Sync {
        tree,
        job,
        options,
        root,
        destination,
        format,
        anchor,
        lists_folder,
        threads,
        observer,
        tally: &tally,
        counts: Mutex::default(),
    };
    let mut report = if options.dry_run { run.foresee()? } else { Rounds::carry_out(&run)? };
    report.add(&tally.report(0));
    let counts = run.counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Report { sync: Some(counts), seconds: start.elapsed().as_secs_f64(), ..report })
}

impl Sync<'_> {
    /// Reports what would be done.
    fn foresee(&self) -> Result<Report, Error> {
        let is_there = self.store().is_some() || self.root.is_dir();
        let index = if is_there { Index::open_to_replace(self.index_place(), self.format)? } else { None };
        if let Some(anchor) = self.anchor {
            Anchor::read(anchor)?.check(index.as_ref())?;
        }
        if is_there && index.is_none() && self.job.hides_names() && has_name_lists(self.root, self.format) {
            return Err(Error::from(IndexFault::NamesLost).at(self.root));
        }
        let comparison = Comparison::of(self, index.as_ref())?;
        self.begin_counts(&comparison);
        let deletes = self.deletes() && self.tally.report(0).failed == 0;
        let foresee = |action: Action, entry: Option<u32>, path: &[u8]| match !deletes
            && comparison.obstacles.prevent(path)
        {
            true => self.fail(path, &IndexFault::InTheWay.into()),
            false => self.done(action, entry, path),
        };
        for due in &comparison.due {
            foresee(due.action, Some(due.entry), &output_path(self.tree, self.job, due.entry));
        }
        for folder in comparison.folders.iter().filter(|_| self.store().is_none() && !deletes) {
            let path = bytes_of(&self.tree.directories[*folder as usize].path);
            if comparison.obstacles.prevent(&path) {
                self.fail(&path, &IndexFault::InTheWay.into());
            }
        }
        for kept in &comparison.renames {
            self.done(Action::Renamed, Some(kept.entry), &output_path(self.tree, self.job, kept.entry));
        }
        for kept in &comparison.modes {
            self.done(Action::Mode, Some(kept.entry), &kept.path);
        }
        for (link, action) in &comparison.links {
            foresee(*action, None, &self.link_path(*link));
        }
        for gone in comparison.gone.iter().filter(|_| self.deletes()) {
            let is_folder = matches!(gone.kind, IndexKind::Folder { .. });
            if deletes && !(is_folder && comparison.holds_excluded.contains(&gone.path)) {
                self.done(Action::Removed, None, &gone.path);
            } else {
                crate::engine::lock(&self.counts).gone += 1;
            }
        }
        let index = index.map(|index| report_of(index.root()));
        Ok(Report { index, ..Report::default() })
    }

    fn link_path(&self, link: u32) -> Vec<u8> {
        path_of_link(self.tree, link)
    }

    /// The object store that has the encrypted tree, if one does.
    fn store(&self) -> Option<&dyn SyncStore> {
        match self.destination {
            Destination::Folder(_) => None,
            Destination::Store(store) => Some(store),
        }
    }

    fn index_place(&self) -> IndexPlace<'_> {
        self.job.index.as_ref().map_or(self.root.into(), |index| index.place(self.root))
    }

    /// Whether the index lists a folder of the source: that of a store has none without files.
    fn lists_folder(&self, folder: u32) -> bool {
        self.lists_folder.as_ref().is_none_or(|lists| lists[folder as usize])
    }

    /// Whether what is gone is removed: what could not be listed may be there.
    fn deletes(&self) -> bool {
        self.options.delete && self.tree.unlisted.is_empty()
    }

    /// Counts what is left as it is.
    fn begin_counts(&self, comparison: &Comparison) {
        let mut counts = crate::engine::lock(&self.counts);
        counts.unchanged = comparison.unchanged;
        if !self.deletes() {
            counts.gone = comparison.gone.len() as u64;
        }
    }

    fn count(&self, action: Action) {
        crate::engine::lock(&self.counts).count(action);
    }

    /// Counts and reports what is no entry of a round. `path`: the output's.
    fn done(&self, action: Action, entry: Option<u32>, path: &[u8]) {
        self.count(action);
        if !self.observer.wants_every_event() {
            return;
        }
        let (source, output) = self.paths(path);
        let bytes = entry.map_or(0, |entry| self.tree.entries.get(entry).size());
        let outcome = Outcome::Done { output_bytes: 0 };
        self.observer.ended(&Event {
            source: &source,
            output: Some(&output),
            bytes,
            outcome,
            action: Some(action),
        });
    }

    /// Counts and reports what failed outside of a round. `path`: the output's.
    fn fail(&self, path: &[u8], error: &Error) {
        let (source, output) = self.paths(path);
        match error {
            Error::Index(_) | Error::Store { .. } => self.tally.fail_other(&output, None, error),
            _ => self.tally.fail_other(&source, Some(&output), error),
        }
    }

    fn paths(&self, path: &[u8]) -> (PathBuf, PathBuf) {
        let of = |path: &[u8]| path_of(path).unwrap_or_default();
        (self.tree.root.join(of(self.job.plaintext_path(path))), self.root.join(of(path)))
    }

    /// Whether the file at `path` in the encrypted tree is the stream that the index lists.
    fn is_listed_stream(&self, path: &[u8], listed: &IndexFile) -> bool {
        let check = || -> Result<bool, Error> {
            let path = listed.name.map_or_else(|| path_of(path), |name| Ok(name.path()))?;
            let file = open_file_below(self.root, &path)?;
            let found = file.metadata().map_err(|error| Error::io("read the attributes", error))?;
            Ok(found.is_file()
                && found.len() == listed.ciphertext_len
                && StreamEnds::read(&file, found.len())?.identity()? == listed.identity)
        };
        check().unwrap_or(false)
    }

    /// The same of several files.
    fn are_listed_streams(&self, files: &[Kept]) -> Result<Vec<bool>, Error> {
        let Some(store) = self.store() else {
            let check =
                |kept: &Kept| self.check_stopped().map(|()| self.is_listed_stream(&kept.path, &kept.listed));
            return files.iter().map(check).collect();
        };
        let streams: Vec<_> = files.iter().map(|kept| listed_stream(&kept.path, &kept.listed)).collect();
        store.check(&streams, self.observer)
    }

    /// Whether a key opens the file at `path` below `root` as a stream that binds no path.
    fn opens_without_path(&self, root: &Path, path: &[u8]) -> bool {
        let opened = path_of(path)
            .and_then(|path| open_file_below(root, &path))
            .and_then(|file| super::indexing::stream_key(self.format, &file, b""));
        matches!(opened, Ok(Some(_)))
    }

    fn thread_count(&self) -> usize {
        self.threads.map_or_else(
            || std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            NonZeroUsize::get,
        )
    }

    fn check_stopped(&self) -> Result<(), Error> {
        if self.observer.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }
}

fn listed_stream<'p>(path: &'p [u8], listed: &IndexFile) -> ListedStream<'p> {
    ListedStream { path, len: listed.ciphertext_len, identity: listed.identity }
}

/// Where a link of a tree is, with `/` between names.
fn path_of_link(tree: &Tree, link: u32) -> Vec<u8> {
    let link = &tree.links[link as usize];
    bytes_of(&tree.directories[link.directory as usize].path.join(&link.name))
}

/// Where an entry's output is, with `/` between names.
fn output_path(tree: &Tree, job: &Job, entry: u32) -> Vec<u8> {
    let mut path = bytes_of(&tree.relative_path(tree.entries.get(entry)));
    path.extend_from_slice(job.suffix.as_encoded_bytes());
    path
}
