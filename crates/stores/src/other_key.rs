//! Finds objects at the destination that were encrypted with another key, as a run over folders does:
//! by the same rule, and of a sample as large.

use crate::faults::{Refusal, ask};
use crate::inventory::{Inventory, Object, address};
use crate::job::{StoreJob, output_path};
use crate::pages;
use crate::place::{Bucket, Kind, Place};
use crate::runtime::runtime;
use crate::source;
use cipherloom::{
    Error,
    internal::{Job, find_other_key_by},
};
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

impl StoreJob {
    /// Looks for an object (or file) at the destination that is encrypted, will stay there, and does not open with the keys
    /// that this job encrypts with. A sample is opened, 16 at most.
    ///
    /// `None` also where nothing can be found out: the job does not encrypt, its format is not authenticated, or who encrypts
    /// may not list or read there.
    ///
    /// # Errors
    /// If the store cannot be reached.
    pub(crate) fn find_other_key(&self, inventory: &Inventory) -> Result<Option<PathBuf>, Error> {
        let Some(place) = &self.destination else { return Ok(None) };
        let runtime = runtime()?;
        match &place.0 {
            Kind::Folder(root) => {
                let job = Job { destination: Some(root.clone()), ..self.job.clone() };
                let is_output = |relative: &Path| {
                    relative.to_str().is_some_and(|path| runtime.block_on(is_output(inventory, &job, path)))
                };
                Ok(find_other_key_by(&job, &is_output))
            }
            Kind::Bucket { bucket, .. } => {
                let found = runtime.block_on(find_in_bucket(bucket, place, inventory, &self.job))?;
                Ok(found.map(|path| address(place, &path)))
            }
        }
    }
}

async fn find_in_bucket(
    bucket: &Bucket,
    place: &Place,
    inventory: &Inventory,
    job: &Job,
) -> Result<Option<String>, Error> {
    let Some(begin_len) = job.other_key_begin_len() else { return Ok(None) };
    let sampled = match &job.single_name {
        Some(name) => {
            let name = name.to_string_lossy();
            let found = ask(bucket.store.head(&bucket.key(&name)?)).await;
            found.map(|meta| vec![Object::new(name.into_owned(), meta.size, meta.e_tag)])
        }
        None => sample(bucket).await,
    };
    let objects = match sampled {
        Ok(objects) => objects,
        Err(refusal) if refusal.is_missing() || refusal.is_denied() => return Ok(None),
        Err(refusal) => return Err(refusal.of("look for objects under another key")),
    };
    let outputs = &Inventory::of_objects(place.clone(), Vec::new());
    let begins = stream::iter(&objects).map(|object| async move {
        (object, source::read(outputs, object, 0..object.size.min(begin_len)).await)
    });
    let mut begins = begins.buffered(READS);
    while let Some((object, begin)) = begins.next().await {
        // An object that cannot be read is passed over.
        if let Ok(begin) = begin
            && job.is_under_other_key(Path::new(&object.path), &begin.bytes, object.size)
            && job.keeps_other_key(is_output(inventory, job, &object.path).await)
        {
            return Ok(Some(object.path.clone()));
        }
    }
    Ok(None)
}

/// Some objects below the prefix, from as many folders as there are.
async fn sample(bucket: &Bucket) -> Result<Vec<Object>, Refusal> {
    let mut objects = Vec::new();
    let mut folders = VecDeque::from([pages::top(bucket)]);
    for _ in 0..PAGES {
        let Some(folder) = folders.pop_front() else { break };
        let options = PaginatedListOptions { delimiter: Some("/".into()), ..PaginatedListOptions::default() };
        let wanted = Some(&*folder).filter(|folder| !folder.is_empty());
        let (page, _) = pages::list(bucket, wanted, options).await?;
        let encrypted = page.result.objects.into_iter().filter_map(|meta| {
            let path = bucket.relative(&meta.location)?;
            let is_leftover = meta.location.filename().is_none_or(|name| name.starts_with(TEMPORARY));
            (meta.size > 0 && !is_leftover && !pages::is_of_index(&path))
                .then(|| Object::new(path, meta.size, meta.e_tag))
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

/// Whether the job has an output at this path.
async fn is_output(inventory: &Inventory, job: &Job, relative: &str) -> bool {
    if job.single_name.is_some() {
        return true;
    }
    let leads_here = |path: &str| output_path(job, path).is_ok_and(|output| output == relative);
    let Some(pages) = &inventory.pages else {
        return inventory.objects().iter().any(|object| leads_here(&object.path));
    };
    let suffix = job.suffix.to_str().unwrap_or_default();
    for path in [Some(relative), relative.strip_suffix(suffix)].into_iter().flatten() {
        if leads_here(path) && pages.holds(path).await {
            return true;
        }
    }
    false
}
