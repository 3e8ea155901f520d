//! What a build without stores answers.

use crate::errors::InvalidRequest;
use crate::request::{Listed, Ran, Request};
use crate::watch::Failure;
use cipherloom::internal::Selection;
use cipherloom::internal::location::Location;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::Path;

pub(crate) fn process<'py>(
    _: Python<'py>,
    _: &Request,
    _: &Location,
    _: Option<&Location>,
) -> PyResult<Ran<'py>> {
    Err(missing())
}

pub(crate) fn list_objects(_: Python<'_>, _: &Path, _: Selection) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
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

fn missing() -> PyErr {
    InvalidRequest::new_err(
        "this build of cipherloom has no object stores; the usual one has (pip install . without MATURIN_PEP517_ARGS)",
    )
}
