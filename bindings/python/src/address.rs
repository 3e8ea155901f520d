//! What is the address of a place in a store, and what a path: the library's rule, for the Python front.

use cipherloom::address;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

/// Whether this is the address of a place in a store (`s3://bucket/prefix`), and no path.
#[pyfunction]
pub(crate) fn is_address(place: PathBuf) -> bool {
    address::is_address(&place)
}

/// `file:///folder` as `/folder`; all else as it is.
#[pyfunction]
pub(crate) fn without_scheme(place: PathBuf) -> OsString {
    address::without_scheme(&place).into()
}
