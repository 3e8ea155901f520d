//! What the Python front asks for: one form for trees in folders and in object stores, one door that goes to either.

use crate::errors::{InvalidRequest, exception};
use crate::keyset::Keyset;
use crate::watch::Failure;
use crate::{stores, tree};
use cipherloom::address::{is_address, without_scheme};
use cipherloom::{Error, Format, IfExists, Links, Selection, Work};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

/// An object (or file) of a listing: its path below the source, its size in bytes, its version (a store's ETag; size and time
/// of a file).
pub(crate) type Listed = (OsString, u64, Option<String>);

/// What the Python front says of a run, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Request {
    /// "encrypt", "decrypt", "verify", "rekey" or "copy".
    pub(crate) operation: String,
    /// A path, or the address of a place in a store.
    pub(crate) source: PathBuf,
    /// `None` when verifying.
    pub(crate) destination: Option<PathBuf>,
    /// `None` when copying.
    pub(crate) key: Option<Py<Keyset>>,
    /// The key to encrypt with when re-keying.
    pub(crate) new_key: Option<Py<Keyset>>,
    pub(crate) threads: Option<NonZeroUsize>,
    if_exists: String,
    links: String,
    pub(crate) include: Vec<String>,
    pub(crate) exclude: Vec<String>,
    /// Only these objects of the source, as [`list_objects`] told them; `include` and `exclude` are not asked.
    pub(crate) objects: Option<Vec<Listed>>,
    pub(crate) suffix: OsString,
    pub(crate) bind_path: bool,
    pub(crate) durable: bool,
    /// Called with the totals of bytes and entries once they are known; returns what is called with those so far.
    pub(crate) progress: Option<Py<PyAny>>,
}

/// Runs an operation. Returns the summary (JSON) and the failures.
#[pyfunction]
pub(crate) fn process(py: Python<'_>, mut request: Request) -> PyResult<(String, Vec<Failure>)> {
    request.source = without_scheme(&request.source).to_owned();
    request.destination = request.destination.map(|place| without_scheme(&place).to_owned());
    let is_stored = is_address(&request.source) || request.destination.as_deref().is_some_and(is_address);
    if is_stored { stores::process(py, &request) } else { tree::process(py, &request) }
}

/// Lists what there is at a path or address, and tells what could not be listed.
#[pyfunction]
pub(crate) fn list_objects(
    py: Python<'_>,
    source: PathBuf,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    let (source, selection) = (without_scheme(&source), selection(&include, &exclude)?);
    if is_address(source) {
        stores::list_objects(py, source, selection)
    } else {
        tree::list_objects(py, source, &selection)
    }
}

/// Plans the encryption of what there is at a path or address, with keys of this template. Returns whether this is a plan
/// for a store, and its description (JSON).
#[pyfunction]
#[pyo3(signature = (source, template, threads, include, exclude))]
pub(crate) fn plan(
    py: Python<'_>,
    source: PathBuf,
    template: &str,
    threads: Option<NonZeroUsize>,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<(bool, String)> {
    let template = template.parse().map_err(|error: Error| exception(&error, None))?;
    let (source, selection) = (without_scheme(&source), selection(&include, &exclude)?);
    if is_address(source) {
        Ok((true, stores::plan(py, source, threads, selection)?))
    } else {
        Ok((false, tree::plan(py, source, template, threads, &selection)?))
    }
}

impl Request {
    /// The work between the formats of the keys.
    pub(crate) fn work(&self) -> PyResult<Work<'_>> {
        match (self.operation.as_str(), self.format(), self.new_format()) {
            ("encrypt", Some(key), None) => Ok(Work::Encrypt(key)),
            ("decrypt", Some(key), None) => Ok(Work::Decrypt(key)),
            ("verify", Some(key), None) => Ok(Work::Verify(key)),
            ("rekey", Some(from), Some(to)) => Ok(Work::Rekey { from, to }),
            ("copy", None, None) => Ok(Work::Copy),
            (operation, ..) => {
                Err(InvalidRequest::new_err(format!("no operation {operation:?} with these keys")))
            }
        }
    }

    /// The format of the first key.
    pub(crate) fn format(&self) -> Option<&Arc<Format>> {
        self.key.as_ref().map(|key| key.get().format())
    }

    /// The format of the key to encrypt with when re-keying.
    pub(crate) fn new_format(&self) -> Option<&Arc<Format>> {
        self.new_key.as_ref().map(|key| key.get().format())
    }

    pub(crate) fn if_exists(&self) -> PyResult<IfExists> {
        chosen("if_exists", &self.if_exists, &IF_EXISTS)
    }

    pub(crate) fn links(&self) -> PyResult<Links> {
        chosen("links", &self.links, &LINKS)
    }

    pub(crate) fn selection(&self) -> PyResult<Selection> {
        selection(&self.include, &self.exclude)
    }
}

fn selection(include: &[String], exclude: &[String]) -> PyResult<Selection> {
    Selection::new(include, exclude).map_err(|error| exception(&error, None))
}

pub(crate) const IF_EXISTS: [(&str, IfExists); 3] =
    [("fail", IfExists::Fail), ("skip", IfExists::Skip), ("overwrite", IfExists::Overwrite)];
const LINKS: [(&str, Links); 3] =
    [("skip", Links::Skip), ("copy", Links::Copy), ("copy-all", Links::CopyAll)];

pub(crate) fn chosen<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    match choices.iter().find(|(known, _)| *known == name) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let known: Vec<_> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
            let known = known.join(", ");
            Err(InvalidRequest::new_err(format!("{option} is one of {known}, not {name:?}")))
        }
    }
}
