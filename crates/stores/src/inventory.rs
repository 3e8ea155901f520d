//! What a run goes through: objects that are known one by one, or a bucket that is listed while the run goes on.

use crate::errand::Limits;
use crate::faults;
use crate::listing::{Listing, Object};
use crate::pages::{AHEAD, Found, Pages};
use crate::place::{Kind, Place};
use crate::runtime::runtime;
use crate::source::Home;
use cipherloom::{Error, PassedOver, Selection, Tree};
use object_store::ObjectStoreExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// What there is at a place.
#[derive(Debug, Clone)]
pub struct Inventory {
    place: Place,
    pub(crate) supply: Supply,
}

/// Where objects come from.
#[derive(Debug, Clone)]
pub(crate) enum Supply {
    Known(Arc<Listing>),
    Pages(Arc<Pages>),
}

/// How much there is, counted without keeping any of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

impl From<&Arc<Listing>> for Inventory {
    fn from(listing: &Arc<Listing>) -> Inventory {
        Inventory { place: listing.place.clone(), supply: Supply::Known(Arc::clone(listing)) }
    }
}

impl From<&Inventory> for Inventory {
    fn from(inventory: &Inventory) -> Inventory {
        inventory.clone()
    }
}

impl Inventory {
    /// Looks at `place`: asks a store whether it is a single object, and else for the first page of its listing.
    /// `selection` says what takes part.
    ///
    /// # Errors
    /// If the place cannot be listed; [`Error::NothingThere`] if it is in a store and holds nothing. Trouble further down is
    /// told by the run.
    pub fn open(place: &Place, selection: Selection) -> Result<Inventory, Error> {
        match &place.0 {
            Kind::Folder(path) => {
                Ok(Inventory::from(&Arc::new(Listing::of_tree(Tree::list(path, &selection)?))))
            }
            Kind::Bucket { bucket, is_prefix } => runtime()?.block_on(async {
                if !is_prefix {
                    match bucket.store.head(&bucket.prefix).await {
                        Ok(meta) => {
                            let listing = Listing::of_single(place, meta, &selection);
                            return Ok(Inventory::from(&Arc::new(listing)));
                        }
                        Err(fault) if faults::is_missing(&fault) => {}
                        // Who may list need not be allowed to read: listing tells.
                        Err(object_store::Error::PermissionDenied { .. }) => {}
                        Err(fault) => return Err(faults::of("look at the object", &fault)),
                    }
                }
                let pages = Pages::open(Arc::clone(bucket), selection).await?;
                Ok(Inventory { place: place.clone(), supply: Supply::Pages(Arc::new(pages)) })
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
        match &self.supply {
            Supply::Known(listing) if listing.is_single => listing.objects.first(),
            Supply::Known(_) | Supply::Pages(_) => None,
        }
    }

    /// How many objects and bytes have been found so far, and whether these are all.
    #[must_use]
    pub fn found(&self) -> (u64, u64, bool) {
        match &self.supply {
            Supply::Known(listing) => (listing.objects.len() as u64, listing.total_bytes(), true),
            Supply::Pages(pages) => {
                let counts = pages.counts();
                (
                    counts.objects.load(Ordering::Relaxed),
                    counts.bytes.load(Ordering::Relaxed),
                    counts.is_complete.load(Ordering::Relaxed),
                )
            }
        }
    }

    /// What was passed over so far.
    #[must_use]
    pub fn passed_over(&self) -> PassedOver {
        match &self.supply {
            Supply::Known(listing) => listing.passed_over,
            Supply::Pages(pages) => PassedOver {
                excluded: pages.counts().excluded.load(Ordering::Relaxed),
                ..PassedOver::default()
            },
        }
    }

    /// Symbolic links of a folder, which are passed over too.
    #[must_use]
    pub fn links(&self) -> u64 {
        match &self.supply {
            Supply::Known(listing) => listing.links,
            Supply::Pages(_) => 0,
        }
    }

    /// Counts all there is; lists a bucket to its end for that, and keeps nothing.
    ///
    /// # Errors
    /// If there are no threads for it.
    pub fn survey(&self, limits: &Limits) -> Result<Survey, Error> {
        let mut survey = Survey::default();
        match &self.supply {
            Supply::Known(listing) => {
                listing.objects.iter().for_each(|object| survey.count(object, limits));
                survey.unlisted = listing.unlisted.len() as u64;
            }
            Supply::Pages(pages) => {
                let mut unlisted = 0;
                runtime()?.block_on(each(pages, |found| match found {
                    Found::Object(object) => survey.count(&object, limits),
                    Found::Unlisted(_) => unlisted += 1,
                }));
                survey.unlisted = unlisted;
            }
        }
        survey.requests = self.requests();
        Ok(survey)
    }

    /// How many requests have listed it so far.
    pub(crate) fn requests(&self) -> u64 {
        match &self.supply {
            Supply::Known(_) => 0,
            Supply::Pages(pages) => pages.counts().requests.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn home(&self) -> Home {
        let tree = match &self.supply {
            Supply::Known(listing) => listing.tree.clone(),
            Supply::Pages(_) => None,
        };
        Home { place: self.place.clone(), tree }
    }
}

/// Lists all pages, and tells of what they hold.
pub(crate) async fn each(pages: &Arc<Pages>, mut tell: impl FnMut(Found)) {
    let (sender, mut found) = mpsc::channel(AHEAD);
    let pages = Arc::clone(pages);
    let feeder = tokio::spawn(async move { pages.feed(&sender).await });
    while let Some(found) = found.recv().await {
        tell(found);
    }
    if let Err(error) = feeder.await
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}
