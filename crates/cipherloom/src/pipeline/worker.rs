//! A worker: takes tasks until none is left. Each holds its own folders and buffers, so workers share nothing but the
//! queue, the tally and the entries that the plan cuts into parts.

use super::collisions::Collisions;
use super::commit::Naming;
use super::in_place::is_done;
use super::indexing::{Indexing, StreamEnds};
use super::job::{Job, Work};
use super::queue::{Ending, Queue};
use super::tally::{Ended, Entries, Tally};
use super::translation::{Buffers, Passage};
use crate::Error;
use crate::error::IndexFault;
use crate::files::{Folders, Granted, Hidden, IfExists, Input, Output, Target, has_extended_attributes};
use crate::plan::{Operation, Plan, Task};
use crate::report::Observer;
use crate::tree::{Attributes, Entry, Tree};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What all workers look at.
#[derive(Clone, Copy)]
pub(super) struct Run<'r> {
    pub(super) tree: &'r Tree,
    pub(super) plan: &'r Plan,
    pub(super) job: &'r Job,
    /// Whether each file is re-keyed where it is.
    pub(super) in_place: bool,
    pub(super) queue: &'r Queue<'r>,
    pub(super) tally: &'r Tally<'r, u32>,
    pub(super) collisions: &'r Collisions,
    /// Folders of the destination that are those of others, by index: nothing is put into them.
    pub(super) shared_folders: &'r BTreeMap<u32, String>,
    /// What the run does with the tree's index, if anything.
    pub(super) indexing: Option<&'r Indexing<'r>>,
    pub(super) observer: &'r dyn Observer,
}

pub(super) struct Worker<'r> {
    pub(super) run: Run<'r>,
    pub(super) buffers: Buffers,
    pub(super) folders: Folders<'r>,
    granted: Granted,
}

impl<'r> Worker<'r> {
    pub(super) fn new(run: Run<'r>) -> Worker<'r> {
        // Made once at full length: grown segment by segment, it would be wiped and made anew for many an entry.
        let second = if run.plan.operation == Operation::Rekey { run.plan.buffer_len } else { 0 };
        Worker {
            run,
            buffers: Buffers::new(run.plan.buffer_len, second),
            folders: Folders::new(run.tree, run.job.destination.as_deref()),
            granted: Granted::default(),
        }
    }

    pub(super) fn work(&mut self) {
        if self.run.plan.is_chained {
            return super::lanes::work(self);
        }
        while let Some(task) = self.run.queue.take() {
            match task {
                Task::Entries(range) => {
                    for position in range.clone() {
                        if self.run.observer.is_stopped() {
                            return;
                        }
                        let index = self.run.plan.order[position as usize];
                        let ended = self.whole(index);
                        self.end(index, ended);
                    }
                }
                Task::Part { .. } if self.run.observer.is_stopped() => return,
                Task::Part { shared, part, parts } => self.part(*shared, *part, *parts),
            }
        }
    }

    /// Ends an entry. What is not as the index lists it is reported when it is known where else that lists it.
    fn end(&mut self, index: u32, ended: Result<Ended, Error>) {
        let Some(indexing) = self.run.indexing else { return self.run.tally.end_entry(index, ended) };
        let ended = match ended {
            Ok(Ended::Skipped) => self.confirm(index, indexing).map(|()| Ended::Skipped),
            ended => ended,
        };
        match ended {
            Err(Error::Index(IndexFault::Replaced { .. })) => indexing.hold(index),
            ended => self.run.tally.end_entry(index, ended),
        }
    }

    /// Takes an output that an earlier run made into the index, if a key opens it.
    fn confirm(&mut self, index: u32, indexing: &Indexing<'_>) -> Result<(), Error> {
        let entry = self.entry(index);
        self.name_output(index)?;
        self.bind_path(entry)?;
        indexing.confirm(index, self.run.plan.run_len, &mut self.buffers, self.run.observer)
    }

    /// Reads an entry's beginning and end for the index.
    fn look(&mut self, index: u32, indexing: &Indexing<'_>) -> Result<Ended, Error> {
        let Some((input, _)) = self.open(index)? else { return Ok(Ended::Skipped) };
        let (seen, plaintext_len) = indexing.look(index, input.file(), input.len(), &mut self.buffers)?;
        // A file that is only compared is what was read of it.
        if let Some(seen) = seen {
            input.check_unchanged(false)?;
            indexing.add(index, Some(seen));
        }
        self.run.observer.advanced(input.len());
        Ok(Ended::Done(plaintext_len))
    }

    fn whole(&mut self, index: u32) -> Result<Ended, Error> {
        if let Some(indexing) = self.run.indexing.filter(|_| self.run.job.reads_ends_only()) {
            return self.look(index, indexing);
        }
        let Some((passage, at_hand)) = self.begin(index)? else { return Ok(Ended::Skipped) };
        let moved = passage.advance(
            0..passage.translation.segments,
            &mut self.buffers,
            at_hand,
            self.run.observer,
        )?;
        self.commit(index, passage, moved.written)
    }

    fn part(&mut self, shared: u32, part: u32, parts: u32) {
        let index = self.run.plan.shared[shared as usize];
        let shared = &self.run.queue.shared[shared as usize];
        let mut at_hand = 0;
        let passage = shared.passage(|| {
            Ok(self.begin(index)?.map(|(passage, read)| {
                at_hand = if part == 0 { read } else { 0 };
                passage
            }))
        });
        let mut written = 0;
        if let Some(passage) = passage {
            let bound = |part: u32| passage.translation.segments * u64::from(part) / u64::from(parts);
            let range = bound(part)..bound(part + 1);
            match passage.advance(range, &mut self.buffers, at_hand, self.run.observer) {
                Ok(moved) => written = moved.written,
                Err(error) => shared.fail(part, error),
            }
        }
        let ended = match shared.end_part(parts, written) {
            None => return,
            Some(Ending::Complete { passage, written }) => {
                self.name_output(index).and_then(|()| self.commit(index, passage, written))
            }
            Some(Ending::Failed(error)) => Err(error),
            Some(Ending::Closed) => Ok(Ended::Skipped),
        };
        self.end(index, ended);
    }

    fn entry(&self, index: u32) -> Entry<'r> {
        self.run.tree.entries.get(index)
    }

