//! What a run goes through: objects that are known one by one, or a bucket that is listed while the run goes on. Objects
//! have their versions as listed: whatever is read later is asked for in that version.

use crate::faults::ask;
use crate::job::{Limits, not_utf8};
use crate::pages::{Counts, Found, Pages};
use crate::place::{Bucket, Kind, Place};
use crate::runtime::runtime;
use cipherloom::{
    Error, Observer,
    internal::{Entry, PassedOver, Selection, Tree, Unlisted, location::SourceKind},
};
use object_store::path::Path as Key;
use object_store::{ObjectMeta, ObjectStoreExt};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::UNIX_EPOCH;

/// What there is at a place.
///
/// ```
/// use cipherloom::internal::{Selection, Tree};
/// use cipherloom_stores::{Access, Inventory, Object, Place};
///
/// // A share of the objects that another process has listed.
/// let folder = tempfile::tempdir()?;
/// let place = Place::open(folder.path(), Access::default())?;
/// assert_eq!((place.folder(), place.address().as_path()), (Some(folder.path()), folder.path()));
/// let share = Inventory::of_objects(place, vec![Object::new("flatland.epub".into(), 7, None)]);
/// assert_eq!((share.found(), share.objects().len()), ((1, 7, true), 1));
///
/// // All of a place, in memory.
/// let tree = Tree::list(folder.path(), &Selection::default())?;
/// let all = Inventory::of_tree(tree).list_all()?;
/// assert!(all.objects().is_empty() && all.unlisted().is_empty());
/// assert_eq!((all.links(), all.passed_over().excluded), (0, 0));
/// assert_eq!(all.place().folder(), Some(folder.path()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inventory {
    pub(crate) place: Place,
    /// Objects that are known one by one.
    pub(crate) listing: Arc<Listing>,
    /// A bucket that is listed while the run goes on.
    pub(crate) pages: Option<Arc<Pages>>,
}

/// How much there is, counted without keeping any of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Survey {
    /// Objects (or files).
    pub objects: u64,
    /// Their sizes' sum, in bytes.
    pub bytes: u64,
    /// Objects that are read and written in parts.
    pub in_parts: u64,
    /// Parts of these, all together.
    pub parts: u64,
    /// Requests by which the store was asked for its listing.
    pub requests: u64,
    /// Prefixes (or folders) that could not be listed.
    pub unlisted: u64,
}

impl Survey {
    pub(crate) fn count(&mut self, object: &Object, limits: &Limits) {
        let part = limits.part as u64;
        self.objects += 1;
        self.bytes += object.size;
        if object.size > part {
            self.in_parts += 1;
            self.parts += object.size.div_ceil(crate::object::part_len(object.size, part));
        }
    }
}

impl Inventory {
    pub(crate) fn known(place: Place, listing: Listing) -> Inventory {
        Inventory { place, listing: Arc::new(listing), pages: None }
    }

    /// Looks at `place`: asks a store whether it is a single object, and else for the first page of its listing.
    /// `selection` says what takes part.
    ///
    /// # Errors
    /// If the place cannot be listed; [`Error::NothingThere`] if it is in a store and holds nothing. The run
    /// reports errors further down.
    pub fn open(place: &Place, selection: Selection) -> Result<Inventory, Error> {
        match &place.0 {
            Kind::Folder(path) => Ok(Inventory::of_tree(Tree::list(path, &selection)?)),
            Kind::Bucket { bucket, is_prefix } => runtime()?.block_on(async {
                if !is_prefix {
                    match ask(bucket.store.head(&bucket.prefix)).await {
                        Ok(meta) => return Ok(Inventory::of_single(bucket, meta, &selection)),
                        // Who may list need not be allowed to read: listing shows that.
                        Err(refusal) if refusal.is_missing() || refusal.is_denied() => {}
                        Err(refusal) => return Err(refusal.of("look at the object")),
                    }
                }
                let pages = Some(Arc::new(Pages::open(Arc::clone(bucket), selection).await?));
                Ok(Inventory { place: place.clone(), listing: Arc::default(), pages })
            }),
        }
    }

    /// The place; of a single object, what holds it.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The object (or file), if the user named a single one.
    #[must_use]
    pub fn single(&self) -> Option<&Object> {
        self.listing.objects.first().filter(|_| self.listing.is_single)
    }

