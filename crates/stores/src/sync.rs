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
//! The index knows the version (a hash of the ETag) of each object that a run wrote or looked at. If the listing has another one, a
//! run that was killed has written the object, or somebody else: its ends are read. So a run that finds nothing to do sends no
//! request for an object.

use crate::bucket_index::BucketIndex;
use crate::existing;
use crate::indexing::{Duty, LOOKS, Noted, read_ends};
use crate::inventory::{Inventory, Object, address};
use crate::job::{StoreJob, output_path};
use crate::pages::{Found, Pages};
use crate::place::{Bucket, Kind, Place};
use crate::run::{Context, TaskEvent, process_all};
use crate::runtime::{Stop, runtime};
use crate::sink::Condition;
use crate::upload;
use cipherloom::{
    Error, Observer, Report,
    error::IndexFault,
    internal::{
        Ended, Indexing, Job, ListedStream, ObjectVersion, Seen, Selection, StoredItem, StreamEnds,
        SyncStore, Tally, Tree, state_mark, sync_to_store,
    },
};
use futures_util::{StreamExt, stream};
use std::num::NonZeroUsize;
use std::str::from_utf8;
use std::sync::{Arc, OnceLock};

impl StoreJob {
    /// Brings an encrypted tree in a bucket and its index up to date with a folder. The job's index says how.
    ///
    /// Of two runs that write at once, one fails: the one that would replace an index that it has not read.
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
        let mut job = Job { destination: Some(place.address()), ..self.job.clone() };
        if let Some(index_use) = &mut job.index {
            index_use.store = Some(Arc::new(BucketIndex::of(bucket)));
        }
        let synchronized = SyncedBucket { job: self, place, bucket, outputs: OnceLock::new() };
        sync_to_store(tree, &job, &synchronized, NonZeroUsize::new(self.limits.threads), observer)
    }
}

/// A bucket during one run.
struct SyncedBucket<'b> {
    job: &'b StoreJob,
    place: &'b Place,
    bucket: &'b Arc<Bucket>,
    outputs: OnceLock<Arc<Outputs>>,
}

/// What a bucket held when it was listed.
#[derive(Default)]
struct Outputs {
    /// By path.
    objects: Vec<Object>,
}

impl Outputs {
    fn find(&self, path: &str) -> Option<&Object> {
        let at = self.objects.binary_search_by(|object| object.path.as_str().cmp(path)).ok()?;
        self.objects.get(at)
    }
}