    /// Opens the entry and its output; `None` if it is to be skipped.
    fn begin(&mut self, index: u32) -> Result<Option<(Passage, usize)>, Error> {
        let Some((input, output)) = self.open(index)? else { return Ok(None) };
        let predecessor = self
            .run
            .indexing
            .map_or(Ok(None), |indexing| indexing.predecessor(index, input.file(), input.len()));
        self.buffers.predecessor = match predecessor {
            // A run that was killed may have re-keyed it: that is found out when it is confirmed.
            Err(Error::Index(IndexFault::Replaced { .. })) if self.run.in_place => return Ok(None),
            predecessor => predecessor?,
        };
        if self.run.in_place
            && let Some(format) = self.run.job.work.sealing()
            && is_done(format, &input, &mut self.buffers)?
        {
            return Ok(None);
        }
        Passage::begin(&self.run.job.work, self.run.plan.run_len, input, output, &mut self.buffers).map(Some)
    }

    /// Opens both ends of an entry and prepares its output name and the path to bind.
    pub(super) fn open(&mut self, index: u32) -> Result<Option<(Input, Option<Output>)>, Error> {
        let entry = self.entry(index);
        self.run.indexing.map_or(Ok(()), |indexing| indexing.check_place(index))?;
        self.name_output(index)?;
        self.bind_path(entry)?;
        let Run { tree, job, in_place, .. } = self.run;
        if let Some(other) = self.run.shared_folders.get(&entry.directory()) {
            return Err(Error::NameCollision { other: other.clone() });
        }
        let hidden = self.hidden(index);
        let folder = self.folders.open_hidden(entry.directory(), hidden)?;
        let attributes = entry.attributes();
        let mut output = None;
        if job.destination.is_some() {
            // A large entry is not worked on in vain; for a small one, giving the name tells soon enough.
            let looks = job.if_exists == IfExists::Skip
                || (job.if_exists == IfExists::Fail && entry.size() > LOOK_FIRST);
            if looks && folder.target().has_output(&self.buffers.name) {
                check_collisions(self.run, index, hidden, folder.target())?;
                return if job.if_exists == IfExists::Skip { Ok(None) } else { Err(Error::OutputExists) };
            }
            let made = output_attributes(&attributes, hidden, in_place.then_some(folder.target()))?;
            let made = folder.target().output(Some(&made.permissions));
            output = Some(made.map_err(Error::of_destination)?);
        }
        if let Some(Hidden { name, in_source: true, .. }) = hidden {
            let file = folder.source.input(&name.file_name(), false)?;
            // The listing has the plaintext's time.
            let attributes = Attributes { modified: None, ..attributes };
            return Ok(Some((Input::new(file, entry.size(), &attributes), output)));
        }
        let file = folder.source.input(entry.name(), tree.is_single_file)?;
        if matches!(job.work, Work::Encrypt(_)) && has_extended_attributes(&file) {
            self.run.tally.count_extended_attributes();
        }
        Ok(Some((Input::new(file, entry.size(), &attributes), output)))
    }

    /// Where the entry is, if names are hidden.
    fn hidden(&self, index: u32) -> Option<Hidden> {
        self.run.indexing.and_then(|indexing| indexing.hidden(index))
    }

    pub(super) fn name_output(&mut self, index: u32) -> Result<(), Error> {
        if let Some(Hidden { name, in_output: true, .. }) = self.hidden(index) {
            self.buffers.name = name.file_name();
            return Ok(());
        }
        let job = self.run.job;
        let is_named = job.output_name(self.entry(index).name(), &mut self.buffers.name);
        if is_named { Ok(()) } else { Err(job.suffix_missing()) }
    }

