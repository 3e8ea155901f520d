//! How a run ends for the index: a new generation is written, or the differences are reported.

use super::checking::{Checking, count_extra};
use super::hidden::place_of;
use super::items::{Items, Place};
use super::rekeying::Rekeying;
use super::streams::StreamEnds;
use super::writing::{Written, entries_of, rekeyed_entries, write, write_journal};
use super::{Indexing, Purpose, report_of};
use crate::Error;
use crate::error::IndexFault;
use crate::files::open_file_below;
use crate::index::{FOLDER, StreamIdentity};
use crate::pipeline::destination::OutputTree;
use crate::pipeline::job::IndexMode;
use crate::pipeline::tally::Tally;
use crate::report::{IndexReport, Observer};
use std::path::Path;

impl Indexing<'_> {
    /// Writes the index, or reports what was kept back; `None` if that failed, which is reported, or if a run that re-keys into
    /// another folder has made nothing and something failed. In place, the index in force is reported then.
    pub(in crate::pipeline) fn finish(
        self,
        outputs: Option<&OutputTree>,
        tally: &Tally<'_, u32>,
    ) -> Option<IndexReport> {
        let (tree, names) = (self.tree, self.names.clone());
        let identity_of = |entry: u32| {
            let listed = tree.entries.get(entry);
            let file = open_file_below(&tree.root, &place_of(tree, &names, entry)).ok()?;
            StreamEnds::read(&file, listed.size()).ok()?.identity().ok()
        };
        self.finish_with(outputs, tally, &|entry| entry, &identity_of)
    }

    /// The same for a tree in an object store. `key`: an entry as the tally knows it; `identity_of`: what identifies the stream
    /// of an entry that was kept back, if that is known.
    pub fn finish_in_store<K: Send>(
        self,
        tally: &Tally<'_, K>,
        key: &dyn Fn(u32) -> K,
        identity_of: &dyn Fn(u32) -> Option<StreamIdentity>,
    ) -> Option<IndexReport> {
        self.finish_with(None, tally, key, identity_of)
    }

    fn finish_with<K: Send>(
        self,
        outputs: Option<&OutputTree>,
        tally: &Tally<'_, K>,
        key: &dyn Fn(u32) -> K,
        identity_of: &dyn Fn(u32) -> Option<StreamIdentity>,
    ) -> Option<IndexReport> {
        let Indexing { tree, job, root, purpose, seen, held, round: _, names, blocked } = self;
        let held = held.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let report = |path: &Path, error: &Error| tally.fail_other(path, None, error);
        let written = Written {
            tree,
            job,
            root,
            outputs,
            seen: &seen,
            digests: &[],
            names: &names,
            blocked,
            report: &report,
        };
        let finish = |checking: Checking| {
            let (report, held) = checking.finish(tree, held, identity_of, tally);
            for (entry, error) in held {
                tally.end_entry(key(entry), Err(error));
            }
            report
        };
        let (result, compared) = match purpose {
            Purpose::Check(checking) => return Some(finish(*checking)),
            Purpose::Journal(writer) => {
                let entries = entries_of(Items::sorted(tree, job, Place::Output), &written);
                if let Err(error) = write_journal(*writer, entries, &written) {
                    // Whoever divides the run knows by this path that there is no journal.
                    let place = root.join(FOLDER);
                    match error.path().filter(|path| path.starts_with(&place)) {
                        Some(path) => tally.fail_other(path, None, error.without_path()),
                        None => tally.fail_other(&place, None, &error),
                    }
                }
                return None;
            }
            Purpose::Carry(rekeying) => {
                let Rekeying { checking, writer, is_in_place, .. } = *rekeying;
                let source = checking.entries().into_iter().flatten();
                let compared = finish(checking);
                let nothing_failed = tally.report(0).failed == 0 && !tally.is_stopped();
                if !nothing_failed && seen.iter().all(|seen| seen.get().is_none()) {
                    return is_in_place.then_some(compared);
                }
                let items = Items::sorted(tree, job, Place::Source);
                let entries = rekeyed_entries(source, items, is_in_place, &written);
                (write(writer, entries, true, &written).map(|(root, _)| root), compared)
            }
            Purpose::Write(writer) => {
                let is_update = job.work.sealing().is_some();
                let mode = job.index.as_ref().map(|index| index.mode);
                let is_partial = matches!(mode, Some(IndexMode::Rebuild { partial: true, .. }));
                let extra = count_extra(tree);
                let result = if is_update || is_partial || tally.report(0).failed == extra {
                    let place = if is_update { Place::Output } else { Place::Source };
                    let entries = entries_of(Items::sorted(tree, job, place), &written);
                    write(*writer, entries, is_update, &written)
                } else {
                    // What failed would be missing from it, and nothing would show that.
                    Err(IndexFault::FilesFailed.into())
                };
                let missing = result.as_ref().map_or(0, |(_, missing)| *missing);
                (result.map(|(root, _)| root), IndexReport { missing, extra, ..IndexReport::default() })
            }
        };
        match result {
            Ok(root) => {
                Some(IndexReport { missing: compared.missing, extra: compared.extra, ..report_of(&root) })
            }
            Err(error) => {
                let path = error.path().map_or_else(|| root.join(FOLDER), Path::to_owned);
                tally.fail_other(&path, None, error.without_path());
                None
            }
        }
    }
}
