//! A bucket's listing, page by page: what is found goes into a short queue while the run empties it, so that memory is
//! that of some pages, however many objects there are.
//!
//! ```text
//! first page of the top level ─┬─ holds all of it: its folders are listed at once, LISTS at a time ─┐
//!  (1,000 names)               └─ there is more: one listing of everything below, in order ─────────┴─> queue ─> run
//! ```
//!
//! A request lists up to 1,000 objects, so many small folders would cost a request each: hence the second form.

use crate::faults::{Refusal, ask};
use crate::inventory::Object;
use crate::place::Bucket;
use crate::sieve::{Refused, Sieve};
use cipherloom::{
    Error,
    error::LocationFault,
    internal::{Selection, Unlisted, is_reserved},
};
use futures_util::future::join;
use futures_util::{StreamExt, stream};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::{ObjectMeta, ObjectStoreExt};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::mpsc::{Sender, channel};

/// Prefixes that are listed at once.
const LISTS: usize = 16;

/// Objects that are listed ahead of the run, beside a page for each prefix that is being listed.
pub(crate) const AHEAD: usize = 1_000;

/// What gives pages; the client of the store.
#[derive(Clone)]
pub(crate) struct Pager(pub(crate) Arc<dyn PaginatedListStore>);

impl fmt::Debug for Pager {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pager")
    }
}

/// What listing came upon.
#[derive(Debug)]
pub(crate) enum Found {
    Object(Object),
    Unlisted(Unlisted),
}

/// The receiver of the objects has gone.
struct Unwanted;

/// A prefix of a bucket, of which the first page is known.
#[derive(Debug)]
pub(crate) struct Pages {
    pub(crate) bucket: Arc<Bucket>,
    pub(crate) selection: Selection,
    first: PaginatedListResult,
    /// What the first page had beside.
    refused: Vec<Refused>,
    pub(crate) counts: Counts,
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) objects: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) excluded: AtomicU64,
    /// Objects of a tree's index.
    pub(crate) index: AtomicU64,
    /// Objects of the index of a tree inside, selected or not.
    pub(crate) nested_index: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) is_complete: AtomicBool,
}

impl Counts {
    /// Of the first page, the request alone.
    fn begin(&self) {
        for count in [&self.objects, &self.bytes, &self.excluded, &self.index, &self.nested_index] {
            count.store(0, Ordering::Relaxed);
        }
        self.requests.store(1, Ordering::Relaxed);
        self.is_complete.store(false, Ordering::Relaxed);
    }
}

impl Pages {
    /// Asks for the first page.
    ///
    /// # Errors
    /// If it cannot be had; [`Error::NothingThere`].
    pub(crate) async fn open(bucket: Arc<Bucket>, selection: Selection) -> Result<Pages, Error> {
        let options = PaginatedListOptions { delimiter: Some("/".into()), ..PaginatedListOptions::default() };
        let first = list(&bucket, Some(&top(&bucket)), options).await;
        let (first, refused) = first.map_err(|refusal| refusal.of("list the bucket"))?;
        if first.result.objects.is_empty()
            && first.result.common_prefixes.is_empty()
            && refused.is_empty()
            && first.page_token.is_none()
        {
            return Err(Error::NothingThere);
        }
        Ok(Pages { bucket, selection, first, refused, counts: Counts::default() })
    }

    /// Gives all that is found, one by one.
    pub(crate) async fn each(&self, mut take: impl FnMut(Found)) {
        let (sender, mut found) = channel(AHEAD);
        let take_all = async {
            while let Some(found) = found.recv().await {
                take(found);
            }
        };
        join(self.feed(sender), take_all).await;
    }

    /// Whether an object of this path takes part and is there.
    pub(crate) async fn holds(&self, path: &str) -> bool {
        let Ok(key) = self.bucket.key(path) else { return false };
        self.selection.takes(Path::new(path)) && self.bucket.store.head(&key).await.is_ok()
    }

    /// Sends everything below, until the receiver has gone.
    pub(crate) async fn feed(&self, found: Sender<Found>) {
        self.counts.begin();
        let is_heard = if self.first.page_token.is_some() {
            self.below(&top(&self.bucket), &found).await.is_ok()
        } else {
            self.at_once(&found).await.is_ok()
        };
        self.counts.is_complete.store(is_heard, Ordering::Relaxed);
    }

    /// The top level's objects, then its folders at once.
    async fn at_once(&self, found: &Sender<Found>) -> Result<(), Unwanted> {
        let folders = &self.first.result.common_prefixes;
        for meta in &self.first.result.objects {
            let is_marker = meta.size == 0 && folders.contains(&meta.location);
            if !is_marker && meta.location != self.bucket.prefix {
                self.offer(meta.clone(), found).await?;
            }
        }
        let mut folders: Vec<String> = folders.iter().map(|folder| format!("{folder}/")).collect();
        for refused in &self.refused {
            if refused.is_prefix {
                // Each key below is refused by its own name.
                folders.push(refused.key.clone());
            } else {
                self.refuse(refused, found).await?;
            }
        }
        let below = stream::iter(folders).map(|folder| async move { self.below(&folder, found).await });
        let mut below = below.buffer_unordered(LISTS);
        while let Some(told) = below.next().await {
            told?;
        }
        Ok(())
    }

