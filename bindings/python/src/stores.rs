//! Trees in object stores: the same operations where source or destination is an address (`s3://bucket/prefix`).
//!
//! A listing made by one process is shared out among others as plain values: path, size and version of each object.

use crate::errors::{InvalidRequest, exception};
use crate::keyset::Keyset;
use crate::tree::{IF_EXISTS, chosen};
use crate::watch::{Failure, Watch};
use cipherloom::{Error, Selection, Tree};
use cipherloom_stores::{Access, Errand, Limits, Listing, Object, Place, Work, run};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An object's path below its place, its size in bytes, its version.
type Listed = (String, u64, Option<String>);

/// Lists what there is at a place: the objects, and what could not be listed.
#[pyfunction]
pub(crate) fn list_objects(
    py: Python<'_>,
    source: PathBuf,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    let selection = Selection::new(&include, &exclude).map_err(|error| exception(&error, None))?;
    let listing = py.detach(|| Listing::list(&place(&source)?, &selection));
    let listing = listing.map_err(|error| exception(&error, Some(&source)))?;
    let failures = listing.unlisted.into_iter().map(|unlisted| {
        (
            unlisted.path,
            crate::errors::message(&unlisted.error),
            crate::errors::exception_name(&unlisted.error),
        )
    });
    let failures = failures.collect();
    Ok((
        listing.objects.into_iter().map(|object| (object.path, object.size, object.e_tag)).collect(),
        failures,
    ))
}

/// What the Python front says of a run, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    operation: String,
    source: PathBuf,
    destination: Option<PathBuf>,
    key: Py<Keyset>,
    new_key: Option<Py<Keyset>>,
    threads: Option<NonZeroUsize>,
    if_exists: String,
    suffix: String,
    bind_path: bool,
    durable: bool,
    /// These objects of the source, as [`list_objects`] told them.
    objects: Vec<Listed>,
}

/// Runs an operation over objects of a place. Returns the summary (JSON) and the failures.
#[pyfunction]
pub(crate) fn process_objects(py: Python<'_>, options: Options) -> PyResult<(String, Vec<Failure>)> {
    let (key, new_key) = (Arc::clone(options.key.get().format()), options.new_key.as_ref());
    let new_key = new_key.map(|key| Arc::clone(key.get().format()));
    let work = match (options.operation.as_str(), new_key) {
        ("encrypt", None) => Work::Encrypt(key),
        ("decrypt", None) => Work::Decrypt(key),
        ("verify", None) => Work::Verify(key),
        // For a run's own records.
        ("copy", None) => Work::Copy,
        ("rekey", Some(to)) => Work::Rekey { from: key, to },
        (operation, _) => {
            return Err(InvalidRequest::new_err(format!("no operation {operation:?} with these keys")));
        }
    };
    let destination = options.destination.as_deref().map(place).transpose();
    let about = options.destination.as_deref().unwrap_or(&options.source);
    let mut errand = Errand::new(work, destination.map_err(|error| exception(&error, Some(about)))?);
    errand.if_exists = chosen("if_exists", &options.if_exists, &IF_EXISTS)?;
    errand.suffix.clone_from(&options.suffix);
    errand.bind_path = options.bind_path;
    errand.durable = options.durable;
    let threads = options.threads.map_or(Limits::default().threads, NonZeroUsize::get);
    errand.limits = Limits { threads, ..Limits::default() };
    let watch = Watch::new(None);
    let summary = watch.during(py, || {
        let listing = Arc::new(share(&options.source, &options.objects)?);
        run(&listing, &errand, &watch)
    })?;
    let summary = summary.map_err(|error| exception(&error, Some(about)))?;
    let summary =
        serde_json::to_string(&summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((summary, watch.into_failures()))
}

fn place(address: &Path) -> Result<Place, Error> {
    Place::open(address, Access::default())
}

/// The listing of these objects alone.
fn share(source: &Path, objects: &[Listed]) -> Result<Listing, Error> {
    let place = place(source)?;
    if let Some(folder) = place.folder() {
        let files: Vec<PathBuf> = objects.iter().map(|(path, ..)| path.into()).collect();
        return Ok(Listing::of_tree(Tree::named(folder, &files, &|| false)?));
    }
    let objects = objects.iter().map(|(path, size, e_tag)| Object::new(path.clone(), *size, e_tag.clone()));
    Ok(Listing::of_objects(place, objects.collect()))
}
