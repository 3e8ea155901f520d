//! Runs, listings and plans over stores.
//!
//! A listing made by one process is divided among others as plain values: path, size and version of each object.

use crate::errors::{self, InvalidRequest, OrRaise, with_hint};
use crate::index;
use crate::plain::plain;
use crate::request::{Listed, Listing, Ran, Request};
use crate::watch::watched;
use cipherloom::internal::location::{Location, SourceKind};
use cipherloom::{
    Error, Links,
    error::LocationFault,
    internal::{IndexStore, Job, Selection, Tree},
};
use cipherloom_stores::{Access, Inventory, Limits, Object, Place, StoreJob};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lists what there is at a place.
pub(crate) fn list_objects(py: Python<'_>, source: &Path, selection: Selection) -> PyResult<Listing> {
    let inventory = open(py, source, selection, true)?;
    let failures = errors::unlisted(inventory.unlisted());
    let listed = |object: &Object| {
        let written = object.written.map(|seconds| (seconds, 0));
        (object.path.clone().into(), object.size, object.e_tag.clone(), written)
    };
    Ok((inventory.objects().iter().map(listed).collect(), failures, inventory.passed_over().index))
}

/// Runs an operation over objects of a place. Returns the report's numbers and the failures.
pub(crate) fn process<'py>(
    py: Python<'py>,
    request: &Request,
    source: &Location,
    destination: Option<&Location>,
) -> PyResult<Ran<'py>> {
    let options = &request.options;
    let has_links = options.links()? != Links::Skip;
    for (is_given, name) in
        [(has_links, "links"), (options.preserve_modes, "preserve_modes"), (options.non_atomic, "non_atomic")]
    {
        if is_given {
            let refused =
                InvalidRequest::new_err(format!("{name} is for folders; a store has no such thing"));
            return Err(with_hint(refused, Some("leave it out")));
        }
    }
    let source = source.to_path();
    let inventory = match &request.objects {
        // Objects are processed while others are still being listed, unless a progress bar needs the totals first.
        None => open(py, &source, options.selection()?, request.has_progress())?,
        Some(objects) => py.detach(|| open_known(&source, objects)).or_raise(Some(&source))?,
    };
    let about = Some(request.about());
    let index = request.objects.as_ref().map_or(Ok(None), |objects| index::of_share(request, objects))?;
    let job = Job { index, ..request.job(SourceKind::from(&inventory), destination)? };
    let mut job = StoreJob::open(job, Access::default()).or_raise(about)?;
    job.limits = limits(options.threads);
    py.detach(|| job.check(&inventory)).or_raise(about)?;
    let (objects, bytes, _) = inventory.found();
    request.run(py, bytes, objects, |watch| job.run(&inventory, watch))
}

/// What a run over the objects of a place would have in flight. Returns the description.
pub(crate) fn plan<'py>(
    py: Python<'py>,
    source: &Path,
    threads: Option<NonZeroUsize>,
    selection: Selection,
) -> PyResult<Bound<'py, PyAny>> {
    let limits = limits(threads);
    let at = source.to_owned();
    let survey = watched(py, move || Inventory::open(&place(&at)?, selection)?.survey(&limits))?;
    let survey = survey.or_raise(Some(source))?;
    plain(
        py,
        &serde_json::json!({
            "objects": survey.objects,
            "bytes": survey.bytes,
            "unlisted": survey.unlisted,
            "in_flight": limits.objects,
            "in_parts": survey.in_parts,
            "part_bytes": limits.part,
            "threads": limits.threads,
            "memory_bytes": limits.memory,
        }),
    )
}

fn limits(threads: Option<NonZeroUsize>) -> Limits {
    let mut limits = Limits::default();
    limits.threads = threads.map_or(limits.threads, NonZeroUsize::get);
    limits
}

/// The index of the tree at an address; `None` for a folder.
pub(crate) fn index_at(address: &Path) -> Result<Option<Arc<dyn IndexStore>>, Error> {
    Ok(place(address)?.index())
}

fn place(address: &Path) -> Result<Place, Error> {
    Place::open(address, Access::default())
}

/// What there is at a place; listed to its end if all of it is wanted.
fn open(py: Python<'_>, source: &Path, selection: Selection, all: bool) -> PyResult<Inventory> {
    let at = source.to_owned();
    let inventory = watched(py, move || {
        let inventory = Inventory::open(&place(&at)?, selection)?;
        if all { inventory.list_all() } else { Ok(inventory) }
    })?;
    inventory.or_raise(Some(source))
}

/// The inventory of these objects alone.
fn open_known(source: &Path, objects: &[Listed]) -> Result<Inventory, Error> {
    let place = place(source)?;
    if let Some(folder) = place.folder() {
        let files: Vec<PathBuf> = objects.iter().map(|(path, ..)| path.into()).collect();
        return Ok(Inventory::of_tree(Tree::named(folder, &files, &|| false)?));
    }
    let mut known = Vec::with_capacity(objects.len());
    for (path, size, e_tag, written) in objects {
        let path = path.to_str().ok_or_else(|| {
            let reason = "the name is not UTF-8, which a key is".to_owned();
            Error::Location(LocationFault::Unusable { reason }).at(path.as_ref())
        })?;
        let mut object = Object::new(path.to_owned(), *size, e_tag.clone());
        object.written = written.map(|(seconds, _)| seconds);
        known.push(object);
    }
    Ok(Inventory::of_objects(place, known))
}
