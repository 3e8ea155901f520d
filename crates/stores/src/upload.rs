//! A large object in parts, which no one sees before all of them are there.
//!
//! ```text
//! S3          parts ─> completion with If-None-Match: * or If-Match     (conditions.rs)
//! GCS, Azure  parts ─> a temporary key ─> copy if not exists ─> delete the temporary one
//!             parts ─> the final key, where replacing is allowed        (completion is atomic)
//! ```

use crate::bucket::Bucket;
use crate::conditions::Conditions;
use crate::existing;
use crate::faults;
use crate::provenance::{Provenance, version};
use crate::sink::Condition;
use bytes::Bytes;
use cipherloom::Error;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use object_store::aws::AmazonS3;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{
    CopyMode, CopyOptions, Error as Fault, MultipartUpload, ObjectStoreExt, PutMultipartOptions,
};
use std::sync::{Arc, Mutex, PoisonError};

/// A multipart upload on its way.
pub(crate) struct Upload {
    bucket: Arc<Bucket>,
    key: Key,
    condition: Condition,
    way: Way,
}

enum Way {
    Conditional { store: Arc<AmazonS3>, conditions: Conditions, id: String, parts: Parts, next: usize },
    Staged { upload: Box<dyn MultipartUpload>, staging: Option<Key> },
}

/// Part numbers and what the store answered to each, in the order of their arrival.
type Parts = Arc<Mutex<Vec<(usize, PartId)>>>;

impl Upload {
    pub(crate) async fn begin(
        bucket: &Arc<Bucket>,
        key: &Key,
        origin: &Provenance,
        condition: Condition,
    ) -> Result<Upload, Error> {
        let refused = |fault| faults::of("begin the upload", &fault);
        let options =
            PutMultipartOptions { attributes: origin.attributes(), ..PutMultipartOptions::default() };
        let way = if let Some((store, conditions)) = &bucket.s3 {
            let id = store.create_multipart_opts(key, options).await.map_err(refused)?;
            match &condition {
                Condition::Create => conditions.create(&id),
                Condition::Replace(e_tag) => conditions.replace(&id, e_tag),
                Condition::Overwrite => {}
            }
            let (store, conditions) = (Arc::clone(store), conditions.clone());
            Way::Conditional { store, conditions, id, parts: Parts::default(), next: 0 }
        } else {
            let staging = match condition {
                Condition::Create => Some(staging_key(bucket)?),
                Condition::Replace(_) | Condition::Overwrite => None,
            };
            let to = staging.as_ref().unwrap_or(key);
            let upload = bucket.store.put_multipart_opts(to, options).await.map_err(refused)?;
            Way::Staged { upload, staging }
        };
        Ok(Upload { bucket: Arc::clone(bucket), key: key.clone(), condition, way })
    }

    /// Sends the next part. The order of the calls is that of the parts; the futures may run at the same time.
    pub(crate) fn part(&mut self, bytes: Bytes) -> BoxFuture<'static, Result<(), Error>> {
        let refused = |fault| faults::of("write a part of the output", &fault);
        match &mut self.way {
            Way::Conditional { store, id, parts, next, .. } => {
                let number = *next;
                *next += 1;
                let (store, key, id, parts) =
                    (Arc::clone(store), self.key.clone(), id.clone(), Arc::clone(parts));
                async move {
                    let part = store.put_part(&key, &id, number, bytes.into()).await.map_err(refused)?;
                    parts.lock().unwrap_or_else(PoisonError::into_inner).push((number, part));
                    Ok(())
                }
                .boxed()
            }
            Way::Staged { upload, .. } => {
                upload.put_part(bytes.into()).map(move |sent| sent.map_err(refused)).boxed()
            }
        }
    }

    /// Makes the whole object appear under its key, if the condition holds.
    pub(crate) async fn complete(&mut self) -> Result<(), Fault> {
        match &mut self.way {
            Way::Conditional { store, conditions, id, parts, .. } => {
                // A store that knows no conditions here would replace without a word: look, at the last moment.
                if self.condition == Condition::Create && self.bucket.store.head(&self.key).await.is_ok() {
                    return Err(Fault::AlreadyExists {
                        path: self.key.to_string(),
                        source: "an object bears the key".into(),
                    });
                }
                let mut parts = std::mem::take(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner));
                parts.sort_by_key(|(number, _)| *number);
                let parts = parts.into_iter().map(|(_, part)| part).collect();
                store.complete_multipart(&self.key, id, parts).await?;
                conditions.forget(id);
                Ok(())
            }
            Way::Staged { upload, staging } => {
                // Azure quotes ETags in headers and not in listings.
                if let Condition::Replace(e_tag) = &self.condition
                    && self.bucket.store.head(&self.key).await?.e_tag.as_deref().map(version)
                        != Some(version(e_tag))
                {
                    let source = "the object is another one now".into();
                    return Err(Fault::Precondition { path: self.key.to_string(), source });
                }
                upload.complete().await?;
                if let Some(staging) = staging {
                    let options = CopyOptions::new().with_mode(CopyMode::Create);
                    let copied = self.bucket.store.copy_opts(staging, &self.key, options).await;
                    // A temporary object that stays is a nuisance; the output is what counts.
                    let _ = self.bucket.store.delete(staging).await;
                    copied?;
                }
                Ok(())
            }
        }
    }

    /// Gives up: the store forgets the parts.
    pub(crate) async fn abort(mut self) {
        // The store drops parts by its own rules where this does not reach it.
        match &mut self.way {
            Way::Conditional { store, conditions, id, .. } => {
                conditions.forget(id);
                let _ = store.abort_multipart(&self.key, id).await;
            }
            Way::Staged { upload, .. } => {
                let _ = upload.abort().await;
            }
        }
    }

    /// What stands at the key, after a completion whose end is not known.
    pub(crate) async fn look(&mut self) -> Result<Option<existing::Found>, Error> {
        existing::look(&self.bucket, &self.key).await
    }
}

/// Beside the outputs: a bucket's rules go by prefix.
fn staging_key(bucket: &Bucket) -> Result<Key, Error> {
    bucket.key(&format!(".cipherloom-{}", crate::run::random()?))
}
