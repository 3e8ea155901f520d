//! Finds objects at the destination that were encrypted with another key, as `cipherloom::find_other_key` does in folders:
//! by the same rule, and of a sample as large.

use crate::bucket::Bucket;
use crate::errand::Errand;
use crate::faults;
use crate::inventory::{Inventory, Supply};
use crate::listing::{Object, address};
use crate::pages;
use crate::place::Kind;
use crate::run::is_in_place;
use crate::runtime::runtime;
use crate::source::{self, Home};
use cipherloom::{Error, Job, find_other_key_by};
use futures_util::{StreamExt, stream};
use object_store::ObjectStoreExt;
use object_store::list::PaginatedListOptions;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// How many objects are opened, and how many of one folder.
const OBJECTS: usize = 16;
const OBJECTS_OF_A_FOLDER: usize = 4;

/// How many pages of names are asked for to find these, each of another folder.
const PAGES: usize = 10;

/// How many of them are read at once.
const READS: usize = 4;

/// What the names of killed runs' leftovers begin with.
const TEMPORARY: &str = ".cipherloom-";

/// Looks for an object (or file) at the errand's destination that is encrypted, will stay there, and does not open with the
/// keys that the errand encrypts with. A sample is opened, 16 at most.
///
/// `None` also where nothing can be told: the errand does not encrypt or re-keys in place, its format is not authenticated,
/// or who encrypts may not list or read there.
///
/// # Errors
/// As [`crate::check`]; if the store cannot be reached.
pub fn find_other_key(inventory: &Inventory, errand: &Errand) -> Result<Option<PathBuf>, Error> {
    let (false, Some(place)) = (is_in_place(inventory, errand)?, &errand.destination) else {
        return Ok(None);
    };
    let runtime = runtime()?;
    match &place.0 {
        Kind::Folder(root) => {
            let job = Job { destination: Some(root.clone()), ..errand.job() };
            let is_output = |relative: &Path| {
                relative.to_str().is_some_and(|path| runtime.block_on(is_output(inventory, errand, path)))
            };
            Ok(find_other_key_by(&job, &is_output))
        }
        Kind::Bucket { bucket, .. } => {
            let found = runtime.block_on(in_bucket(bucket, inventory, errand))?;
            Ok(found.map(|path| address(place, &path)))
        }
    }
}

async fn in_bucket(bucket: &Bucket, inventory: &Inventory, errand: &Errand) -> Result<Option<String>, Error> {
    let job = errand.job();
    let (Some(begin_len), Some(place)) = (job.other_key_begin_len(), &errand.destination) else {
        return Ok(None);
    };
    let sampled = match &errand.single_name {
        Some(name) => match bucket.store.head(&bucket.key(name)?).await {
            Ok(meta) => Ok(vec![Object::new(name.clone(), meta.size, meta.e_tag)]),
            Err(fault) => Err(fault),
        },
        None => sample(bucket).await,
    };
    let objects = match sampled {
        Ok(objects) => objects,
        Err(fault) if faults::is_missing(&fault) || faults::is_denied(&fault) => return Ok(None),
        Err(fault) => return Err(faults::of("look for objects under another key", &fault)),
    };
    let home = &Home { place: place.clone(), tree: None };
    let begins = stream::iter(&objects).map(|object| async move {
        (object, source::read(home, object, 0..object.size.min(begin_len)).await)
    });
    let mut begins = begins.buffered(READS);
    while let Some((object, begin)) = begins.next().await {
        // What cannot be read tells nothing.
        if let Ok(begin) = begin
            && job.is_under_other_key(Path::new(&object.path), &begin.bytes, object.size)
            && job.keeps_other_key(is_output(inventory, errand, &object.path).await)
        {
            return Ok(Some(object.path.clone()));
        }
    }
    Ok(None)
}

/// Some objects below the prefix, from as many folders as there are.
async fn sample(bucket: &Bucket) -> object_store::Result<Vec<Object>> {
    let mut objects = Vec::new();
    let mut folders = VecDeque::from([pages::top(bucket)]);
    for _ in 0..PAGES {
        let Some(folder) = folders.pop_front() else { break };
        let options = PaginatedListOptions { delimiter: Some("/".into()), ..PaginatedListOptions::default() };
        let wanted = Some(&*folder).filter(|folder| !folder.is_empty());
        let (page, _) = pages::list(bucket, wanted, options).await?;
        let encrypted = page.result.objects.into_iter().filter_map(|meta| {
            let parts = meta.location.prefix_match(&bucket.prefix)?;
            let path = parts.map(|part| part.as_ref().to_owned()).collect::<Vec<_>>().join("/");
            let is_leftover = meta.location.filename().is_none_or(|name| name.starts_with(TEMPORARY));
            (meta.size > 0 && !is_leftover).then(|| Object::new(path, meta.size, meta.e_tag))
        });
        objects.extend(encrypted.take(OBJECTS_OF_A_FOLDER));
        if objects.len() >= OBJECTS {
            break;
        }
        folders.extend(page.result.common_prefixes.iter().map(|folder| format!("{folder}/")));
    }
    objects.truncate(OBJECTS);
    Ok(objects)
}

/// Whether the errand has an output at this path.
async fn is_output(inventory: &Inventory, errand: &Errand, relative: &str) -> bool {
    if errand.single_name.is_some() {
        return true;
    }
    let leads_here = |path: &str| errand.output_path(path).is_ok_and(|output| output == relative);
    match &inventory.supply {
        Supply::Known(listing) => listing.objects.iter().any(|object| leads_here(&object.path)),
        Supply::Pages(pages) => {
            for path in [Some(relative), relative.strip_suffix(&errand.suffix)].into_iter().flatten() {
                if leads_here(path) && pages.holds(path).await {
                    return true;
                }
            }
            false
        }
    }
}
