//! The index of a tree in a bucket, as objects: the library decides what is in them, and this reads and writes them.
//!
//! Parts are created and never changed. The root, and the one before, are replaced on condition that they are still what this run
//! has read: of two runs that write the index at once, the second one fails, and nothing of both is mixed.

use crate::existing::Provenance;
use crate::faults::ask;
use crate::pages;
use crate::place::{Bucket, Kind, Place};
use crate::run::random;
use crate::runtime::{Stop, runtime};
use crate::sink::{Condition, Target};
use bytes::Bytes;
use cipherloom::{
    Error, IfExists, Observer,
    error::IndexFault,
    internal::{IndexStore, engine::lock},
};
use object_store::list::PaginatedListOptions;
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStoreExt};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What the library calls the newest generation. The key of the one before begins with it.
const ROOT: &str = ".cipherloom/index/root";

impl Place {
    /// The index of the tree at this place, for one run or listing; `None` if the place is a folder, whose index the library
    /// reads. The store is not asked yet.
    #[must_use]
    pub fn index(&self) -> Option<Arc<dyn IndexStore>> {
        let Kind::Bucket { bucket, .. } = &self.0 else { return None };
        Some(Arc::new(BucketIndex::of(bucket)))
    }

    /// Whether the tree at this place of a store has an index, as far as that can be seen without its key. Always false for a
    /// folder.
    ///
    /// The store lists the roots for it: whoever may list a prefix but not the bucket gets a denial when asking for an object that
    /// does not exist.
    ///
    /// # Errors
    /// If the store cannot be asked; [`Error::Stopped`].
    pub fn has_index(&self, observer: &dyn Observer) -> Result<bool, Error> {
        let Kind::Bucket { bucket, .. } = &self.0 else { return Ok(false) };
        let root = bucket.key(ROOT)?;
        // The key of the root before begins with that of the root. Azure's client leaves out the object whose key is the prefix.
        let prefix = root.as_ref().strip_suffix('t').unwrap_or(root.as_ref());
        let listed = pages::list(bucket, Some(prefix), PaginatedListOptions::default());
        match Stop::new(observer).block_on(listed)? {
            Ok((page, _)) => Ok(!page.result.objects.is_empty()),
            Err(refusal) => Err(refusal.of("look for an index").at(&bucket.address(&root))),
        }
    }
}

/// An object as it was found.
#[derive(Debug, Clone)]
struct Version {
    e_tag: String,
    /// By which Google Cloud Storage compares.
    generation: Option<String>,
}

#[derive(Debug)]
pub(crate) struct BucketIndex {
    bucket: Arc<Bucket>,
    /// What was found last, by path; `None`: nothing was there.
    versions: Mutex<HashMap<String, Option<Version>>>,
}

impl BucketIndex {
    pub(crate) fn of(bucket: &Arc<Bucket>) -> BucketIndex {
        BucketIndex { bucket: Arc::clone(bucket), versions: Mutex::default() }
    }

    /// Asks for an object, and remembers its version.
    async fn get(&self, path: &str, head: bool) -> Result<Option<GetResult>, Error> {
        let key = self.bucket.key(path)?;
        let options = GetOptions { head, ..GetOptions::default() };
        let found = match ask(self.bucket.store.get_opts(&key, options)).await {
            Ok(found) => Some(found),
            Err(refusal) if refusal.is_missing() => None,
            Err(refusal) => return Err(refusal.of("read the index")),
        };
        let version = found.as_ref().map(|found| {
            let ObjectMeta { e_tag, version, .. } = &found.meta;
            Version { e_tag: e_tag.clone().unwrap_or_default(), generation: version.clone() }
        });
        lock(&self.versions).insert(path.to_owned(), version);
        Ok(found)
    }

    async fn put(
        &self,
        path: &str,
        bytes: &[u8],
        condition: Condition,
        generation: Option<String>,
    ) -> Result<(), Error> {
        let target = Target::Object {
            bucket: Arc::clone(&self.bucket),
            key: self.bucket.key(path)?,
            // By its random mark, a write is known whose answer was lost.
            origin: Provenance { source: "index".to_owned(), key: None, run: random()? },
            condition,
            if_exists: IfExists::Fail,
        };
        target.put(Bytes::copy_from_slice(bytes), generation).await.map(drop)
    }
}

impl IndexStore for BucketIndex {
    fn address(&self, path: &str) -> PathBuf {
        match self.bucket.key(path) {
            Ok(key) => self.bucket.address(&key),
            Err(_) => self.bucket.raw_address(path),
        }
    }

    fn look(&self, path: &str) -> Result<bool, Error> {
        Ok(runtime()?.block_on(self.get(path, true))?.is_some())
    }

    fn read(&self, path: &str, limit: u64) -> Result<Option<Vec<u8>>, Error> {
        runtime()?.block_on(async {
            let Some(found) = self.get(path, false).await? else { return Ok(None) };
            if found.meta.size > limit {
                return Err(IndexFault::Damaged("a file is longer than any index has").into());
            }
            let bytes = ask(found.bytes()).await.map_err(|refusal| refusal.of("read the index"))?;
            Ok(Some(bytes.to_vec()))
        })
    }

    fn create(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        runtime()?.block_on(self.put(path, bytes, Condition::Create, None))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> Result<(), Error> {
        let found = lock(&self.versions).get(path).cloned().flatten();
        let (condition, generation) = match found {
            None => (Condition::Create, None),
            Some(Version { e_tag, generation, .. }) => (Condition::Replace(e_tag), generation),
        };
        match runtime()?.block_on(self.put(path, bytes, condition, generation)) {
            Err(Error::SourceChanged | Error::OutputExists) => Err(IndexFault::Overtaken.into()),
            ended => ended,
        }
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let below = format!("{}/", self.bucket.key(folder)?);
        let (mut paths, mut token) = (Vec::new(), None);
        loop {
            let options = PaginatedListOptions { page_token: token, ..PaginatedListOptions::default() };
            let listed = runtime()?.block_on(pages::list(&self.bucket, Some(&below), options));
            // A key that is no path is none of an index.
            let (page, _) = listed.map_err(|refusal| refusal.of("list the index"))?;
            paths.extend(page.result.objects.iter().filter_map(|meta| self.bucket.relative(&meta.location)));
            token = page.page_token;
            if token.is_none() {
                return Ok(paths);
            }
        }
    }

    fn remove(&self, path: &str) -> Result<(), Error> {
        let key = self.bucket.key(path)?;
        match runtime()?.block_on(ask(self.bucket.store.delete(&key))) {
            Err(refusal) if !refusal.is_missing() => Err(refusal.of("remove the object")),
            _ => Ok(()),
        }
    }
}
