//! An index in use by a run: what takes the tasks' notes, and ends the run for the index.

use crate::indexing::{Duty, Noted};
use crate::inventory::{Inventory, Object};
use cipherloom::{
    Error,
    error::IndexFault,
    internal::{Ended, IndexMode, Indexing, Job, StreamIdentity, Tally},
    report::IndexReport,
};
use std::collections::HashMap;

/// What takes the tasks' notes, on the thread that began the run.
pub(crate) trait Notes {
    /// Notes what a task found out.
    fn note(&mut self, entry: u32, noted: Noted);

    /// Whether an object is reported at the end, when it is known where else the index lists its stream.
    fn holds_back(&self, _object: &Object, _ended: &Result<Ended, Error>) -> bool {
        false
    }
}

/// A synchronization's.
impl Notes for &Indexing<'_> {
    fn note(&mut self, entry: u32, noted: Noted) {
        if let Noted::Seen(seen) = noted {
            self.add(entry, Some(seen));
        }
    }
}

/// Of a run that need not use an index.
impl Notes for Option<IndexRun<'_>> {
    fn note(&mut self, entry: u32, noted: Noted) {
        match (self, noted) {
            (Some(run), Noted::Seen(seen)) => run.indexing.add(entry, Some(seen)),
            (Some(run), Noted::Other(identity)) => drop(run.others.insert(entry, identity)),
            (None, _) => {}
        }
    }

    fn holds_back(&self, object: &Object, ended: &Result<Ended, Error>) -> bool {
        match (self, ended, object.entry) {
            (Some(run), Err(Error::Index(IndexFault::Replaced { .. })), Some(entry)) => {
                run.indexing.hold(entry);
                true
            }
            _ => false,
        }
    }
}

/// An index in use. Only the thread that began the run has it.
pub(crate) struct IndexRun<'r> {
    indexing: Indexing<'r>,
    /// Streams that are not as the index lists them, by entry.
    others: HashMap<u32, StreamIdentity>,
}

impl<'r> IndexRun<'r> {
    /// Opens the index that the job uses. `None` if it uses none, or none that can be used, which is reported then.
    pub(crate) fn begin(
        inventory: &'r Inventory,
        job: &'r Job,
        is_in_place: bool,
        tally: &Tally<'_, Object>,
    ) -> Result<Option<IndexRun<'r>>, Error> {
        let (Some(tree), Some(_)) = (&inventory.listing.tree, &job.index) else { return Ok(None) };
        let indexing = Indexing::begin(tree, job, is_in_place, tally)?;
        Ok(indexing.map(|indexing| IndexRun { indexing, others: HashMap::new() }))
    }

    /// What the tasks do for it.
    pub(crate) fn duty(&self, job: &Job) -> Duty {
        match (self.indexing.expectations(), job.index.as_ref().map(|index| index.mode)) {
            (Some(expected), Some(IndexMode::Carry)) => Duty::Carry(expected),
            (Some(expected), _) => Duty::Compare(expected),
            (None, _) => Duty::Note,
        }
    }

    /// Whether it is finished although the run was stopped: where objects were re-keyed in place.
    pub(crate) fn outlives_a_stop(&self, job: &Job) -> bool {
        matches!(self.duty(job), Duty::Carry(_)) && self.indexing.outlives_a_stop()
    }

    /// Writes the index, or reports how the tree differs from it; `None` if that failed, which is reported.
    pub(crate) fn finish(self, inventory: &Inventory, tally: &Tally<'_, Object>) -> Option<IndexReport> {
        let IndexRun { indexing, others } = self;
        // Only what is in a bucket is compared, and its objects are in the order of its entries.
        let object = |entry: u32| inventory.objects()[entry as usize].clone();
        indexing.finish_in_store(tally, &object, &|entry| others.get(&entry).copied())
    }
}
