//! What there is at a place, listed once, with versions: whatever is read later is asked for in that version.

use crate::bucket::Bucket;
use crate::faults;
use crate::place::{Kind, Place};
use crate::runtime::runtime;
use cipherloom::{Entry, Error, PassedOver, Selection, Tree, Unlisted};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStoreExt};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// Prefixes that are listed at once.
const LISTS: usize = 16;

/// An object (or file) to process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its path below the listing's place, `/` between folders.
    pub path: String,
    /// Its size in bytes when listed.
    pub size: u64,
    /// Its version: the store's ETag; size and time of a file.
    pub e_tag: Option<String>,
    /// Its place in the tree, if it is a file.
    pub(crate) entry: Option<u32>,
}

impl Object {
    /// An object that was listed before, perhaps by another process.
    #[must_use]
    pub fn new(path: String, size: u64, e_tag: Option<String>) -> Object {
        Object { path, size, e_tag, entry: None }
    }
}

/// The objects at a place.
#[derive(Debug)]
pub struct Listing {
    pub(crate) place: Place,
    pub(crate) tree: Option<Arc<Tree>>,
    /// The objects, in the order of listing.
    pub objects: Vec<Object>,
    /// True if the place is one object (or file) that the user named.
    pub is_single: bool,
    /// What was passed over.
    pub passed_over: PassedOver,
    /// Symbolic links of a folder, which are passed over too.
    pub links: u64,
    /// What could not be listed; the rest was.
    pub unlisted: Vec<Unlisted>,
}

impl Listing {
    /// Lists what `selection` takes at `place`. Asks the store; many prefixes at once.
    ///
    /// # Errors
    /// If the place itself cannot be listed, or nothing is there. Trouble further down goes to [`Listing::unlisted`].
    pub fn list(place: &Place, selection: &Selection) -> Result<Listing, Error> {
        match &place.0 {
            Kind::Folder(path) => Ok(Listing::of_tree(Tree::list(path, selection)?)),
            Kind::Bucket { bucket, is_prefix } => {
                runtime()?.block_on(list_bucket(place, Arc::clone(bucket), *is_prefix, selection))
            }
        }
    }

    /// A listing of these objects, of which somebody knows that they are at this place of a bucket: the share of one
    /// machine.
    #[must_use]
    pub fn of_objects(place: Place, objects: Vec<Object>) -> Listing {
        Listing {
            place,
            tree: None,
            objects,
            is_single: false,
            passed_over: PassedOver::default(),
            links: 0,
            unlisted: Vec::new(),
        }
    }

    /// The files of a tree.
    #[must_use]
    pub fn of_tree(mut tree: Tree) -> Listing {
        let mut unlisted = std::mem::take(&mut tree.unlisted);
        let mut objects = Vec::with_capacity(tree.entries.len());
        for (index, entry) in tree.entries.iter().enumerate() {
            match relative_text(&tree.relative_path(entry)) {
                Some(path) => objects.push(Object {
                    path,
                    size: entry.size,
                    e_tag: version(entry),
                    entry: u32::try_from(index).ok(),
                }),
                None => unlisted.push(Unlisted {
                    path: tree.root.join(tree.relative_path(entry)),
                    error: Error::Location {
                        reason: "the name is not UTF-8, which a key must be; rename the file".to_owned(),
                    },
                }),
            }
        }
        Listing {
            place: Place(Kind::Folder(tree.root.clone())),
            objects,
            is_single: tree.is_single_file,
            passed_over: tree.passed_over,
            links: tree.links.len() as u64,
            unlisted,
            tree: Some(Arc::new(tree)),
        }
    }

    /// The place; of a single object, what holds it.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Sum of all sizes, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.objects.iter().map(|object| object.size).sum()
    }

    /// The object's path or address.
    #[must_use]
    pub fn address(&self, object: &Object) -> PathBuf {
        address(&self.place, &object.path)
    }
}

