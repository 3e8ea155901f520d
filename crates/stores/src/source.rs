//! Reading a source, all of it or a range, in the version that was listed: what changed since fails.

use crate::cipher::blocking;
use crate::faults;
use crate::listing::Object;
use crate::place::{Kind, Place};
use bytes::Bytes;
use cipherloom::{Error, SourceFile, Tree};
use object_store::{Attributes, GetOptions, GetRange};
use std::ops::Range;
use std::sync::Arc;

/// Where objects are read.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) place: Place,
    /// The files, if it is a folder.
    pub(crate) tree: Option<Arc<Tree>>,
}

/// What was read, and what the store told with it; of a file, nothing.
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) attributes: Attributes,
    /// The number of this version, by which Google Cloud Storage compares: its generation.
    pub(crate) generation: Option<String>,
}

/// Reads `range`.
pub(crate) async fn read(home: &Home, object: &Object, range: Range<u64>) -> Result<Read, Error> {
    match &home.place.0 {
        Kind::Folder(_) => {
            let (tree, entry) = entry(home, object)?;
            let bytes = blocking(move || {
                let len = usize::try_from(range.end - range.start).map_err(|_| Error::SourceChanged)?;
                let file = SourceFile::open(&tree, &tree.entries[entry])?;
                let bytes = file.read(range.start, len)?;
                // Who reads all of it at once asks no more.
                file.check_unchanged()?;
                Ok(bytes)
            });
            Ok(Read { bytes: bytes.await?.into(), attributes: Attributes::default(), generation: None })
        }
        Kind::Bucket { bucket, .. } => {
            let key = bucket.key(&object.path)?;
            // An empty range cannot be asked for.
            let is_whole = range == (0..object.size);
            let options = GetOptions {
                if_match: object.e_tag.clone(),
                range: (!is_whole).then(|| GetRange::Bounded(range.clone())),
                ..GetOptions::default()
            };
            let refused = |fault: object_store::Error| {
                if faults::is_condition(&fault) {
                    Error::SourceChanged
                } else {
                    faults::of("read the object", &fault)
                }
            };
            let found = bucket.store.get_opts(&key, options).await.map_err(refused)?;
            if found.meta.size != object.size {
                return Err(Error::SourceChanged);
            }
            let (attributes, generation) = (found.attributes.clone(), found.meta.version.clone());
            let bytes = found.bytes().await.map_err(refused)?;
            match (bytes.len() as u64).cmp(&(range.end - range.start)) {
                std::cmp::Ordering::Less => Err(Error::SourceShrank),
                std::cmp::Ordering::Equal => Ok(Read { bytes, attributes, generation }),
                std::cmp::Ordering::Greater => Err(Error::SourceChanged),
            }
        }
    }
}

/// When all is read: whether the file is still what was listed. A bucket's object was asked for in its version each time.
pub(crate) async fn check_unchanged(home: &Home, object: &Object) -> Result<(), Error> {
    if home.tree.is_none() {
        return Ok(());
    }
    let (tree, entry) = entry(home, object)?;
    blocking(move || SourceFile::open(&tree, &tree.entries[entry])?.check_unchanged()).await
}

fn entry(home: &Home, object: &Object) -> Result<(Arc<Tree>, usize), Error> {
    let tree = home.tree.as_ref().map(Arc::clone);
    tree.zip(object.entry.map(|entry| entry as usize)).ok_or(Error::NeitherFileNorFolder)
}
