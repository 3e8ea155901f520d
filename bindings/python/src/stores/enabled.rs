//! Runs, listings and plans over stores.
//!
//! A listing made by one process is shared out among others as plain values: path, size and version of each object.

use crate::errors::{self, InvalidRequest, exception};
use crate::request::{Listed, Request};
use crate::watch::{Failure, Watch, json, watched};
use cipherloom::{Error, Links, Selection, Tree};
use cipherloom_stores::{Access, Errand, Inventory, Limits, Listing, Object, Place, Work, run};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Lists what there is at a place: the objects, and what could not be listed.
pub(crate) fn list_objects(
    py: Python<'_>,
    source: &Path,
    selection: Selection,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    let listing = list(py, source, selection)?;
    let failures = errors::unlisted(&listing.unlisted);
    let objects = listing.objects.into_iter().map(|object| (object.path.into(), object.size, object.e_tag));
    Ok((objects.collect(), failures))
}

/// Runs an operation over objects of a place. Returns the summary (JSON) and the failures.
pub(crate) fn process(py: Python<'_>, request: &Request) -> PyResult<(String, Vec<Failure>)> {
    if request.links()? != Links::Skip {
        return Err(InvalidRequest::new_err("a store has no links; leave links=\"copy\" out"));
    }
    let inventory = match (&request.objects, &request.progress) {
        // Objects are processed while others are still being listed.
        (None, None) => open(py, &request.source, request.selection()?)?,
        // A bar wants to know how much there is.
        (None, Some(_)) => Inventory::from(&Arc::new(list(py, &request.source, request.selection()?)?)),
        (Some(objects), _) => {
            let listing = py.detach(|| share(&request.source, objects));
            Inventory::from(&Arc::new(listing.map_err(|error| exception(&error, Some(&request.source)))?))
        }
    };
    let about = request.destination.as_deref().unwrap_or(&request.source);
    let errand = errand(request, &inventory)?;
    let progress = request.progress.as_ref();
    let (objects, bytes, _) = inventory.found();
    let started = progress.map(|start| start.call1(py, (bytes, objects)));
    let progress = started.transpose()?;
    let watch = Watch::new(progress.as_ref());
    let summary = watch.during(py, || run(inventory, &errand, &watch))?;
    let summary = summary.map_err(|error| exception(&error, Some(about)))?;
    watch.tell_end(py)?;
    Ok((json(&summary)?, watch.into_failures()))
}

/// What a run over the objects of a place would have in flight. Returns the description (JSON).
pub(crate) fn plan(
    py: Python<'_>,
    source: &Path,
    threads: Option<NonZeroUsize>,
    selection: Selection,
) -> PyResult<String> {
    let limits = limits(threads);
    let at = source.to_owned();
    let survey = watched(py, move || Inventory::open(&place(&at)?, selection)?.survey(&limits))?;
    let survey = survey.map_err(|error| exception(&error, Some(source)))?;
    json(&serde_json::json!({
        "objects": survey.objects,
        "bytes": survey.bytes,
        "unlisted": survey.unlisted,
        "in_flight": limits.objects,
        "in_parts": survey.in_parts,
        "part_bytes": limits.part,
        "threads": limits.threads,
        "memory_bytes": limits.memory,
    }))
}

fn errand(request: &Request, inventory: &Inventory) -> PyResult<Errand> {
    let (first, second) = (request.format(), request.new_format());
    let work = match (request.work()?, first, second) {
        (cipherloom::Work::Encrypt(_), Some(key), _) => Work::Encrypt(Arc::clone(key)),
        (cipherloom::Work::Decrypt(_), Some(key), _) => Work::Decrypt(Arc::clone(key)),
        (cipherloom::Work::Verify(_), Some(key), _) => Work::Verify(Arc::clone(key)),
        (cipherloom::Work::Rekey { .. }, Some(from), Some(to)) => {
            Work::Rekey { from: Arc::clone(from), to: Arc::clone(to) }
        }
        _ => Work::Copy,
    };
    let mut errand = Errand::new(work, None);
    if let Some(destination) = &request.destination {
        let place = place(destination).map_err(|error| exception(&error, Some(destination)))?;
        let (place, single_name) =
            if inventory.single().is_some() { place.for_single() } else { (place, None) };
        errand.destination = Some(place);
        errand.single_name = single_name;
    }
    errand.if_exists = request.if_exists()?;
    let suffix = request.suffix.to_str().ok_or_else(|| InvalidRequest::new_err("suffix is not UTF-8"))?;
    errand.suffix = suffix.to_owned();
    errand.bind_path = request.bind_path;
    errand.durable = request.durable;
    errand.limits = limits(request.threads);
    if errand.bind_path && errand.renames(inventory) {
        return Err(InvalidRequest::new_err(
            "bind_path binds the object's own name; name a prefix that ends in / as destination, so that the object keeps it",
        ));
    }
    Ok(errand)
}

fn limits(threads: Option<NonZeroUsize>) -> Limits {
    let usual = Limits::default();
    Limits { threads: threads.map_or(usual.threads, NonZeroUsize::get), ..usual }
}

fn place(address: &Path) -> Result<Place, Error> {
    Place::open(address, Access::default())
}

fn open(py: Python<'_>, source: &Path, selection: Selection) -> PyResult<Inventory> {
    let at = source.to_owned();
    let inventory = watched(py, move || Inventory::open(&place(&at)?, selection))?;
    inventory.map_err(|error| exception(&error, Some(source)))
}

fn list(py: Python<'_>, source: &Path, selection: Selection) -> PyResult<Listing> {
    let at = source.to_owned();
    let listing = watched(py, move || Listing::list(&place(&at)?, &selection))?;
    listing.map_err(|error| exception(&error, Some(source)))
}

/// The listing of these objects alone.
fn share(source: &Path, objects: &[Listed]) -> Result<Listing, Error> {
    let place = place(source)?;
    if let Some(folder) = place.folder() {
        let files: Vec<PathBuf> = objects.iter().map(|(path, ..)| path.into()).collect();
        return Ok(Listing::of_tree(Tree::named(folder, &files, &|| false)?));
    }
    let mut known = Vec::with_capacity(objects.len());
    for (path, size, e_tag) in objects {
        let path = path.to_str().ok_or_else(|| Error::Location {
            reason: format!("{}: the name is not UTF-8, which a key is", path.display()),
        })?;
        known.push(Object::new(path.to_owned(), *size, e_tag.clone()));
    }
    Ok(Listing::of_objects(place, known))
}
