//! Reading a source, all of it or a range, in the version that was listed: what changed since fails.

use crate::faults::{Refusal, ask};
use crate::inventory::{Inventory, Object};
use crate::place::Kind;
use crate::runtime::blocking;
use bytes::Bytes;
use cipherloom::{
    Error,
    internal::{Pieces, SourceFile, Tree, Work},
};
use object_store::{Attributes, GetOptions, GetRange};
use std::ops::Range;
use std::sync::Arc;

/// Bytes that were read, and what the store says of the object; of a file, nothing.
pub(crate) struct Read {
    pub(crate) bytes: Bytes,
    pub(crate) attributes: Attributes,
    /// The number of this version, by which Google Cloud Storage compares: its generation.
    pub(crate) generation: Option<String>,
}

/// Reads `range`.
pub(crate) async fn read(inventory: &Inventory, object: &Object, range: Range<u64>) -> Result<Read, Error> {
    match &inventory.place.0 {
        Kind::Folder(_) => {
            let (tree, entry) = entry(inventory, object)?;
            let bytes = blocking(move || {
                let len = usize::try_from(range.end - range.start).map_err(|_| Error::SourceChanged)?;
                let file = SourceFile::open(&tree, tree.entries.get(entry))?;
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
            let refused = |refusal: Refusal| match refusal.is_condition() {
                true => Error::SourceChanged,
                false => refusal.of("read the object"),
            };
            let found = ask(bucket.store.get_opts(&key, options)).await.map_err(refused)?;
            if found.meta.size != object.size {
                return Err(Error::SourceChanged);
            }
            let (attributes, generation) = (found.attributes.clone(), found.meta.version.clone());
            let bytes = ask(found.bytes()).await.map_err(refused)?;
            match (bytes.len() as u64).cmp(&(range.end - range.start)) {
                std::cmp::Ordering::Less => Err(Error::SourceShrank),
                std::cmp::Ordering::Equal => Ok(Read { bytes, attributes, generation }),
                std::cmp::Ordering::Greater => Err(Error::SourceChanged),
            }
        }
    }
}

/// Reads the beginning that [`Pieces::begin`] wants to see, of which `head` is there. age's headers have any length.
pub(crate) async fn read_head(
    inventory: &Inventory,
    object: &Object,
    work: &Work,
    mut head: Bytes,
) -> Result<Bytes, Error> {
    loop {
        let wanted = (Pieces::head_len(work, &head) as u64).min(object.size);
        if wanted <= head.len() as u64 {
            return Ok(head);
        }
        head = read(inventory, object, 0..wanted).await?.bytes;
    }
}

/// When all is read: whether the file is still what was listed. A bucket's object was asked for in its version each time.
pub(crate) async fn check_unchanged(inventory: &Inventory, object: &Object) -> Result<(), Error> {
    if inventory.place.folder().is_none() {
        return Ok(());
    }
    let (tree, entry) = entry(inventory, object)?;
    blocking(move || SourceFile::open(&tree, tree.entries.get(entry))?.check_unchanged()).await
}

fn entry(inventory: &Inventory, object: &Object) -> Result<(Arc<Tree>, u32), Error> {
    let tree = inventory.listing.tree.clone();
    tree.zip(object.entry).ok_or(Error::NeitherFileNorFolder)
}
