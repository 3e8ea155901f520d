//! Readium LCP: publications protected, licensed, checked, opened, described. The Python front is `cipherloom/lcp.py`.
//!
//! Errors become the exceptions of [`crate::errors`]. Results are dictionaries of paths, numbers and texts.

mod licenses;
mod opened;
mod protection;

pub(crate) use licenses::lcp_license;
pub(crate) use opened::{lcp_check, lcp_decrypt, lcp_inspect};
pub(crate) use protection::lcp_encrypt;

use crate::errors::{OrRaise, os_error};
use crate::request;
use cipherloom::IfExists;
use cipherloom::key::{SECRET_LIMIT, read_secret};
use cipherloom_lcp::Error;
use cipherloom_lcp::license::{License, Roots, UserKey};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// Python's `Options`, as far as publications have them.
#[derive(FromPyObject)]
pub(crate) struct Options {
    threads: Option<NonZeroUsize>,
    if_exists: String,
    durable: bool,
}

impl Options {
    /// The number of threads to use: those asked for, or all.
    fn threads(&self) -> NonZeroUsize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
    }

    fn if_exists(&self) -> PyResult<IfExists> {
        request::if_exists(&self.if_exists)
    }
}

/// What opens protected publications, and what confirms their licenses.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    passphrase: Option<String>,
    root_ca: Option<PathBuf>,
    license: Option<PathBuf>,
}

impl Opening {
    fn user_key(&self) -> Option<UserKey> {
        self.passphrase.as_deref().map(UserKey::basic)
    }

    fn roots(&self) -> PyResult<Option<Roots>> {
        let Some(path) = &self.root_ca else { return Ok(None) };
        Roots::from_file(&read(path)?).map(Some).map_err(Error::from).or_raise(Some(path))
    }

    fn license(&self) -> PyResult<Option<License>> {
        let Some(path) = &self.license else { return Ok(None) };
        License::parse(&read(path)?).map(Some).map_err(Error::from).or_raise(Some(path))
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.passphrase.zeroize();
    }
}

fn read(path: &Path) -> PyResult<Zeroizing<Vec<u8>>> {
    let file = read_secret(path, SECRET_LIMIT).map_err(|error| os_error("read it", error, path))?;
    Ok(file.contents)
}
