//! A prefix of a bucket, and the client that reaches it. Credentials, endpoint and region come from the environment that
//! the store's own tools read (`AWS_…`, `GOOGLE_…`, `AZURE_…`).

use crate::conditions::Conditions;
use crate::deadlines;
use crate::location::Scheme;
use crate::pages::Pager;
use crate::wire::Wire;
use cipherloom::Error;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use std::path::PathBuf;
use std::sync::Arc;

/// How a store is reached.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// How often a request that the store could not answer (5xx, "slow down", a lost connection) is repeated, with
    /// waits that double.
    pub retries: usize,
}

impl Default for Access {
    fn default() -> Access {
        Access { retries: 10 }
    }
}

/// A prefix of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    pub(crate) scheme: Scheme,
    pub(crate) name: String,
    pub(crate) prefix: Key,
    pub(crate) store: Arc<dyn ObjectStore>,
    /// The same client, asked for its listing page by page.
    pub(crate) pager: Pager,
    /// What S3 offers beyond: multipart uploads with a condition.
    pub(crate) s3: Option<(Arc<AmazonS3>, Conditions)>,
}

impl Bucket {
    pub(crate) fn open(scheme: Scheme, name: &str, prefix: Key, access: Access) -> Result<Bucket, Error> {
        let retry = deadlines::repeats(access.retries);
        let refused = |error| crate::faults::of("reach the store", &error);
        let mut s3 = None;
        let (store, pager): (Arc<dyn ObjectStore>, Pager) = match scheme {
            Scheme::S3 => {
                let conditions = Conditions::default();
                let builder = AmazonS3Builder::from_env().with_bucket_name(name).with_retry(retry);
                let store = builder.with_http_connector(conditions.clone()).build().map_err(refused)?;
                let store = Arc::new(store);
                s3 = Some((store.clone(), conditions));
                (store.clone(), Pager(store))
            }
            Scheme::Gcs => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name).with_retry(retry);
                let store = Arc::new(builder.with_http_connector(Wire).build().map_err(refused)?);
                (store.clone(), Pager(store))
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(name).with_retry(retry);
                let store = Arc::new(builder.with_http_connector(Wire).build().map_err(refused)?);
                (store.clone(), Pager(store))
            }
        };
        Ok(Bucket { scheme, name: name.to_owned(), prefix, store, pager, s3 })
    }

    /// The key of what has this path below the prefix.
    ///
    /// # Errors
    /// [`Error::Location`] if the path cannot be a key's.
    pub(crate) fn key(&self, relative: &str) -> Result<Key, Error> {
        let whole = match (self.prefix.as_ref(), relative) {
            ("", relative) => relative.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, relative) => format!("{prefix}/{relative}"),
        };
        Key::parse(&whole).map_err(|_| Error::Location {
            reason: format!("{relative:?} cannot be a key: it has control characters, or empty parts"),
        })
    }

    /// The address of a key.
    pub(crate) fn address(&self, key: &Key) -> PathBuf {
        self.raw_address(key.as_ref())
    }

    /// The address of a key as the store has it, also of one that no path can stand for.
    pub(crate) fn raw_address(&self, key: &str) -> PathBuf {
        format!("{}://{}/{key}", self.scheme.name(), self.name).into()
    }

    /// Fails if nothing gives credentials for the store: once, and not for each object. Says nothing of any other trouble.
    pub(crate) async fn check_credentials(&self) -> Result<(), Error> {
        match self.store.head(&self.prefix).await {
            Err(fault) if crate::faults::is_without_credentials(&fault) => {
                Err(crate::faults::of("reach the store", &fault))
            }
            _ => Ok(()),
        }
    }
}
