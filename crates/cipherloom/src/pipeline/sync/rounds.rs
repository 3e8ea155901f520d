//! Carries out what a comparison found, in rounds that each end with a generation of the index.

use super::comparison::{Comparison, Due, Gone, Kept};
use super::removal::remove;
use super::subset::{Folders, Subset};
use super::{Destination, Sync, output_path, path_of_link};
use crate::Error;
use crate::engine::{Workers, lock};
use crate::error::IndexFault;
use crate::files::{Ending, Target};
use crate::index::{FOLDER, IndexEntry, IndexWriter, Replacing};
use crate::pipeline::destination::{self, MadeRoot};
use crate::pipeline::indexing::{Edits, Indexing, Round, bytes_of, output_folders, read_link, report_of};
use crate::pipeline::tally::Tally;
use crate::pipeline::{links, work_through};
use crate::report::{Observer, Report};
use crate::tree::{Directory, Tree};
use std::collections::{HashSet, VecDeque};
use std::path::Path;

/// The most files and bytes of a round. What its generation costs grows with the whole index, so small rounds would cost more.
const ROUND_FILES: usize = if cfg!(test) { 3 } else { 1 << 18 };
const ROUND_BYTES: u64 = 16 << 30;

/// Rounds over what a comparison found.
pub(super) struct Rounds<'s> {
    sync: &'s Sync<'s>,
    /// The folder of the encrypted tree; `None` for one in a store.
    made: Option<MadeRoot>,
    folders: Folders,
    report: Report,
    /// Whether every other file would fail too.
    has_given_up: bool,
}

/// What the last round does beside encryption.
struct Last {
    gone: Vec<Gone>,
    /// Folders with something in them that stays.
    holds: HashSet<Vec<u8>>,
}

impl<'s> Rounds<'s> {
    pub(super) fn carry_out(sync: &'s Sync<'s>) -> Result<Report, Error> {
        let Sync { tree, job, root, format, anchor, .. } = *sync;
        let made = if sync.store().is_some() { None } else { MadeRoot::of(tree, job)? };
        let suffix = job.suffix.as_encoded_bytes();
        let writer = IndexWriter::begin(sync.index_place(), format, suffix, Replacing::Opened, anchor)?;
        let writer = writer.with_hidden_names(job.hides_names(), false)?;
        let mut comparison = match Comparison::of(sync, writer.previous()) {
            Err(Error::Stopped) => return Ok(Report::default()),
            comparison => comparison?,
        };
        sync.begin_counts(&comparison);
        if comparison.is_empty(sync.deletes()) && writer.previous().is_some() {
            for error in writer.write_missing_names()? {
                sync.tally.fail_other(error.path().unwrap_or(root), None, error.without_path());
            }
            close_up(sync, &comparison.opened_up);
            let index = writer.keep()?.map(|root| report_of(&root));
            return Ok(Report { index, ..Report::default() });
        }
        comparison.folders.append(&mut comparison.opened_up);
        let folders = Folders::of(sync, &comparison)?;
        let mut rounds = Rounds { sync, made, folders, report: Report::default(), has_given_up: false };
        if let Err(error) = rounds.run(comparison, writer) {
            // What was done is to be reported too.
            let counts = *lock(&sync.counts);
            if rounds.report == Report::default() && counts.renamed + counts.mode + counts.removed == 0 {
                return Err(error);
            }
            let path = error.path().map_or_else(|| root.join(FOLDER), Path::to_owned);
            sync.tally.fail_other(&path, None, error.without_path());
        }
        Ok(rounds.report)
    }

