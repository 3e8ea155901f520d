//! An encrypted tree in an object store, as a synchronization sees it. Another crate reaches it.

use crate::Error;
use crate::index::{ObjectVersion, StreamIdentity, digest};
use crate::pipeline::indexing::{Indexing, bytes_of};
use crate::pipeline::job::Job;
use crate::pipeline::tally::Tally;
use crate::report::Observer;
use crate::tree::{Inode, Tree};
use std::sync::Arc;

/// The encrypted tree of one synchronization, in an object store. Paths are relative to it, with `/` between names.
///
/// A store has no lock. So every write is conditional: an object is replaced only if it is still the one that was listed.
pub trait SyncStore: std::marker::Sync {
    /// Lists all objects, once. The other methods look into this listing.
    ///
    /// # Errors
    /// [`Error::Store`]; [`Error::Stopped`].
    fn list(&self, observer: &dyn Observer) -> Result<(), Error>;

    /// What is at this path; `None` if nothing is.
    fn look(&self, path: &[u8]) -> Option<StoredItem>;

    /// By stream, whether it is what its path has had since the listing. Reads the ends of objects.
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

/// The digest of an entry's path and state, for [`Pieces::begin_marked`](crate::pipeline::Pieces::begin_marked):
/// whoever finds a stream with this mark knows that a holder of the key made it of this state. `None` if that is not known, as
/// where a file system's times are whole seconds: two states may have the same ones.
#[must_use]
pub fn state_mark(tree: &Tree, entry: u32) -> Option<[u8; 32]> {
    let entry = tree.entries.get(entry);
    let attributes = entry.attributes();
    let (modified, changed) = (attributes.moment()?, attributes.changed?);
    if modified.1 == 0 && changed.1 == 0 {
        return None;
    }
    let mut state = b"\0cipherloom state of a source 1".to_vec();
    for number in [modified.0, i64::from(modified.1), changed.0, changed.1] {
        state.extend_from_slice(&number.to_be_bytes());
    }
    let Inode { device, number } = attributes.inode?;
    for number in [device, number, entry.size()] {
        state.extend_from_slice(&number.to_be_bytes());
    }
    state.extend_from_slice(&bytes_of(&tree.relative_path(entry)));
    Some(digest(&state))
}

/// What a listing shows at a path.
#[derive(Debug, Clone, Copy)]
pub enum StoredItem {
    /// An object.
    Object {
        /// Its size in bytes.
        len: u64,
        /// Its version, if the listing has one.
        version: Option<ObjectVersion>,
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
