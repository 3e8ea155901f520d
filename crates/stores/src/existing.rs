//! What stands where an output is to go, and what that means for it.
//!
//! ```text
//! answer to a conditional put    what stands there           outcome
//! done                                                       done
//! 412, 409, or no answer         this run's own              done: an earlier try got through
//!                                same source, same key       fail: exists; skip: skipped, if `confirm.rs` agrees
//!                                anything else               fail: exists; skip: a conflict
//!                                nothing                     the put's own error
//! ```

use crate::bucket::Bucket;
use crate::faults;
use crate::provenance::Provenance;
use cipherloom::{Error, IfExists};
use object_store::GetOptions;
use object_store::path::Path as Key;

/// How an object ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Bytes of its output.
    Done(u64),
    Skipped,
    /// Its output is there already, as that one's metadata says, which anybody may have written: to be confirmed.
    Claimed(Stored),
}

/// An object in a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) size: u64,
    pub(crate) e_tag: Option<String>,
}

/// What stands at a key.
pub(crate) struct Found {
    pub(crate) origin: Option<Provenance>,
    stored: Stored,
}

/// Looks at a key; `None` if it is free.
pub(crate) async fn look(bucket: &Bucket, key: &Key) -> Result<Option<Found>, Error> {
    let options = GetOptions { head: true, ..GetOptions::default() };
    match bucket.store.get_opts(key, options).await {
        Ok(found) => Ok(Some(Found {
            origin: Provenance::of(&found.attributes),
            stored: Stored { size: found.meta.size, e_tag: found.meta.e_tag },
        })),
        Err(fault) if faults::is_missing(&fault) => Ok(None),
        Err(fault) => Err(faults::of("look whether the output exists", &fault)),
    }
}

impl Found {
    /// Whether it is the very output that `origin` was drawn for.
    pub(crate) fn is_ours(&self, origin: &Provenance) -> bool {
        self.origin.as_ref().is_some_and(|found| found == origin)
    }

    /// What it means that this stands where an output of `origin` was to go.
    pub(crate) fn judge(&self, origin: &Provenance, if_exists: IfExists) -> Result<Ended, Error> {
        if if_exists != IfExists::Skip {
            return Err(Error::OutputExists);
        }
        let difference = match &self.origin {
            Some(found) => found.differs_from(origin),
            None => Some("it does not say what it was made from"),
        };
        match difference {
            None => Ok(Ended::Claimed(self.stored.clone())),
            Some(reason) => Err(Error::OutputConflict { reason: reason.to_owned() }),
        }
    }
}