    /// How many objects and bytes have been found so far, and whether these are all.
    #[must_use]
    pub fn found(&self) -> (u64, u64, bool) {
        let Some(Counts { objects, bytes, is_complete, .. }) = self.counts() else {
            let bytes = self.objects().iter().map(|object| object.size).sum();
            return (self.objects().len() as u64, bytes, true);
        };
        (objects.load(Relaxed), bytes.load(Relaxed), is_complete.load(Relaxed))
    }

    /// What was passed over so far.
    #[must_use]
    pub fn passed_over(&self) -> PassedOver {
        match self.counts() {
            Some(counts) => PassedOver {
                excluded: counts.excluded.load(Relaxed),
                index: counts.index.load(Relaxed),
                ..PassedOver::default()
            },
            None => self.listing.passed_over,
        }
    }

    /// Whether a prefix has an index, as far as can be seen without its key, and the selection does not leave that out.
    ///
    /// # Errors
    /// As [`Place::has_index`].
    pub fn has_index(&self, observer: &dyn Observer) -> Result<bool, Error> {
        match &self.pages {
            Some(pages) if !pages.selection.leaves_out(Path::new(".cipherloom")) => {
                self.place.has_index(observer)
            }
            _ => Ok(false),
        }
    }

    /// Whether a tree inside has an index, as far as the prefix was listed.
    pub(crate) fn has_nested_index(&self) -> bool {
        self.counts().is_some_and(|counts| counts.nested_index.load(Relaxed) > 0)
    }

    /// Symbolic links of a folder, which are passed over too.
    #[must_use]
    pub fn links(&self) -> u64 {
        self.listing.links
    }

    /// Lists a bucket to its end and holds all of it in memory: for those who want to know how much there is, or divide it
    /// among machines.
    ///
    /// # Errors
    /// If there are no threads for it. Trouble with what is below goes to [`Inventory::unlisted`].
    pub fn list_all(self) -> Result<Inventory, Error> {
        let Some(pages) = &self.pages else { return Ok(self) };
        let mut listing = Listing::default();
        runtime()?.block_on(pages.each(|found| match found {
            Found::Object(object) => listing.objects.push(object),
            Found::Unlisted(unlisted) => listing.unlisted.push(unlisted),
        }));
        listing.passed_over = self.passed_over();
        Ok(Inventory::known(self.place, listing))
    }

    /// The objects that are in memory: all of a folder and after [`Inventory::list_all`], none of a bucket that is listed
    /// while a run goes on.
    #[must_use]
    pub fn objects(&self) -> &[Object] {
        &self.listing.objects
    }

    /// What could not be listed, of what [`Inventory::objects`] gives.
    #[must_use]
    pub fn unlisted(&self) -> &[Unlisted] {
        &self.listing.unlisted
    }

    /// Counts all there is; lists a bucket to its end for that, and keeps nothing.
    ///
    /// # Errors
    /// If there are no threads for it.
    pub fn survey(&self, limits: &Limits) -> Result<Survey, Error> {
        let mut survey = Survey { unlisted: self.unlisted().len() as u64, ..Survey::default() };
        self.objects().iter().for_each(|object| survey.count(object, limits));
        if let Some(pages) = &self.pages {
            runtime()?.block_on(pages.each(|found| match found {
                Found::Object(object) => survey.count(&object, limits),
                Found::Unlisted(_) => survey.unlisted += 1,
            }));
        }
        Ok(Survey { requests: self.requests(), ..survey })
    }

    /// How many requests have listed it so far.
    pub(crate) fn requests(&self) -> u64 {
        self.counts().map_or(0, |counts| counts.requests.load(Relaxed))
    }

    fn counts(&self) -> Option<&Counts> {
        self.pages.as_deref().map(|pages| &pages.counts)
    }
}

/// An object (or file) to process.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its path below the listing's place, `/` between folders.
    pub path: String,
    /// Its size in bytes when listed.
    pub size: u64,
    /// Its version: the store's ETag; size and time of a file.
    pub e_tag: Option<String>,
    /// Its place in the tree, if it is a file.
    pub(crate) entry: Option<u32>,
    /// When it was written, in seconds since 1970 by the store's clock, if that was listed.
    pub written: Option<i64>,
}