    /// Everything below a prefix, in order.
    async fn below(&self, prefix: &str, found: &Sender<Found>) -> Result<(), Unwanted> {
        let (mut markers, mut token) = (Markers::default(), None);
        loop {
            let options = PaginatedListOptions { page_token: token, ..PaginatedListOptions::default() };
            self.counts.requests.fetch_add(1, Ordering::Relaxed);
            let wanted = Some(prefix).filter(|prefix| !prefix.is_empty());
            match list(&self.bucket, wanted, options).await {
                Ok((page, refused)) => {
                    for refused in &refused {
                        self.refuse(refused, found).await?;
                    }
                    for meta in page.result.objects {
                        if meta.location.as_ref() == prefix.trim_end_matches('/') {
                            continue;
                        }
                        for meta in markers.pass(meta) {
                            self.offer(meta, found).await?;
                        }
                    }
                    token = page.page_token;
                }
                Err(refusal) => {
                    let unlisted = Unlisted {
                        path: self.bucket.address(&prefix.trim_end_matches('/').into()),
                        error: refusal.of("list what is below this prefix"),
                    };
                    found.send(Found::Unlisted(unlisted)).await.map_err(|_| Unwanted)?;
                    token = None;
                }
            }
            if token.is_none() {
                for meta in markers.held {
                    self.offer(meta, found).await?;
                }
                return Ok(());
            }
        }
    }

    /// Tells of a key that cannot be processed, if it takes part.
    async fn refuse(&self, refused: &Refused, found: &Sender<Found>) -> Result<(), Unwanted> {
        let top = top(&self.bucket);
        if !self.selection.takes(Path::new(refused.key.strip_prefix(&top).unwrap_or(&refused.key))) {
            self.counts.excluded.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        let reason = format!("{}, which cannot be processed", refused.reason);
        let error = LocationFault::Unusable { reason }.into();
        let unlisted = Unlisted { path: self.bucket.raw_address(&refused.key), error };
        found.send(Found::Unlisted(unlisted)).await.map_err(|_| Unwanted)
    }

    /// Tells of an object, if it takes part.
    async fn offer(&self, meta: ObjectMeta, found: &Sender<Found>) -> Result<(), Unwanted> {
        let Some(path) = self.bucket.relative(&meta.location) else { return Ok(()) };
        let is_nested = path.split_once('/').is_some_and(|(_, below)| is_of_index(below));
        if is_nested && !self.selection.leaves_out_above(Path::new(&path)) {
            self.counts.nested_index.fetch_add(1, Ordering::Relaxed);
        }
        if !self.selection.takes(Path::new(&path)) {
            self.counts.excluded.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        if is_of_index(&path) {
            self.counts.index.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        self.counts.objects.fetch_add(1, Ordering::Relaxed);
        self.counts.bytes.fetch_add(meta.size, Ordering::Relaxed);
        let written = Some(meta.last_modified.timestamp());
        let object = Object { written, ..Object::new(path, meta.size, meta.e_tag) };
        found.send(Found::Object(object)).await.map_err(|_| Unwanted)
    }
}

/// Whether this path below a place belongs to the index of a tree there. Indexes are of folders; one that was copied to a store
/// is no content.
pub(crate) fn is_of_index(path: &str) -> bool {
    path.split('/').any(|name| is_reserved(name.as_ref()))
}

/// Asks for a page, and takes out what the client would refuse all of it for.
pub(crate) async fn list(
    bucket: &Bucket,
    prefix: Option<&str>,
    mut options: PaginatedListOptions,
) -> Result<(PaginatedListResult, Vec<Refused>), Refusal> {
    let sieve = Sieve::default();
    options.extensions.insert(sieve.clone());
    let page = ask(bucket.pager.0.list_paginated(prefix, options)).await?;
    Ok((page, sieve.refused()))
}

/// What all keys at the place begin with.
pub(crate) fn top(bucket: &Bucket) -> String {
    match bucket.prefix.as_ref() {
        "" => String::new(),
        prefix => format!("{prefix}/"),
    }
}

/// Empty objects called like a folder, which some programs put where they want one to be seen. Keys come in order, so
/// such a one is held back until it is known whether anything lies below it.
#[derive(Default)]
struct Markers {
    /// Each one's key begins with that of the one before.
    held: Vec<ObjectMeta>,
}

impl Markers {
    /// Gives what is known to be no marker, in order.
    fn pass(&mut self, meta: ObjectMeta) -> Vec<ObjectMeta> {
        let key = meta.location.as_ref().as_bytes();
        let mut passed = Vec::new();
        self.held.retain(|held| {
            let name = held.location.as_ref().as_bytes();
            match key.strip_prefix(name).map(<[u8]>::first) {
                Some(Some(b'/')) => false,
                Some(Some(byte)) if *byte < b'/' => true,
                _ => {
                    passed.push(held.clone());
                    false
                }
            }
        });
        if meta.size == 0 {
            self.held.push(meta);
        } else {
            passed.push(meta);
        }
        passed
    }
}

#[cfg(test)]
mod tests;
