//! Re-keying a prefix with its index: an object is re-keyed if it is the one that the index lists, and its header shows, to holders of
//! the new key, which stream it takes the place of (`pipeline/indexing/rekeying.rs` of the library).
//!
//! ```text
//! object     as listed ─> opens with the new key: skipped
//!                      ─> re-keyed, with the mark of what is listed ─> conditional PUT ─> listed in the new index
//!            another   ─> has the mark, and all of it is authentic: an earlier run re-keyed it ─> listed in the new index
//!                      ─> reported
//! index      parts ─> root.previous, root, each on condition that it is the one that was read
//! ```

use crate::indexing::{Duty, Noted, entry_of, read_ends};
use crate::inventory::{Inventory, Object, address};
use crate::job::{StoreJob, output_path};
use crate::journal::find_stored;
use crate::names::Names;
use crate::object::verify;
use crate::run::{Context, TaskEvent};
use cipherloom::{
    Error, Format,
    error::IndexFault,
    internal::{Attributes, IndexMode, Job, Seen, StreamEnds, Work},
};
use std::sync::Arc;

impl StoreJob {
    /// Whether the index of a tree is re-keyed with it.
    pub(crate) fn carries_index(&self) -> bool {
        self.job.index.as_ref().is_some_and(|index| index.mode == IndexMode::Carry)
    }
}

impl Context {
    /// Whether the index of the source is carried.
    pub(crate) fn carries(&self) -> bool {
        matches!(self.duty, Some(Duty::Carry(_)))
    }

    /// The stream that the output of an object takes the place of, where an index is carried.
    pub(crate) fn predecessor(&self, object: &Object) -> Option<[u8; 32]> {
        let Some(Duty::Carry(expected)) = &self.duty else { return None };
        // What the index does not list is not re-keyed.
        expected.predecessor(object.entry?, object.path.as_bytes()).ok()
    }

    /// Has an object listed that an earlier run has re-keyed, in place or into the destination.
    ///
    /// # Errors
    /// If nothing shows that, or not all of it is authentic; [`IndexFault::NotPrimary`] of one that is listed all the same.
    pub(crate) async fn confirm_rekeyed(&self, object: &Object, bound: &[u8]) -> Result<(), Error> {
        let (Some(place), false) = (&self.destination, self.is_in_place) else {
            return self.confirm_in(&self.inventory, object, object, bound).await;
        };
        let (output, outputs) = find_stored(place, output_path(&self.job, &object.path)?).await?;
        let confirmed = self.confirm_in(&outputs, &output, object, bound).await;
        confirmed.map_err(|error| match error {
            // The source is not the listed one.
            Error::Index(IndexFault::Replaced { .. }) => error,
            // It is the output that is not as it should be.
            error => error.at(&address(place, &output.path)),
        })
    }

    /// The same of the object that was made of `source`.
    async fn confirm_in(
        &self,
        outputs: &Inventory,
        output: &Object,
        source: &Object,
        bound: &[u8],
    ) -> Result<(), Error> {
        let (Some(Duty::Carry(expected)), Work::Rekey { from, to }) = (&self.duty, &self.job.work) else {
            return Err(Error::internal("an index that is carried without being opened"));
        };
        let (entry, path) = (entry_of(source)?, source.path.as_bytes());
        let (begin, _) = read_ends(outputs, output, StreamEnds::BEGIN as u64).await?;
        let format = expected.successor(entry, path, &begin, [from, to], self.is_in_place)?;
        // Another key may open what somebody else put behind the header.
        let verifying = self.verifying(outputs, &format);
        let (ends, plaintext_len) = verify(&verifying, output, begin, bound).await?;
        let attributes = (!self.is_in_place).then(|| Attributes::of_object(false)).transpose()?;
        if let Some(seen) = Seen::rekeyed(&ends, &format, plaintext_len, attributes)? {
            let seen = seen.in_version(output.e_tag.as_deref());
            self.send(TaskEvent::Noted(entry, Noted::Seen(seen)));
        }
        match format.key_id() == to.key_id() {
            true => Ok(()),
            // The index lists it, but the run has not done with it what it was to do.
            false => Err(IndexFault::NotPrimary.into()),
        }
    }

    /// This run for a task that verifies an object, and shares memory and threads with the others.
    fn verifying(&self, inventory: &Inventory, format: &Format) -> Arc<Context> {
        Arc::new(Context {
            inventory: inventory.clone(),
            job: Arc::new(Job::new(Work::Verify(format.clone()), None)),
            destination: None,
            limits: self.limits,
            ciphers: self.ciphers.clone(),
            is_in_place: false,
            is_foreseen: false,
            names: Names::default(),
            touched: Arc::default(),
            duty: None,
            replaced: None,
            memory: Arc::clone(&self.memory),
            shares: self.shares,
            events: self.events.clone(),
        })
    }
}
