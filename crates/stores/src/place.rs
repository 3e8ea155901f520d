//! Where a tree is, or goes: a folder, or a prefix of a bucket.

use crate::bucket::{Access, Bucket};
use crate::location::Location;
use cipherloom::Error;
use object_store::path::Path as Key;
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
    /// [`Error::Location`] if the address makes no sense; [`Error::Store`] if the environment's settings make none.
    pub fn open(address: &Path, access: Access) -> Result<Place, Error> {
        Ok(Place(match Location::parse(address)? {
            Location::Folder(path) => Kind::Folder(path),
            Location::Bucket { scheme, bucket, key, is_prefix } => {
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

    /// Like cp: a single source goes to the object (or file) of that name, unless the destination is a folder, ends in
    /// `/` or is a whole bucket. Gives the place that holds the output, and the output's name if this decides it.
    #[must_use]
    pub fn for_single(self) -> (Place, Option<String>) {
        match self.0 {
            Kind::Bucket { bucket, is_prefix: false } => {
                let mut parts: Vec<_> = bucket.prefix.parts().collect();
                let name = parts.pop().map(|part| part.as_ref().to_owned());
                let bucket = Bucket { prefix: Key::from_iter(parts), ..Bucket::clone(&bucket) };
                (Place(Kind::Bucket { bucket: Arc::new(bucket), is_prefix: true }), name)
            }
            Kind::Folder(path) if !path.is_dir() && !ends_in_separator(&path) => {
                let name = path.file_name().and_then(|name| Some(name.to_str()?.to_owned()));
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                (Place(Kind::Folder(parent.unwrap_or(Path::new(".")).to_owned())), name)
            }
            kind => (Place(kind), None),
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

fn ends_in_separator(path: &Path) -> bool {
    path.to_string_lossy().ends_with(std::path::is_separator)
}
