//! Readium LCP: publications protected, licensed, checked, opened, described. The Python front is `cipherloom/lcp.py`.
//!
//! Errors become the exceptions of [`crate::errors`]; a publication or licence that is malformed is an
//! `InvalidPublication`. What Python gets is plain: dictionaries of paths, numbers and words.

mod licences;
mod opened;
mod protection;

pub(crate) use licences::lcp_license;
pub(crate) use opened::{lcp_check, lcp_decrypt, lcp_inspect};
pub(crate) use protection::lcp_encrypt;

use crate::errors::{self, InvalidKey, InvalidPublication, InvalidRequest, InvalidTag, os_error};
use cipherloom::key::{SECRET_LIMIT, read_secret};
use cipherloom_lcp::licence::{Licence, Roots, UserKey};
use cipherloom_lcp::{Class, Error, Subject};
use pyo3::exceptions::{PyFileExistsError, PyOSError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::Path;
use zeroize::Zeroizing;

/// What went wrong, about `path`, in the words of this package.
fn exception(error: &Error, path: &Path) -> PyErr {
    let text = || format!("{}: {}", path.display(), message(error));
    match (error, error.class()) {
        (Error::Library(error), _) => errors::exception(error, Some(path)),
        (Error::Io { action, source }, _) => {
            let number = source.raw_os_error();
            number.map_or_else(
                || PyOSError::new_err(text()),
                |number| {
                    PyOSError::new_err((
                        number,
                        format!("cannot {action}: {source}"),
                        path.as_os_str().to_owned(),
                    ))
                },
            )
        }
        (Error::HasLicence, _) => PyFileExistsError::new_err(text()),
        (_, Class::Usage) => InvalidRequest::new_err(text()),
        (_, Class::Key) => InvalidKey::new_err(text()),
        (_, Class::Content) => InvalidPublication::new_err(text()),
        (_, Class::Authentication) => InvalidTag::new_err(text()),
        (_, Class::Io) => PyOSError::new_err(text()),
    }
}

fn message(error: &Error) -> String {
    errors::in_python_words(error.to_string())
}

/// The name of the exception that [`exception`] gives.
fn exception_name(error: &Error) -> &'static str {
    match (error, error.class()) {
        (Error::Library(error), _) => errors::exception_name(error),
        (Error::Io { source, .. }, _) => errors::os_error_name(source.kind()),
        (Error::HasLicence, _) => "FileExistsError",
        (_, Class::Usage) => "InvalidRequest",
        (_, Class::Key) => "InvalidKey",
        (_, Class::Content) => "InvalidPublication",
        (_, Class::Authentication) => "InvalidTag",
        (_, Class::Io) => "OSError",
    }
}

fn subject(subject: Subject) -> &'static str {
    match subject {
        Subject::Unknown => "unknown",
        Subject::Licence => "licence",
        Subject::Publication(kind) => kind.media_type(),
    }
}

/// The number of threads to use: those asked for, or all.
fn workers(threads: Option<NonZeroUsize>) -> NonZeroUsize {
    threads.unwrap_or_else(|| std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN))
}

fn user_key(passphrase: &str) -> UserKey {
    UserKey::basic(passphrase)
}

fn read(path: &Path) -> PyResult<Zeroizing<Vec<u8>>> {
    let file = read_secret(path, SECRET_LIMIT).map_err(|error| os_error("read it", error, path))?;
    Ok(file.contents)
}

fn roots(path: Option<&Path>) -> PyResult<Option<Roots>> {
    let Some(path) = path else { return Ok(None) };
    Roots::from_file(&read(path)?).map(Some).map_err(|fault| exception(&fault.into(), path))
}

fn licence(path: Option<&Path>) -> PyResult<Option<Licence>> {
    let Some(path) = path else { return Ok(None) };
    Licence::parse(&read(path)?).map(Some).map_err(|fault| exception(&fault.into(), path))
}
