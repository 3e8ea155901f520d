//! What a run over a bucket does with the index of the encrypted tree there. Which entries it lists, and what differs from them, is
//! the library's to say (`Indexing`); here the beginnings and ends of objects are read for it.
//!
//! ```text
//! verify, decrypt   the object, once
//! verify --quick    its first 40 and last 16 bytes, or all of a short one
//! index             its first segment and last 16 bytes
//! encrypt           nothing of what the run writes; of an output that it skips, as `index`
//! rekey             the object, once, and before that the ends of a large one
//! ```

use crate::faults::ask;
use crate::inventory::{Inventory, Listing, Object, address};
use crate::job::{StoreJob, bound_path, output_path};
use crate::journal::find_stored;
use crate::pages::Found;
use crate::place::{Kind, Place};
use crate::run::{Context, TaskEvent};
use crate::runtime::Stop;
use crate::source;
use cipherloom::{
    Error, Observer,
    error::IndexFault,
    internal::{
        Attributes, Directory, Dropped, Ended, EntryList, Expectations, IndexMode, Seen, StreamEnds,
        StreamIdentity, Tree,
    },
};
use futures_util::{StreamExt, stream};
use object_store::ObjectStoreExt;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// Up to this size, all of an object is read where its beginning and end are wanted: one request instead of two.
const SHORT: u64 = 16 << 10;

/// Requests for objects that are known by name at once; and how many of these are looked at one by one. More are listed.
pub(crate) const LOOKS: usize = 64;
const FEW: usize = 1_000;

/// What the tasks of a run are to do for an index.
#[derive(Debug)]
pub(crate) enum Duty {
    /// Compare each object with what the index lists.
    Compare(Expectations),
    /// Say which streams there are.
    Note,
    /// Both, of objects and what they become: `rekeying.rs`.
    Carry(Expectations),
}

/// What a task has found out about an entry.
#[derive(Debug)]
pub(crate) enum Noted {
    /// It goes into the index.
    Seen(Seen),
    /// It is another stream than the index lists: this one.
    Other(StreamIdentity),
}

impl StoreJob {
    /// The job and the inventory of a run that uses an index: its files are known, and the whole listing is held. A tree without
    /// an index is verified without one, if nothing more was wanted.
    pub(crate) fn with_index(
        &self,
        inventory: &Inventory,
        observer: &dyn Observer,
    ) -> Result<(StoreJob, Inventory), Error> {
        let mut job = self.clone();
        let Some(index) = &mut job.job.index else { return Ok((job, inventory.clone())) };
        if index.expected.is_some() {
            // Of the files that the caller knows.
            return Ok((job, inventory.with_tree(false, observer)?));
        }
        if index.journal.is_some() {
            index.store = job.destination.as_ref().and_then(Place::index);
            return Ok((job, inventory.with_tree(true, observer)?));
        }
        let place = match index.mode {
            IndexMode::Update => job.destination.as_ref(),
            IndexMode::Rebuild { .. } | IndexMode::Check { .. } => Some(inventory.place()),
            IndexMode::Carry if inventory.place().folder().is_none() => job.destination.as_ref(),
            IndexMode::Carry | IndexMode::Sync(_) => None,
        };
        let place = place.filter(|place| place.folder().is_none() && inventory.single().is_none());
        let place = place.ok_or(IndexFault::Unsupported("a folder, or a prefix of a bucket"))?;
        let is_needed = job.job.work.sealing().is_some()
            || index.anchor.is_some()
            || job.destination.is_some()
            || index.mode != IndexMode::Check { quick: false };
        if !is_needed && !place.has_index(observer)? {
            job.job.index = None;
            return Ok((job, inventory.clone()));
        }
        index.store = place.index();
        index.source_store = inventory.place().index().filter(|_| index.mode == IndexMode::Carry);
        let is_carried = index.mode == IndexMode::Carry;
        let listed = inventory.with_tree(false, observer)?;
        // This tree's index may list the files of that one too.
        if is_carried && inventory.has_nested_index() {
            return Err(IndexFault::NotCarried.into());
        }
        Ok((job, listed))
    }
}

impl Inventory {
    /// All that is at the place, as a tree of entries. `is_timed`: with the times at which objects were written.
    fn with_tree(&self, is_timed: bool, observer: &dyn Observer) -> Result<Inventory, Error> {
        let mut listing = Listing::default();
        match &self.pages {
            None if self.listing.tree.is_some() => return Ok(self.clone()),
            None => listing.objects.extend_from_slice(self.objects()),
            Some(pages) => {
                let (mut objects, mut unlisted) = (Vec::new(), Vec::new());
                Stop::new(observer).block_on(pages.each(|found| match found {
                    Found::Object(object) => objects.push(object),
                    Found::Unlisted(found) => unlisted.push(found),
                }))?;
                (listing.objects, listing.unlisted) = (objects, unlisted);
            }
        }
        listing.passed_over = self.passed_over();
        listing.tree = Some(Arc::new(tree(&self.place, &mut listing, is_timed)?));
        Ok(Inventory::known(self.place.clone(), listing))
    }