impl Object {
    /// An object that was listed before, perhaps by another process.
    #[must_use]
    pub fn new(path: String, size: u64, e_tag: Option<String>) -> Object {
        Object { path, size, e_tag, entry: None, written: None }
    }
}

/// Objects that are all in memory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The files, if the place is a folder.
    pub(crate) tree: Option<Arc<Tree>>,
    /// The objects, in the order of listing.
    pub(crate) objects: Vec<Object>,
    /// True if the place is one object (or file) that the user named.
    pub(crate) is_single: bool,
    pub(crate) passed_over: PassedOver,
    /// Symbolic links of a folder, which are passed over too.
    pub(crate) links: u64,
    /// What could not be listed; the rest was.
    pub(crate) unlisted: Vec<Unlisted>,
}

impl Inventory {
    /// The inventory of these objects, of which somebody knows that they are at this place of a bucket: the share of one
    /// machine.
    #[must_use]
    pub fn of_objects(place: Place, objects: Vec<Object>) -> Inventory {
        Inventory::known(place, Listing { objects, ..Listing::default() })
    }

    /// The object that the user named, which is selected like any other.
    pub(crate) fn of_single(bucket: &Bucket, meta: ObjectMeta, selection: &Selection) -> Inventory {
        let mut parts: Vec<_> = bucket.prefix.parts().collect();
        let name = parts.pop().map(|part| part.as_ref().to_owned()).unwrap_or_default();
        let bucket = Bucket { prefix: Key::from_iter(parts), ..bucket.clone() };
        let place = Place(Kind::Bucket { bucket: Arc::new(bucket), is_prefix: true });
        let mut objects = vec![Object::new(name, meta.size, meta.e_tag)];
        objects.retain(|object| selection.takes(Path::new(&object.path)));
        let passed_over = PassedOver { excluded: 1 - objects.len() as u64, ..PassedOver::default() };
        Inventory::known(place, Listing { objects, is_single: true, passed_over, ..Listing::default() })
    }

    /// The files of a tree.
    #[must_use]
    pub fn of_tree(mut tree: Tree) -> Inventory {
        let unlisted = std::mem::take(&mut tree.unlisted);
        let mut inventory = Inventory::of_files(&tree);
        if let Some(listing) = Arc::get_mut(&mut inventory.listing) {
            listing.unlisted.splice(0..0, unlisted);
            listing.tree = Some(Arc::new(tree));
        }
        inventory
    }

    /// The same of a tree that others use too.
    pub(crate) fn of_shared_tree(tree: &Arc<Tree>) -> Inventory {
        let mut inventory = Inventory::of_files(tree);
        if let Some(listing) = Arc::get_mut(&mut inventory.listing) {
            listing.tree = Some(Arc::clone(tree));
        }
        inventory
    }

    /// The names and sizes of a tree's files, which cannot be read through this.
    pub(crate) fn of_files(tree: &Tree) -> Inventory {
        let mut listing = Listing {
            is_single: tree.is_single_file,
            passed_over: tree.passed_over,
            links: tree.links.len() as u64,
            ..Listing::default()
        };
        for (index, entry) in tree.entries.iter().enumerate() {
            let path = tree.relative_path(entry);
            match relative_text(&path) {
                Some(path) => {
                    let object = Object::new(path, entry.size(), version(entry));
                    listing.objects.push(Object { entry: u32::try_from(index).ok(), ..object });
                }
                None => listing
                    .unlisted
                    .push(Unlisted { path: tree.root.join(path), error: not_utf8("the name") }),
            }
        }
        Inventory::known(Place(Kind::Folder(tree.root.clone())), listing)
    }
}

impl<'i> From<&'i Inventory> for SourceKind<'i> {
    fn from(inventory: &'i Inventory) -> SourceKind<'i> {
        if inventory.listing.is_single {
            SourceKind::Single(inventory.objects().first().map(|object| OsStr::new(&object.path)))
        } else {
            SourceKind::Folder
        }
    }
}

/// What has this path below a place, as a path or address.
pub(crate) fn address(place: &Place, relative: &str) -> PathBuf {
    match &place.0 {
        Kind::Folder(root) => root.join(relative),
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
fn version(entry: Entry<'_>) -> Option<String> {
    let since = entry.attributes().modified?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{:x}-{:x}", entry.size(), since.as_nanos()))
}
