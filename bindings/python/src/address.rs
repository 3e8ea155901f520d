//! What is the address of a place in a store, and what a path: the rule of the command, which the Python front asks for here.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Whether this is the address of a place in a store (`s3://bucket/prefix`), and no path.
#[pyfunction(name = "is_address")]
pub(crate) fn told_as_address(place: PathBuf) -> bool {
    is_address(&place)
}

/// `file:///folder` as `/folder`; all else as it is.
#[pyfunction(name = "without_scheme")]
pub(crate) fn told_without_scheme(place: PathBuf) -> OsString {
    without_scheme(place).into_os_string()
}

pub(crate) fn is_address(place: &Path) -> bool {
    let scheme = place.to_str().and_then(|text| text.split_once("://"));
    scheme.is_some_and(|(scheme, _)| {
        scheme != "file" && !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

pub(crate) fn without_scheme(place: PathBuf) -> PathBuf {
    let folder = place.to_str().and_then(|text| text.strip_prefix("file://"));
    folder.filter(|folder| folder.starts_with('/')).map(PathBuf::from).unwrap_or(place)
}
