//! Objects with their versions, as listed: whatever is read later is asked for in that version. A listing holds all of
//! them in memory.

use crate::inventory::{Inventory, Supply, each};
use crate::pages::Found;
use crate::place::{Kind, Place};
use crate::runtime::runtime;
use cipherloom::{Entry, Error, PassedOver, Selection, Tree, Unlisted};
use object_store::ObjectMeta;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::UNIX_EPOCH;

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
    /// Lists what `selection` takes at `place`, all of it in memory: for those who divide it among machines. A run over
    /// a bucket lists as it goes ([`crate::Inventory`]).
    ///
    /// # Errors
    /// If the place itself cannot be listed; [`Error::NothingThere`] if it is in a store and holds nothing. Trouble further
    /// down goes to [`Listing::unlisted`].
    pub fn list(place: &Place, selection: &Selection) -> Result<Listing, Error> {
        match &place.0 {
            Kind::Folder(path) => Ok(Listing::of_tree(Tree::list(path, selection)?)),
            Kind::Bucket { .. } => match Inventory::open(place, selection.clone())?.supply {
                Supply::Known(listing) => Arc::into_inner(listing).ok_or(Error::NeitherFileNorFolder),
                Supply::Pages(pages) => {
                    let mut listing = Listing::of_objects(place.clone(), Vec::new());
                    runtime()?.block_on(each(&pages, |found| match found {
                        Found::Object(object) => listing.objects.push(object),
                        Found::Unlisted(unlisted) => listing.unlisted.push(unlisted),
                    }));
                    listing.passed_over.excluded = pages.counts().excluded.load(Ordering::Relaxed);
                    Ok(listing)
                }
            },
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

    /// The object that the user named, which is selected like any other.
    pub(crate) fn of_single(place: &Place, meta: ObjectMeta, selection: &Selection) -> Listing {
        let (place, name) = place.clone().for_single();
        let mut objects = vec![Object::new(name.unwrap_or_default(), meta.size, meta.e_tag)];
        objects.retain(|object| selection.takes(Path::new(&object.path)));
        let passed_over = PassedOver { excluded: 1 - objects.len() as u64, ..PassedOver::default() };
        Listing { is_single: true, passed_over, ..Listing::of_objects(place, objects) }
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
