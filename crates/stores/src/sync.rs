//! A synchronization to a bucket. The library compares and decides (`cipherloom::internal::sync_to_store`); this lists the bucket
//! once, and encrypts and removes objects.
//!
//! ```text
//! index   root, parts ──┐
//! bucket  one listing ──┼─> comparison ─> new: PUT, If-None-Match: *
//! source  files ────────┘                 other: PUT, If-Match: as listed     ─> parts, root.previous, root, as `bucket_index.rs`
//!                                                                             ─> DELETE what is gone ─> the same once more
//! ```
//!
//! An object that was written after the root cannot be listed in it: a run that was killed has written it, or somebody else.
//! Its ends are read. So a run that finds nothing to do sends no request for an object.

use crate::bucket_index::BucketIndex;
use crate::faults::ask;
use crate::indexing::{Duty, LOOKS, read_ends};
use crate::inventory::{Inventory, Object, address};
use crate::job::{StoreJob, output_path};
use crate::pages::{Found, Pages};
use crate::place::{Bucket, Kind, Place};
use crate::run::{Context, process_all};
use crate::runtime::{Stop, runtime};
use crate::sink::Condition;
use cipherloom::{
    Error, Observer, Report,
    error::IndexFault,
    internal::{
        Indexing, Job, ListedStream, Selection, StoredItem, StreamEnds, SyncStore, Tally, Tree, sync_to_store,
    },
};
use futures_util::{StreamExt, stream};
use object_store::ObjectStoreExt;
use std::num::NonZeroUsize;
use std::str::from_utf8;
use std::sync::{Arc, OnceLock};

impl StoreJob {
    /// Brings an encrypted tree in a bucket and its index up to date with a folder. The job's index says how.
    ///
    /// Of two runs at once, the one that ends later fails and has written no index.
    ///
    /// # Errors
    /// As [`StoreJob::run`]; [`Error::Index`] if the index cannot be used, another run has written one meanwhile, or everything
    /// would be removed; [`Error::OtherKey`] if there is no index, and an object that no key opens.
    pub fn sync(&self, tree: &Tree, observer: &dyn Observer) -> Result<Report, Error> {
        let Some(place @ Place(Kind::Bucket { bucket, .. })) = &self.destination else {
            return Err(Error::NeitherFileNorFolder);
        };
        runtime()?.block_on(bucket.check_credentials())?;
        // The index opens only with the key of what it lists.
        let has_index = match place.has_index(observer) {
            Err(Error::Stopped) => return Ok(Report::default()),
            has_index => has_index?,
        };
        if !(self.job.allow_mixed_keys || has_index) {
            let other = self.find_other_key(&Inventory::of_files(tree))?;
            other.map_or(Ok(()), |path| Err(Error::OtherKey.at(&path)))?;
        }
        let index = Arc::new(BucketIndex::of(bucket));
        let mut job = Job { destination: Some(place.address()), ..self.job.clone() };
        if let Some(index_use) = &mut job.index {
            index_use.store = Some(index.clone());
        }
        let synchronized = SyncedBucket { job: self, place, bucket, index, outputs: OnceLock::new() };
        sync_to_store(tree, &job, &synchronized, NonZeroUsize::new(self.limits.threads), observer)
    }
}

/// A bucket during one run.
struct SyncedBucket<'b> {
    job: &'b StoreJob,
    place: &'b Place,
    bucket: &'b Arc<Bucket>,
    index: Arc<BucketIndex>,
    outputs: OnceLock<Outputs>,
}

/// What a bucket holds, by path.
type Outputs = Arc<[Object]>;

fn find<'o>(outputs: &'o [Object], path: &str) -> Option<&'o Object> {
    let at = outputs.binary_search_by(|object| object.path.as_str().cmp(path)).ok()?;
    outputs.get(at)
}

impl SyncedBucket<'_> {
    fn outputs(&self) -> &[Object] {
        self.outputs.get().map_or(&[], |outputs| outputs)
    }

    /// Whether this stream is what its path has had since the listing.
    async fn holds(&self, stream: &ListedStream<'_>) -> Result<bool, Error> {
        let listed = from_utf8(stream.path).ok().and_then(|path| find(self.outputs(), path));
        let Some(object) = listed.filter(|object| object.size == stream.len) else { return Ok(false) };
        let inventory = Inventory::of_objects(self.place.clone(), Vec::new());
        let read = read_ends(&inventory, object, StreamEnds::BEGIN as u64).await;
        match read.and_then(|(_, ends)| ends.identity()) {
            Ok(identity) => Ok(identity == stream.identity),
            Err(Error::SourceChanged | Error::SourceShrank | Error::NotThisFormat { .. }) => Ok(false),
            Err(error) => Err(error.at(&address(self.place, &object.path))),
        }
    }

    async fn remove_one(&self, stream: &ListedStream<'_>) -> Result<(), Error> {
        let Some(object) = from_utf8(stream.path).ok().and_then(|path| find(self.outputs(), path)) else {
            return Ok(());
        };
        if !self.holds(stream).await? {
            return Err(IndexFault::Replaced { by: None }.into());
        }
        let key = self.bucket.key(&object.path)?;
        match ask(self.bucket.store.delete(&key)).await {
            Err(refusal) if !refusal.is_missing() => Err(refusal.of("remove the object")),
            _ => Ok(()),
        }
    }
}