    /// These files of a bucket alone, each by its path below the place. What is not there is left out.
    ///
    /// # Errors
    /// If the store cannot be asked; [`Error::Stopped`].
    pub fn named(&self, files: &[PathBuf], observer: &dyn Observer) -> Result<Inventory, Error> {
        let Kind::Bucket { bucket, .. } = &self.place.0 else { return Err(Error::NeitherFileNorFolder) };
        let stop = Stop::new(observer);
        let mut objects = Vec::new();
        if let (Some(pages), true) = (&self.pages, files.len() > FEW) {
            let wanted: HashSet<&str> = files.iter().filter_map(|file| file.to_str()).collect();
            let mut unlisted = Vec::new();
            stop.block_on(pages.each(|found| match found {
                Found::Object(object) if wanted.contains(&*object.path) => objects.push(object),
                Found::Object(_) => {}
                // What could not be listed may be wanted. A key that is no path is not.
                Found::Unlisted(found) => {
                    if matches!(found.error.without_path(), Error::Store { .. }) {
                        unlisted.push(found);
                    }
                }
            }))?;
            let mut listing = Listing { objects, unlisted, ..Listing::default() };
            listing.tree = Some(Arc::new(tree(&self.place, &mut listing, false)?));
            return Ok(Inventory::known(self.place.clone(), listing));
        }
        let look = |file: String| async move {
            // What cannot be a key is not there.
            let Ok(key) = bucket.key(&file) else { return Ok(None) };
            match ask(bucket.store.head(&key)).await {
                Ok(meta) => Ok(Some(Object::new(file, meta.size, meta.e_tag))),
                Err(refusal) if refusal.is_missing() => Ok(None),
                Err(refusal) => Err(refusal.of("look at the object").at(&bucket.address(&key))),
            }
        };
        let names = files.iter().filter_map(|file| file.to_str().map(str::to_owned));
        let mut looks = stream::iter(names).map(look).buffered(LOOKS);
        while let Some(found) = stop.block_on(looks.next())? {
            objects.extend(found?);
        }
        Ok(Inventory::of_objects(self.place.clone(), objects))
    }
}

/// The objects as the entries of a tree, in the same order. `is_timed`: with the times at which they were written.
fn tree(place: &Place, listing: &mut Listing, is_timed: bool) -> Result<Tree, Error> {
    let (file, folder) = (Attributes::of_object(false)?, Attributes::of_object(true)?);
    let mut known = HashMap::from([(String::new(), 0)]);
    let mut tree = Tree {
        root: place.address(),
        directories: vec![Directory { path: PathBuf::new(), attributes: folder.clone() }],
        entries: EntryList::default(),
        links: Vec::new(),
        passed_over: listing.passed_over,
        dropped: Dropped::default(),
        unlisted: std::mem::take(&mut listing.unlisted),
        is_single_file: false,
        is_several: false,
    };
    for object in &mut listing.objects {
        let (parent, name) = object.path.rsplit_once('/').unwrap_or(("", &object.path));
        // Parents first.
        let ends = parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]);
        for end in ends {
            let path = &parent[..end];
            if !known.contains_key(path) {
                known.insert(path.to_owned(), tree.directories.len() as u32);
                tree.directories.push(Directory { path: path.into(), attributes: folder.clone() });
            }
        }
        let directory = known[parent];
        let attributes = match object.written.filter(|_| is_timed).and_then(|seconds| seconds.try_into().ok())
        {
            Some(seconds) => {
                Attributes::new(file.permissions.clone(), Some(UNIX_EPOCH + Duration::from_secs(seconds)))
            }
            None => file.clone(),
        };
        object.entry = u32::try_from(tree.entries.len()).ok();
        tree.entries.push(directory, name.as_ref(), object.size, &attributes);
    }
    Ok(tree)
}

/// The first and the last bytes of an object. `begin`: how many of its first ones; they are given too.
pub(crate) async fn read_ends(
    inventory: &Inventory,
    object: &Object,
    begin: u64,
) -> Result<(bytes::Bytes, StreamEnds), Error> {
    let size = object.size;
    let begin_len = if size <= SHORT { size } else { begin.min(size) };
    let begin = source::read(inventory, object, 0..begin_len).await?.bytes;
    let end = match begin_len == size {
        true => begin.clone(),
        false => source::read(inventory, object, size - StreamEnds::END as u64..size).await?.bytes,
    };
    let ends = StreamEnds::new(&begin, &end, size);
    Ok((begin, ends))
}

pub(crate) fn entry_of(object: &Object) -> Result<u32, Error> {
    object.entry.ok_or_else(|| Error::internal("an object without a place in its tree"))
}

