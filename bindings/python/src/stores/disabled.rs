//! What a build without stores says.

use crate::errors::InvalidRequest;
use crate::request::{Listed, Request};
use crate::watch::Failure;
use cipherloom::Selection;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::Path;

pub(crate) fn process(_py: Python<'_>, _request: &Request) -> PyResult<(String, Vec<Failure>)> {
    Err(missing())
}

pub(crate) fn list_objects(
    _py: Python<'_>,
    _source: &Path,
    _selection: Selection,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    Err(missing())
}

pub(crate) fn plan(
    _py: Python<'_>,
    _source: &Path,
    _threads: Option<NonZeroUsize>,
    _selection: Selection,
) -> PyResult<String> {
    Err(missing())
}

fn missing() -> PyErr {
    InvalidRequest::new_err(
        "this build of cipherloom has no object stores; the usual one has (pip install . without MATURIN_PEP517_ARGS)",
    )
}