    /// The plaintext's relative path, `/` between folders on every system, so that a tree moves between them.
    fn bind_path(&mut self, entry: Entry<'_>) -> Result<(), Error> {
        let job = self.run.job;
        let bound = &mut self.buffers.associated_data;
        bound.clear();
        if !job.bind_path {
            return Ok(());
        }
        for component in &self.run.tree.directories[entry.directory() as usize].path {
            bound.extend_from_slice(component.as_encoded_bytes());
            bound.push(b'/');
        }
        let name = job.plaintext_name(entry.name()).ok_or_else(|| job.suffix_missing())?;
        bound.extend_from_slice(name.as_encoded_bytes());
        Ok(())
    }

    fn commit(&mut self, index: u32, passage: Passage, written: u64) -> Result<Ended, Error> {
        let mut compared = Ok(());
        if let Some(indexing) = self.run.indexing
            && self.run.job.work.opening().is_some()
        {
            let input = passage.input();
            compared = indexing.compare(index, input.file(), input.len());
            if !self.run.job.index.as_ref().is_some_and(|index| index.releases_replaced) {
                compared?;
                compared = Ok(());
            }
        }
        let ended = match passage.finish(self.run.in_place)? {
            Some((output, ends)) => self.commit_output(index, output, &ends)?,
            None => Ended::Done(written),
        };
        compared.map(|()| ended)
    }

    /// Gives an output its name, which is in `buffers.name`. Another run may have made it meanwhile.
    pub(super) fn commit_output(
        &mut self,
        index: u32,
        output: Output,
        ends: &StreamEnds,
    ) -> Result<Ended, Error> {
        let run @ Run { job, collisions, .. } = self.run;
        let entry = self.entry(index);
        let (hidden, attributes) = (self.hidden(index), entry.attributes());
        let folder = self.folders.open_hidden(entry.directory(), hidden)?;
        let (folder, name) = (folder.target(), &*self.buffers.name);
        let attributes = output_attributes(&attributes, hidden, run.in_place.then_some(folder))?;
        let (indexing, bound) = (self.run.indexing, &*self.buffers.associated_data);
        let may_replace = || {
            indexing.map_or(Ok(()), |indexing| indexing.may_replace(index, name, bound))?;
            check_collisions(run, index, hidden, folder)
        };
        let naming = Naming { name, may_replace: &may_replace };
        let seen = self.run.indexing.map(|indexing| indexing.see(ends)).transpose()?;
        // Before the name is there: who finds it taken looks here next.
        let being_named = collisions.use_name(index);
        let named = output.commit(folder, naming, &attributes, &mut self.granted, job);
        being_named.settle(named.is_ok());
        match named {
            Ok(all_taken) => {
                if !all_taken {
                    self.run.tally.count_attributes_refused();
                }
                if let (Some(indexing), Some(seen)) = (self.run.indexing, seen) {
                    indexing.add(index, seen);
                }
                Ok(Ended::Done(ends.len()))
            }
            Err(Error::OutputExists) => {
                check_collisions(run, index, hidden, folder)?;
                let is_done = job.if_exists == IfExists::Skip && folder.has_output(name);
                if is_done { Ok(Ended::Skipped) } else { Err(Error::OutputExists) }
            }
            Err(error) => Err(error.of_destination()),
        }
    }
}

/// Fails if another entry has this output. No two hidden names are the same.
fn check_collisions(run: Run<'_>, index: u32, hidden: Option<Hidden>, folder: &Target) -> Result<(), Error> {
    match hidden {
        Some(Hidden { in_output: true, .. }) => Ok(()),
        _ => run.collisions.check(run.tree, run.job, index, folder),
    }
}

/// What the entry's output gets: with a hidden name neither mode nor time of its source. `in_place`: the folder that has the file
/// whose place it takes, with its mode.
fn output_attributes<'s>(
    source: &'s Attributes,
    hidden: Option<Hidden>,
    in_place: Option<&Target>,
) -> Result<Cow<'s, Attributes>, Error> {
    let Some(Hidden { name, in_output: true, .. }) = hidden else { return Ok(Cow::Borrowed(source)) };
    let replaced = in_place.and_then(|folder| folder.look(&name.file_name()).ok().flatten());
    Attributes::with_mode(replaced.map_or(0o600, |replaced| replaced.mode)).map(Cow::Owned)
}

/// The entries of a tree with the job's names for their outputs.
pub(super) struct TreeEntries<'r> {
    pub(super) tree: &'r Tree,
    pub(super) job: &'r Job,
}

impl Entries<u32> for TreeEntries<'_> {
    fn size(&self, entry: &u32) -> u64 {
        self.tree.entries.get(*entry).size()
    }

    fn paths(&self, entry: &u32) -> (PathBuf, Option<PathBuf>) {
        let entry = self.tree.entries.get(*entry);
        let relative = &self.tree.directories[entry.directory() as usize].path;
        let output = self.job.destination.as_ref().and_then(|root| {
            let name = self.job.names_output(entry.name())?;
            Some(root.join(relative).join(name))
        });
        (self.tree.root.join(relative).join(entry.name()), output)
    }
}

/// From this size on the output's name is looked up before any work.
const LOOK_FIRST: u64 = 1 << 20;