impl Context {
    /// Whether an index is compared, for which the ends of each object are needed.
    pub(crate) fn compares(&self) -> bool {
        matches!(self.duty, Some(Duty::Compare(_) | Duty::Carry(_)))
    }

    /// Whether the outputs are to be listed.
    pub(crate) fn notes(&self) -> bool {
        matches!(self.duty, Some(Duty::Note | Duty::Carry(_)))
    }

    /// Fails if an object is another stream than the index lists.
    pub(crate) fn compare(&self, object: &Object, ends: &StreamEnds) -> Result<(), Error> {
        let Some(Duty::Compare(expectations) | Duty::Carry(expectations)) = &self.duty else {
            return Ok(());
        };
        let (entry, identity) = (entry_of(object)?, ends.identity());
        let known = identity.as_ref().ok().copied();
        let compared = expectations.compare(entry, || identity);
        if let (Err(_), Some(identity)) = (&compared, known) {
            self.send(TaskEvent::Noted(entry, Noted::Other(identity)));
        }
        compared
    }

    /// Has the output of an object listed; `made` and `e_tag`: its ends and version, if this run has written it.
    pub(crate) async fn note_output(
        &self,
        object: &Object,
        ended: Ended,
        made: &StreamEnds,
        e_tag: Option<&str>,
        bound: &[u8],
    ) -> Result<(), Error> {
        let Some(format) = self.job.work.sealing().filter(|_| self.notes()) else { return Ok(()) };
        let seen = match ended {
            Ended::Done(_) => Seen::made(made, format)?.map(|seen| seen.in_version(e_tag)),
            // In place the index lists it already.
            Ended::Skipped if self.carries() && self.is_in_place => None,
            Ended::Skipped if self.carries() => return self.confirm_rekeyed(object, bound).await,
            Ended::Skipped => Some(self.find_output(object, bound).await?),
        };
        if let Some(seen) = seen {
            self.send(TaskEvent::Noted(entry_of(object)?, Noted::Seen(seen)));
        }
        Ok(())
    }

    /// An output that an earlier run made, if a key opens it; where a journal is written, if it was made of this version of the
    /// source.
    async fn find_output(&self, object: &Object, bound: &[u8]) -> Result<Seen, Error> {
        let Some(place) = &self.destination else { return Err(Error::NeitherFileNorFolder) };
        let path = output_path(&self.job, &object.path)?;
        let (output, outputs) = find_stored(place, path).await?;
        let attributes = match &self.inventory.listing.tree {
            Some(tree) => tree.entries.get(entry_of(object)?).attributes(),
            None => Attributes::of_object(false)?,
        };
        let found = match self.is_journaled() {
            true => self.recognise(&outputs, &output, bound, object).await,
            false => self.open(&outputs, &output, bound, Some(attributes)).await.map(|(seen, _)| seen),
        };
        // It is the output that is not as it should be.
        found.map_err(|error| error.at(&address(place, &output.path)))
    }

    /// Finds the key that opens an object's first segment. With the stream comes how many bytes of plaintext it has.
    async fn open(
        &self,
        inventory: &Inventory,
        object: &Object,
        bound: &[u8],
        attributes: Option<Attributes>,
    ) -> Result<(Seen, u64), Error> {
        let format = self.job.work.sealing().or(self.job.work.opening());
        let format = format.ok_or_else(|| Error::internal("an index without a format"))?.clone();
        let wanted = u64::from(format.largest_segment());
        let _share = self.share(2 * wanted.min(object.size)).await?;
        let (begin, ends) = read_ends(inventory, object, wanted).await?;
        let bound = bound.to_owned();
        let open = move |_: &mut _| {
            let begin = &begin[..begin.len().min(usize::try_from(wanted).unwrap_or(usize::MAX))];
            Seen::open(&format, &bound, begin, &ends, attributes)
        };
        let (seen, plaintext_len) = self.ciphers.run(open).await?;
        // Both of its ends were read in this version.
        Ok((seen.in_version(object.e_tag.as_deref()), plaintext_len))
    }
}

/// Reads the beginning and the end of an object for an index.
pub(crate) async fn look(context: &Context, object: &Object) -> Result<Ended, Error> {
    let ended = if context.compares() {
        let (_, ends) = read_ends(&context.inventory, object, StreamEnds::BEGIN as u64).await?;
        context.compare(object, &ends)?;
        0
    } else {
        let bound = bound_path(&context.job, &object.path)?;
        let (seen, plaintext_len) = context.open(&context.inventory, object, &bound, None).await?;
        context.send(TaskEvent::Noted(entry_of(object)?, Noted::Seen(seen)));
        plaintext_len
    };
    context.send(TaskEvent::Advanced(object.size));
    Ok(Ended::Done(ended))
}
