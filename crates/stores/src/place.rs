//! Where a tree is, or goes: a folder, or a prefix of a bucket, with the client that reaches it. Credentials, endpoint and
//! region come from the environment that the store's own tools read (`AWS_…`, `GOOGLE_…`, `AZURE_…`).

use crate::faults::{Refusal, ask};
use crate::pages::Pager;
use crate::wire::{Wire, repeats};
use cipherloom::internal::location::{Location, Scheme, StoreAddress};
use cipherloom::{Error, error::LocationFault};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::list::PaginatedListStore;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder, or a prefix of a bucket.
#[derive(Debug, Clone)]
pub struct Place(pub(crate) Kind);

#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Folder(PathBuf),
    Bucket {
        bucket: Arc<Bucket>,
        /// Whether the address ended in `/`, and so names no single object.
        is_prefix: bool,
    },
}

impl Place {
    /// The place at `address`, a path or one of `s3://bucket/prefix`, `gs://…`, `az://…`, `file:///…`. Asks no store yet.
    ///
    /// # Errors
    /// [`Error::Location`] if the address is malformed; [`Error::Store`] if the environment's settings are.
    pub fn open(address: &Path, access: Access) -> Result<Place, Error> {
        Ok(Place(match Location::parse(address)? {
            Location::Path(path) => Kind::Folder(path),
            Location::StandardStream => Kind::Folder(address.to_owned()),
            Location::Store(store) => {
                let is_prefix = store.is_prefix();
                let StoreAddress { scheme, bucket, key } = store;
                let key = Key::parse(&key)
                    .map_err(|error| LocationFault::Unusable { reason: error.to_string() })
                    .map_err(|fault| Error::Location(fault).at(address))?;
                Kind::Bucket { bucket: Arc::new(Bucket::open(scheme, &bucket, key, access)?), is_prefix }
            }
        }))
    }

    /// The folder, if it is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        match &self.0 {
            Kind::Folder(path) => Some(path),
            Kind::Bucket { .. } => None,
        }
    }

    /// The place as a path or address that a user can give.
    #[must_use]
    pub fn address(&self) -> PathBuf {
        match &self.0 {
            Kind::Folder(path) => path.clone(),
            Kind::Bucket { bucket, .. } => bucket.address(&bucket.prefix),
        }
    }

    /// Refuses source and destination that contain each other: outputs would become inputs, or replace them. True if they
    /// are the same place.
    ///
    /// # Errors
    /// [`Error::DestinationInsideSource`], [`Error::SourceInsideDestination`].
    pub(crate) fn meets(&self, destination: &Place) -> Result<bool, Error> {
        let (Kind::Bucket { bucket: source, .. }, Kind::Bucket { bucket: target, .. }) =
            (&self.0, &destination.0)
        else {
            return Ok(false);
        };
        if source.scheme != target.scheme || source.name != target.name {
            return Ok(false);
        }
        if source.prefix == target.prefix {
            return Ok(true);
        }
        if target.prefix.prefix_matches(&source.prefix) {
            return Err(Error::DestinationInsideSource);
        }
        if source.prefix.prefix_matches(&target.prefix) {
            return Err(Error::SourceInsideDestination);
        }
        Ok(false)
    }
}

/// How a store is reached.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
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
}

/// A client in both of its roles.
fn shared<S: ObjectStore + PaginatedListStore>(
    store: object_store::Result<S>,
) -> object_store::Result<(Arc<dyn ObjectStore>, Pager)> {
    let store = Arc::new(store?);
    Ok((store.clone(), Pager(store)))
}

impl Bucket {
    pub(crate) fn open(scheme: Scheme, name: &str, prefix: Key, access: Access) -> Result<Bucket, Error> {
        let retry = repeats(access.retries);
        let refused = |error| Refusal::from(error).of("reach the store");
        let built = match scheme {
            Scheme::S3 => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(name).with_retry(retry);
                // Its request takes no condition, and not every store has it.
                let builder = builder.with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
                shared(builder.with_http_connector(Wire).build())
            }
            Scheme::Gcs => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name).with_retry(retry);
                shared(builder.with_http_connector(Wire).build())
            }
            Scheme::Azure => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(name).with_retry(retry);
                shared(builder.with_http_connector(Wire).build())
            }
        };
        let (store, pager) = built.map_err(refused)?;
        Ok(Bucket { scheme, name: name.to_owned(), prefix, store, pager })
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
        Key::parse(&whole).map_err(|_| {
            Error::Location(LocationFault::Unusable {
                reason: format!("{relative:?} cannot be a key: it has control characters, or empty parts"),
            })
        })
    }

    /// The path of a key below the prefix; `None` if it is not below it.
    pub(crate) fn relative(&self, key: &Key) -> Option<String> {
        let parts = key.prefix_match(&self.prefix)?;
        Some(parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/"))
    }

    /// The address of a key.
    pub(crate) fn address(&self, key: &Key) -> PathBuf {
        self.raw_address(key.as_ref())
    }

    /// The address of a key as the store has it, even if the key cannot be a path.
    pub(crate) fn raw_address(&self, key: &str) -> PathBuf {
        format!("{}://{}/{key}", self.scheme.name(), self.name).into()
    }

    /// Fails if nothing gives credentials for the store: once, and not for each object. Ignores every other error.
    pub(crate) async fn check_credentials(&self) -> Result<(), Error> {
        match ask(self.store.head(&self.prefix)).await {
            Err(refusal) if refusal.is_without_credentials() => Err(refusal.of("reach the store")),
            _ => Ok(()),
        }
    }
}