/// What has this path below a place, as a path or address.
pub(crate) fn address(place: &Place, relative: &str) -> PathBuf {
    match &place.0 {
        Kind::Folder(root) => {
            let path = root.join(relative);
            path.strip_prefix(".").map(Path::to_owned).unwrap_or(path)
        }
        Kind::Bucket { bucket, .. } => match bucket.key(relative) {
            Ok(key) => bucket.address(&key),
            Err(_) => format!("{}/{relative}", bucket.address(&bucket.prefix).display()).into(),
        },
    }
}

fn relative_text(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// A file's version: no more is known without reading it.
fn version(entry: &Entry) -> Option<String> {
    let since = entry.attributes.modified?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{:x}-{:x}", entry.size, since.as_nanos()))
}

async fn list_bucket(
    place: &Place,
    bucket: Arc<Bucket>,
    is_prefix: bool,
    selection: &Selection,
) -> Result<Listing, Error> {
    if !is_prefix {
        match bucket.store.head(&bucket.prefix).await {
            Ok(meta) => return Ok(single(place, meta)),
            Err(fault) if faults::is_missing(&fault) => {}
            // Who may list need not be allowed to read: listing tells.
            Err(object_store::Error::PermissionDenied { .. }) => {}
            Err(fault) => return Err(faults::of("look at the object", &fault)),
        }
    }
    let prefix = Some(&bucket.prefix).filter(|prefix| !prefix.as_ref().is_empty());
    let top = bucket.store.list_with_delimiter(prefix).await;
    let top = top.map_err(|fault| faults::of("list the bucket", &fault))?;
    let mut listing = Listing::of_objects(place.clone(), Vec::new());
    let mut metas = top.objects;
    let below = stream::iter(top.common_prefixes).map(|prefix| {
        let bucket = Arc::clone(&bucket);
        async move {
            let found: Result<Vec<ObjectMeta>, _> = bucket.store.list(Some(&prefix)).try_collect().await;
            (prefix, found)
        }
    });
    let mut below = below.buffered(LISTS);
    while let Some((prefix, found)) = below.next().await {
        match found {
            Ok(found) => metas.extend(found),
            Err(fault) => listing.unlisted.push(Unlisted {
                path: bucket.address(&prefix),
                error: faults::of("list what is below this prefix", &fault),
            }),
        }
    }
    if metas.is_empty() && listing.unlisted.is_empty() {
        return Err(Error::Store {
            action: "list the bucket",
            reason: "nothing is there; check the prefix".to_owned(),
        });
    }
    take(&bucket, metas, selection, &mut listing);
    Ok(listing)
}

fn single(place: &Place, meta: ObjectMeta) -> Listing {
    let (place, name) = place.clone().for_single();
    let object = Object::new(name.unwrap_or_default(), meta.size, meta.e_tag);
    Listing { is_single: true, ..Listing::of_objects(place, vec![object]) }
}

/// Puts what takes part into the listing.
fn take(bucket: &Bucket, metas: Vec<ObjectMeta>, selection: &Selection, listing: &mut Listing) {
    let markers = markers(&metas);
    for meta in metas {
        if meta.size == 0 && markers.contains(meta.location.as_ref()) {
            continue;
        }
        let Some(parts) = meta.location.prefix_match(&bucket.prefix) else { continue };
        let path = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
        if !selection.takes(Path::new(&path)) {
            listing.passed_over.excluded += 1;
            continue;
        }
        listing.objects.push(Object::new(path, meta.size, meta.e_tag));
    }
}

/// Empty objects called like a folder, which some programs put where they want one to be seen.
fn markers(metas: &[ObjectMeta]) -> HashSet<String> {
    let empty: HashSet<&str> =
        metas.iter().filter(|meta| meta.size == 0).map(|meta| meta.location.as_ref()).collect();
    let mut markers = HashSet::new();
    if empty.is_empty() {
        return markers;
    }
    for meta in metas {
        let key: &Key = &meta.location;
        for (slash, _) in key.as_ref().match_indices('/') {
            let folder = &key.as_ref()[..slash];
            if empty.contains(folder) {
                markers.insert(folder.to_owned());
            }
        }
    }
    markers
}