    fn run(&mut self, comparison: Comparison, mut writer: IndexWriter) -> Result<(), Error> {
        let Sync { tree, job, .. } = *self.sync;
        let Comparison { due, folders, mut links, renames, modes, gone, mut obstacles, learned, .. } =
            comparison;
        let path_of_folder = |folder: u32| bytes_of(&tree.directories[folder as usize].path);
        // A store has none.
        let folders = folders.into_iter().filter(|_| self.sync.store().is_none());
        let mut blocked_folders: Vec<Vec<u8>> = folders.map(path_of_folder).collect();
        let mut holds = comparison.holds_excluded;
        let deletes = self.sync.deletes();
        let (in_the_way, gone): (Vec<Gone>, Vec<Gone>) =
            gone.into_iter().filter(|_| deletes).partition(|gone| gone.is_in_the_way);
        // They come last, so that what is in their way stays until all else is encrypted or renamed.
        let (blocked, free) = match obstacles.is_empty() {
            // Most runs have none, and need no paths for it.
            true => (Vec::new(), due),
            false => due.into_iter().partition(|due| obstacles.block(&output_path(tree, job, due.entry))),
        };
        let mut rounds: VecDeque<(&[Due], bool)> = cut(tree, &free).map(|due| (due, false)).collect();
        rounds.extend(cut(tree, &blocked).map(|due| (due, true)));
        match rounds.back() {
            Some((_, true)) => {}
            Some(_) if obstacles.is_empty() => {}
            _ => rounds.push_back((&[], !obstacles.is_empty())),
        }
        // In a store, nothing is removed before a generation of this run is in force: of two runs that began before it, the other
        // one gets none, and removes nothing.
        let waits = self.sync.store().is_some() && !(gone.is_empty() && in_the_way.is_empty());
        if waits && (!gone.is_empty() || rounds.is_empty()) {
            rounds.push_back((&[], !obstacles.is_empty()));
        }
        let is_first_blocked = matches!(rounds.front(), Some((_, true)));
        // What is renamed may be in the way.
        if (!renames.is_empty() && is_first_blocked) || (waits && (is_first_blocked || rounds.len() < 2)) {
            rounds.push_front((&[], false));
        }
        let mut first = Some((renames, modes));
        let mut in_the_way = Some(in_the_way);
        let mut last = Some(gone);
        let relist = |kept: Kept| {
            let path = kept.path.clone();
            self.sync.relist(kept, path)
        };
        let mut learned: Vec<IndexEntry> = learned.into_iter().map(relist).collect();
        while let Some((due, is_blocked)) = rounds.pop_front() {
            let is_last = rounds.is_empty();
            let mut edits = Edits { entries: std::mem::take(&mut learned), ..Edits::default() };
            // Not while the listed ones are gone.
            let digests = self.sync.digest_due(due)?;
            if let Some(in_the_way) = in_the_way.take_if(|_| is_blocked && !self.sync.observer.is_stopped()) {
                self.remove(in_the_way, &mut holds, &mut edits, 0);
                edits.dropped.iter().for_each(|path| obstacles.release(path));
            }
            let is_prevented = |path: &[u8]| is_blocked && obstacles.prevent(path);
            let (prevented, due): (Vec<_>, Vec<_>) = due
                .iter()
                .copied()
                .zip(digests)
                .partition(|(due, _)| is_blocked && is_prevented(&output_path(tree, job, due.entry)));
            let (due, digests): (Vec<Due>, Vec<_>) = due.into_iter().unzip();
            // What a stop has left there is not at fault.
            if is_blocked && !self.sync.observer.is_stopped() {
                let fail = |path: Vec<u8>| self.sync.fail(&path, &IndexFault::InTheWay.into());
                prevented.iter().for_each(|(due, _)| fail(output_path(tree, job, due.entry)));
                blocked_folders.drain(..).filter(|path| is_prevented(path)).for_each(fail);
                links
                    .extract_if(.., |(link, _)| is_prevented(&self.sync.link_path(*link)))
                    .for_each(|(link, _)| fail(self.sync.link_path(link)));
            }
            let links = if is_last { &links[..] } else { &[] };
            let mut touched = match is_blocked {
                true => self.folders.all_touched.clone(),
                false if first.is_some() || is_last => self.folders.touched.clone(),
                false => Vec::new(),
            };
            touched.retain(|folder| !is_prevented(&path_of_folder(*folder)));
            let subset = Subset::of(self.sync, &self.folders, &due, links, &touched, digests);
            let last = last.take_if(|_| is_last).map(|gone| Last { gone, holds: std::mem::take(&mut holds) });
            match self.round(&subset, writer, first.take().unwrap_or_default(), edits, last)? {
                Some(next) => writer = next,
                None => {
                    if self.has_given_up {
                        self.report.untried += rounds.iter().map(|(due, _)| due.len() as u64).sum::<u64>();
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Removes these, unless something has failed: it may have been to take their place. `failed`: how many did in this round.
    fn remove(&self, gone: Vec<Gone>, holds: &mut HashSet<Vec<u8>>, edits: &mut Edits, failed: u64) {
        if failed + self.report.failed + self.sync.tally.report(0).failed > 0 {
            lock(&self.sync.counts).gone += gone.len() as u64;
        } else {
            remove(self.sync, gone, holds, &mut edits.dropped);
        }
    }

    /// Encrypts a subset of the source, and lists it. Returns the writer of the next generation, unless this was the last one.
    fn round(
        &mut self,
        subset: &Subset,
        writer: IndexWriter,
        (renames, modes): (Vec<Kept>, Vec<Kept>),
        mut edits: Edits,
        last: Option<Last>,
    ) -> Result<Option<IndexWriter>, Error> {
        let (sync, tree) = (self.sync, &*subset.tree);
        let Sync { job, root, .. } = *sync;
        let plan = match sync.destination {
            Destination::Folder(machine) => Some(job.plan(tree, machine, sync.threads)),
            Destination::Store(_) => None,
        };
        let workers = Workers::new(plan.as_ref().map_or(1, |plan| plan.threads), sync.observer);
        let entries = subset.entries(job);
        let tally = Tally::new(&entries, &workers);
        let hidden_folders = job.hides_outputs().then(|| output_folders(tree)).transpose()?;
        let folders = hidden_folders.as_ref().unwrap_or(tree);
        let threads = workers.threads();
        let prepare = |made| destination::prepare_below(made, tree, folders, job, threads, &tally);
        let outputs = self.made.as_ref().map(prepare).transpose()?;
        let outputs = outputs.as_ref();
        sync.rename_all(renames, &mut edits);
        sync.set_modes(modes, &mut edits);
        edits.entries.sort_by(IndexEntry::order);
        let round = Round {
            is_unlisted: &subset.is_unlisted,
            has_listed_version: &subset.has_listed_version,
            digests: &subset.digests,
        };
        let indexing = Indexing::for_round(tree, job, root, writer, round).inspect_err(|_| {
            outputs.iter().for_each(|outputs| destination::close_again(folders, outputs));
        })?;
        let all_ended = match (sync.destination, &plan) {
            (Destination::Store(_), _) if tree.entries.is_empty() => Ok(()),
            (Destination::Store(store), _) => store.encrypt(&subset.tree, job, &indexing, &tally),
            (_, Some(plan)) => work_through(tree, plan, job, outputs, Some(&indexing), &tally, &workers),
            (_, None) => Err(Error::internal("a round of a folder without a plan")),
        };
        for (entry, action) in (0..).zip(&subset.actions) {
            if indexing.is_written(entry) {
                sync.count(*action);
            }
        }
        let is_stopped = tally.is_stopped();
        let is_last = last.is_some() || is_stopped;
        let mut copied = 0;
        if let Some(Last { gone, mut holds }) = last.filter(|_| !is_stopped) {
            copied = links::copy_links(tree, job, outputs, &tally);
            for (link, action) in (0..).zip(&subset.link_actions) {
                let is_made = read_link(root, tree, link)
                    .is_ok_and(|found| read_link(&tree.root, tree, link).is_ok_and(|wanted| wanted == found));
                if is_made {
                    sync.done(*action, None, &path_of_link(tree, link));
                }
            }
            self.remove(gone, &mut holds, &mut edits, tally.report(0).failed);
        }
        // Before the generation that lists their attributes.
        if let Some(outputs) = outputs.filter(|_| !job.hides_outputs()) {
            destination::finish_below(folders, job, outputs, &tally)?;
        }
        let written = indexing.list_round(outputs, &tally, edits).and_then(|writer| match is_last {
            true => writer.finish().map(|root| (None, Some(report_of(&root)))),
            false => writer.go_on(job.suffix.as_encoded_bytes()).map(|next| (Some(next), None)),
        });
        // Only now, since the root may become read-only, and folders that have lists of names.
        if let Some(outputs) = outputs {
            if job.hides_outputs() {
                destination::finish_below(folders, job, outputs, &tally)?;
            }
            destination::finish_root(folders, job, outputs, &tally);
        }
        self.has_given_up = tally.has_given_up();
        let index = written.as_ref().ok().and_then(|(_, index)| *index);
        self.report.add(&Report { links: copied, index, ..tally.report(tree.entries.len() as u64) });
        all_ended?;
        written.map(|(next, _)| next)
    }
}

/// Takes from outputs of folders what their sources do not permit, below first. Where that fails, the next run tries it again.
fn close_up(sync: &Sync<'_>, folders: &[u32]) {
    let Ok(root) = Target::root(sync.root) else { return };
    for folder in folders.iter().rev() {
        let Directory { path, attributes, .. } = &sync.tree.directories[*folder as usize];
        let _ = root.finish(path, Ending::Resumed(attributes, None), sync.job.durable);
    }
}

/// Cuts files into rounds.
fn cut<'d>(tree: &'d Tree, due: &'d [Due]) -> impl Iterator<Item = &'d [Due]> {
    let mut rest = due;
    std::iter::from_fn(move || {
        let mut bytes = 0_u64;
        let taken = rest.iter().take(ROUND_FILES).take_while(|due| {
            let begun = bytes;
            bytes = bytes.saturating_add(tree.entries.get(due.entry).size());
            begun < ROUND_BYTES
        });
        let (round, later) = rest.split_at(taken.count());
        rest = later;
        (!round.is_empty()).then_some(round)
    })
}