impl SyncStore for SyncedBucket<'_> {
    fn list(&self, observer: &dyn Observer) -> Result<(), Error> {
        let (mut objects, mut fault) = (Vec::new(), None);
        Stop::new(observer).block_on(async {
            let pages = match Pages::open(Arc::clone(self.bucket), Selection::default()).await {
                Err(Error::NothingThere) => return,
                Err(error) => return fault = Some(error),
                Ok(pages) => pages,
            };
            let take = |found| match found {
                Found::Object(object) => objects.push(object),
                // A key that is no path is not that of an output.
                Found::Unlisted(found) if matches!(found.error.without_path(), Error::Store { .. }) => {
                    fault.get_or_insert(found.error.at(&found.path));
                }
                Found::Unlisted(_) => {}
            };
            pages.each(take).await;
        })?;
        objects.sort_unstable_by(|one, other| one.path.cmp(&other.path));
        // Listed once.
        let _ = self.outputs.set(objects.into());
        fault.map_or(Ok(()), Err)
    }

    fn look(&self, path: &[u8]) -> Option<StoredItem> {
        let path = from_utf8(path).ok()?;
        if let Some(object) = find(self.outputs(), path) {
            let is_newer =
                object.written.zip(self.index.root_written()).is_none_or(|(written, root)| written > root);
            return Some(StoredItem::Object { len: object.size, is_newer });
        }
        let below = format!("{path}/");
        let next = self.outputs().partition_point(|object| object.path < below);
        self.outputs().get(next)?.path.starts_with(&below).then_some(StoredItem::Prefix)
    }

    fn check(&self, streams: &[ListedStream<'_>], observer: &dyn Observer) -> Result<Vec<bool>, Error> {
        let stop = Stop::new(observer);
        let mut checks = stream::iter(streams).map(|stream| self.holds(stream)).buffered(LOOKS);
        let mut verdicts = Vec::with_capacity(streams.len());
        while let Some(verdict) = stop.block_on(checks.next())? {
            verdicts.push(verdict?);
        }
        Ok(verdicts)
    }

    fn encrypt(
        &self,
        tree: &Arc<Tree>,
        job: &Job,
        indexing: &Indexing<'_>,
        tally: &Tally<'_, u32>,
    ) -> Result<(), Error> {
        let inventory = Inventory::of_shared_tree(tree);
        let job = StoreJob { job: job.clone(), ..self.job.clone() };
        let (mut context, events) = Context::new(&inventory, &job, false);
        context.duty = Some(Duty::Note);
        context.replaced = Some(Replaced {
            outputs: self.outputs.get().cloned().unwrap_or_default(),
            is_unlisted: (0..).take(tree.entries.len()).map(|entry| indexing.is_unlisted(entry)).collect(),
        });
        // What has an entry alone is processed.
        let key = |object: &Object| object.entry.unwrap_or(u32::MAX);
        process_all(context, &inventory, events, tally, key, &mut { indexing }).map(drop)
    }

    fn remove(&self, streams: &[ListedStream<'_>], observer: &dyn Observer) -> Vec<Result<(), Error>> {
        let stop = Stop::new(observer);
        let mut removals = stream::iter(streams).map(|stream| self.remove_one(stream)).buffered(LOOKS);
        let mut removed = Vec::with_capacity(streams.len());
        while let Ok(Some(result)) = stop.block_on(removals.next()) {
            removed.push(result);
        }
        removed.resize_with(streams.len(), || Err(Error::Stopped));
        removed
    }
}

/// What the outputs of a synchronization's round may replace.
pub(crate) struct Replaced {
    outputs: Outputs,
    /// By entry, whether the index lists nothing of its name.
    is_unlisted: Vec<bool>,
}

impl Replaced {
    /// Under which condition an output at this path is written.
    pub(crate) fn condition(&self, path: &str) -> Result<Condition, Error> {
        match find(&self.outputs, path) {
            None => Ok(Condition::Create),
            Some(Object { e_tag: Some(e_tag), .. }) => Ok(Condition::Replace(e_tag.clone())),
            Some(_) => {
                let reason = "the store does not say its version".to_owned();
                Err(Error::OutputConflict { reason })
            }
        }
    }
}

impl Context {
    /// Refuses to replace an object that the index does not list and that no key opens.
    pub(crate) async fn check_replaced(&self, object: &Object, bound: &[u8]) -> Result<(), Error> {
        let (Some(replaced), Some(place)) = (&self.replaced, &self.destination) else { return Ok(()) };
        let is_unlisted = object.entry.is_some_and(|entry| replaced.is_unlisted[entry as usize]);
        let path = output_path(&self.job, &object.path)?;
        let Some(output) = find(&replaced.outputs, &path).filter(|_| is_unlisted) else { return Ok(()) };
        let outputs = Inventory::of_objects(place.clone(), Vec::new());
        let attributes = cipherloom::internal::Attributes::of_object(false)?;
        match self.open(&outputs, output, bound, attributes).await {
            Ok(_) => Ok(()),
            Err(error @ Error::Store { .. }) => Err(error.at(&address(place, &path))),
            Err(_) => Err(IndexFault::Foreign.into()),
        }
    }

    /// A refused condition, in words for a synchronization.
    pub(crate) fn explain_replaced(&self, error: Error) -> Error {
        match (&self.replaced, error) {
            (Some(_), Error::OutputExists) => IndexFault::WrittenMeanwhile.into(),
            (_, error) => error,
        }
    }
}
