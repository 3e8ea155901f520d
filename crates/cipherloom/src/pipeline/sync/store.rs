//! An encrypted tree in an object store, as a synchronization sees it. Another crate reaches it.

use crate::Error;
use crate::index::StreamIdentity;
use crate::pipeline::indexing::Indexing;
use crate::pipeline::job::Job;
use crate::pipeline::tally::Tally;
use crate::report::Observer;
use crate::tree::Tree;
use std::sync::Arc;

/// The encrypted tree of one synchronization, in an object store. Paths are relative to it, with `/` between names.
///
/// A store has no lock. So every write is conditional: an object is replaced only if it is still the one that was listed.
pub trait SyncStore: std::marker::Sync {
    /// Lists all objects, after the root of the index was read. The other methods look into this listing.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Stopped`].
    fn list(&self, observer: &dyn Observer) -> Result<(), Error>;

    /// What is at this path; `None` if nothing is.
    fn look(&self, path: &[u8]) -> Option<StoredItem>;

    /// By stream, whether it is what its path has. Reads the ends of objects.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Stopped`].
    fn check(&self, streams: &[ListedStream<'_>], observer: &dyn Observer) -> Result<Vec<bool>, Error>;

    /// Encrypts the files of `tree`. Failures are reported to `tally`, and what was written is noted in `indexing`.
    ///
    /// # Errors
    /// If nothing could be begun.
    fn encrypt(
        &self,
        tree: &Arc<Tree>,
        job: &Job,
        indexing: &Indexing<'_>,
        tally: &Tally<'_, u32>,
    ) -> Result<(), Error>;

    /// Removes these streams, each only if it is what its path has. One that is missing counts as removed. Those that a stop
    /// leaves end with [`Error::Stopped`].
    fn remove(&self, streams: &[ListedStream<'_>], observer: &dyn Observer) -> Vec<Result<(), Error>>;
}

/// What a listing shows at a path.
#[derive(Debug, Clone, Copy)]
pub enum StoredItem {
    /// An object.
    Object {
        /// Its size in bytes.
        len: u64,
        /// Whether it was written after the root of the index, which so cannot list it.
        is_newer: bool,
    },
    /// No object of this name, but some below it.
    Prefix,
}

/// A file as the index lists it.
#[derive(Debug, Clone, Copy)]
pub struct ListedStream<'p> {
    /// Where its output is.
    pub path: &'p [u8],
    /// Bytes of its output.
    pub len: u64,
    /// What identifies the stream.
    pub identity: StreamIdentity,
}