impl SyncedBucket<'_> {
    fn find(&self, path: &[u8]) -> Option<&Object> {
        self.outputs.get()?.find(from_utf8(path).ok()?)
    }

    /// Whether this stream is what its path has had since the listing.
    async fn holds(&self, stream: &ListedStream<'_>) -> Result<bool, Error> {
        let Some(object) = self.find(stream.path).filter(|object| object.size == stream.len) else {
            return Ok(false);
        };
        let inventory = Inventory::of_objects(self.place.clone(), Vec::new());
        let read = read_ends(&inventory, object, StreamEnds::BEGIN as u64).await;
        match read.and_then(|(_, ends)| ends.identity()) {
            Ok(identity) => Ok(identity == stream.identity),
            Err(Error::SourceChanged | Error::SourceShrank | Error::NotThisFormat { .. }) => Ok(false),
            // It was there when it was listed.
            Err(error) => match existing::is_gone(self.bucket, &object.path).await {
                true => Ok(false),
                false => Err(error.at(&address(self.place, &object.path))),
            },
        }
    }

    async fn remove_one(&self, stream: &ListedStream<'_>) -> Result<(), Error> {
        let Some(object) = self.find(stream.path) else { return Ok(()) };
        if !self.holds(stream).await? {
            return match existing::is_gone(self.bucket, &object.path).await {
                true => Ok(()),
                false => Err(IndexFault::Replaced { by: None }.into()),
            };
        }
        let key = self.bucket.key(&object.path)?;
        let Err(refusal) = upload::remove(self.bucket, &key, object.e_tag.as_deref()).await else {
            return Ok(());
        };
        // Its answer may have been lost, and some stores then refuse the condition, since there is no object.
        if refusal.is_missing() || existing::is_gone(self.bucket, &object.path).await {
            return Ok(());
        }
        Err(match refusal.is_condition() {
            true => IndexFault::WrittenMeanwhile.into(),
            false => refusal.of("remove the object"),
        })
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
        let _ = self.outputs.set(Arc::new(Outputs { objects }));
        fault.map_or(Ok(()), Err)
    }

    fn look(&self, path: &[u8]) -> Option<StoredItem> {
        let (path, outputs) = (from_utf8(path).ok()?, self.outputs.get()?);
        if let Some(object) = outputs.find(path) {
            let version = object.e_tag.as_deref().map(ObjectVersion::of);
            return Some(StoredItem::Object { len: object.size, version });
        }
        let below = format!("{path}/");
        let next = outputs.objects.partition_point(|object| object.path < below);
        outputs.objects.get(next)?.path.starts_with(&below).then_some(StoredItem::Prefix)
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
        let count = u32::try_from(tree.entries.len()).unwrap_or(u32::MAX);
        let compares_content = job.job.sync_options().is_some_and(|options| options.checksum);
        context.replaced = Some(Replaced {
            outputs: self.outputs.get().cloned().unwrap_or_default(),
            is_unlisted: (0..count).map(|entry| indexing.is_unlisted(entry)).collect(),
            has_listed_version: (0..count).map(|entry| indexing.has_listed_version(entry)).collect(),
            marks: (0..count).map(|entry| state_mark(tree, entry).filter(|_| !compares_content)).collect(),
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

/// What the outputs of a synchronization's round replace.
pub(crate) struct Replaced {
    outputs: Arc<Outputs>,
    /// By entry, whether the index lists nothing of its name.
    is_unlisted: Vec<bool>,
    /// By entry, whether its output is still the version that the index lists.
    has_listed_version: Vec<bool>,
    /// By entry, the digest of its state.
    marks: Vec<Option<[u8; 32]>>,
}

impl Replaced {
    /// Under which condition an output at this path is written.
    pub(crate) fn condition(&self, path: &str) -> Result<Condition, Error> {
        match self.outputs.find(path) {
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
    /// What the header of an object's output shows: the digest of the state of its source, in a synchronization or where a journal is
    /// written; the stream that it takes the place of, where an index is carried.
    pub(crate) fn mark(&self, object: &Object) -> Option<[u8; 32]> {
        match &self.replaced {
            Some(replaced) => replaced.marks[object.entry? as usize],
            None => self.predecessor(object).or_else(|| self.version_of(object)),
        }
    }

    /// In a synchronization: whether another run, which was killed or has not ended, has made the output of this very state.
    /// That is noted then. Refuses to replace an object that the index does not list and that no key opens.
    pub(crate) async fn find_made(&self, object: &Object, bound: &[u8]) -> Result<Option<Ended>, Error> {
        let (Some(replaced), Some(place @ Place(Kind::Bucket { bucket, .. }))) =
            (&self.replaced, &self.destination)
        else {
            return Ok(None);
        };
        let (Some(entry), Some(format)) = (object.entry, self.job.work.sealing()) else { return Ok(None) };
        let path = output_path(&self.job, &object.path)?;
        let Some(output) = replaced.outputs.find(&path) else { return Ok(None) };
        let is_unlisted = replaced.is_unlisted[entry as usize];
        let fits = format.layout().ciphertext_len(object.size) == output.size;
        let mark = self.mark(object).filter(|_| fits && !replaced.has_listed_version[entry as usize]);
        if !is_unlisted && mark.is_none() {
            return Ok(None);
        }
        let wanted = u64::from(format.largest_segment());
        let _share = self.share(2 * wanted.min(output.size)).await?;
        let outputs = Inventory::of_objects(place.clone(), Vec::new());
        let (begin, ends) = match read_ends(&outputs, output, wanted).await {
            Ok(ends) => ends,
            Err(Error::SourceChanged | Error::SourceShrank) => {
                return Err(IndexFault::WrittenMeanwhile.into());
            }
            Err(error) => {
                return Err(match existing::is_gone(bucket, &path).await {
                    true => IndexFault::WrittenMeanwhile.into(),
                    false => error.at(&address(place, &path)),
                });
            }
        };
        let (format, bound, size) = (format.clone(), bound.to_owned(), object.size);
        let look = move |_: &mut _| {
            let begin = &begin[..begin.len().min(usize::try_from(wanted).unwrap_or(usize::MAX))];
            let made = match &mark {
                Some(mark) => Seen::marked(&format, mark, &bound, begin, &ends, size)?,
                None => None,
            };
            match made {
                None if is_unlisted && Seen::open(&format, &bound, begin, &ends, None).is_err() => {
                    Err(IndexFault::Foreign.into())
                }
                made => Ok(made),
            }
        };
        let Some(seen) = self.ciphers.run(look).await? else { return Ok(None) };
        let seen = seen.in_version(output.e_tag.as_deref());
        self.send(TaskEvent::Noted(entry, Noted::Seen(seen)));
        self.send(TaskEvent::Advanced(object.size));
        Ok(Some(Ended::Skipped))
    }

    /// A refused condition, in words for a synchronization.
    pub(crate) fn explain_replaced(&self, error: Error) -> Error {
        match (&self.replaced, error) {
            (Some(_), Error::OutputExists) => IndexFault::WrittenMeanwhile.into(),
            (_, error) => error,
        }
    }
}
