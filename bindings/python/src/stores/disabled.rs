//! What a build without stores answers.

use crate::errors::InvalidRequest;
use crate::request::{Listing, Ran, Request};
use cipherloom::Error;
use cipherloom::internal::location::Location;
use cipherloom::internal::{IndexStore, Selection};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn process<'py>(
    _: Python<'py>,
    _: &Request,
    _: &Location,
    _: Option<&Location>,
) -> PyResult<Ran<'py>> {
    Err(missing())
}

pub(crate) fn list_objects(_: Python<'_>, _: &Path, _: Selection) -> PyResult<Listing> {
    Err(missing())
}

pub(crate) fn plan<'py>(
    _: Python<'py>,
    _: &Path,
    _: Option<NonZeroUsize>,
    _: Selection,
) -> PyResult<Bound<'py, PyAny>> {
    Err(missing())
}

/// No place is an address here.
pub(crate) fn index_at(_: &Path) -> Result<Option<Arc<dyn IndexStore>>, Error> {
    Ok(None)
}

fn missing() -> PyErr {
    InvalidRequest::new_err(
        "this build of cipherloom has no object stores; the usual one has (pip install . without MATURIN_PEP517_ARGS)",
    )
}
