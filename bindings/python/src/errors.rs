//! From the library's errors to Python's exceptions: each kind has its own, and what the operating system refused is
//! an `OSError` with its number, so that `FileNotFoundError` and the like are what they always are. An output that exists and
//! a place in a store that holds nothing have the numbers that files have for that; so do files that an index does not list, and
//! those that it lists and that are missing.
//!
//! | kind | exception |
//! |---|---|
//! | `Authentication` | `cipherloom.exceptions.InvalidTag` |
//! | `Key` | `cipherloom.exceptions.InvalidKey` |
//! | `Usage` | `cipherloom.exceptions.InvalidRequest`, a `ValueError` |
//! | `Content` (LCP) | `cipherloom.exceptions.InvalidPublication`, a `ValueError` |
//! | `Io` | `OSError` and its subclasses; `InternalError` if the cryptographic library or the random source failed |
//!
//! The remedy, in the names of this package's parameters, is a note of the exception (`hint: …`), or a failure's `hint`.

use crate::hints::{Hint, hint, hint_for_lcp};
use crate::watch::Failure;
use cipherloom::{Error, ErrorKind, error::IndexFault, internal::Unlisted};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::import_exception;
use pyo3::prelude::*;
use std::io;
use std::path::{Path, PathBuf};

import_exception!(cipherloom.exceptions, InvalidTag);
import_exception!(cipherloom.exceptions, InvalidKey);
import_exception!(cipherloom.exceptions, InvalidRequest);
import_exception!(cipherloom.exceptions, InvalidPublication);
import_exception!(cipherloom.exceptions, InternalError);

/// The numbers that the operating system gives for a name that is taken (`EEXIST`) and for one that leads nowhere (`ENOENT`), on
/// every system that has them.
const EXISTS: i32 = 17;
const MISSING: i32 = 2;

/// Which exception an error becomes.
enum Class {
    Interrupt,
    Tag,
    Key,
    Request,
    Publication,
    Internal,
    /// With the operating system's number, if there is one.
    System(Option<i32>),
}

/// An error in Python's terms, to be raised or to be listed in a report.
pub(crate) struct Trouble {
    class: Class,
    text: String,
    hint: Option<Hint>,
    /// What it is about, if it knows that.
    path: Option<PathBuf>,
}

impl From<&Error> for Trouble {
    fn from(error: &Error) -> Trouble {
        let path = error.path().map(Path::to_owned);
        let error = error.without_path();
        let class = match (error, error.kind()) {
            (Error::Stopped, _) => Class::Interrupt,
            (Error::Random(_) | Error::Internal { .. }, _) => Class::Internal,
            (Error::Io { source, .. }, _) => Class::System(source.raw_os_error()),
            (Error::OutputExists | Error::OutputConflict { .. }, _) => Class::System(Some(EXISTS)),
            (Error::NothingThere | Error::Index(IndexFault::Missing), _) => Class::System(Some(MISSING)),
            (Error::Index(IndexFault::Extra { of: None }), _) => Class::System(Some(EXISTS)),
            (_, ErrorKind::Authentication) => Class::Tag,
            (_, ErrorKind::Key) => Class::Key,
            (_, ErrorKind::Usage) => Class::Request,
            (_, ErrorKind::Io) => Class::System(None),
        };
        Trouble { class, text: error.to_string(), hint: hint(error), path }
    }
}

impl From<&cipherloom_lcp::Error> for Trouble {
    fn from(error: &cipherloom_lcp::Error) -> Trouble {
        use cipherloom_lcp::{Error, ErrorKind as Kind};
        let path = error.path().map(Path::to_owned);
        let error = error.without_path();
        let class = match (error, error.kind()) {
            (Error::Library(error), _) => {
                let trouble = Trouble::from(error);
                return Trouble { path: trouble.path.or(path), ..trouble };
            }
            (Error::Io { source, .. }, _) => Class::System(source.raw_os_error()),
            (Error::HasLicense, _) => Class::System(Some(EXISTS)),
            (_, Kind::Authentication) => Class::Tag,
            (_, Kind::Key) => Class::Key,
            (_, Kind::Usage) => Class::Request,
            (_, Kind::Content) => Class::Publication,
            (_, Kind::Io) => Class::System(None),
        };
        Trouble { class, text: error.to_string(), hint: hint_for_lcp(error), path }
    }
}

impl Trouble {
    /// The exception, about the file or folder at `path` if there is one.
    fn raise(self, path: Option<&Path>) -> PyErr {
        let Trouble { class, text, hint, path: own } = self;
        let path = own.as_deref().or(path);
        let named = || path.map_or_else(|| text.clone(), |path| format!("{}: {text}", path.display()));
        let exception = match class {
            Class::Interrupt => return PyKeyboardInterrupt::new_err(()),
            Class::Tag => InvalidTag::new_err(named()),
            Class::Key => InvalidKey::new_err(named()),
            Class::Request => InvalidRequest::new_err(named()),
            Class::Publication => InvalidPublication::new_err(named()),
            Class::Internal => InternalError::new_err(text),
            // Of these arguments Python makes the right subclass.
            Class::System(Some(number)) => match path {
                Some(path) => PyOSError::new_err((number, text, path.as_os_str().to_owned())),
                None => PyOSError::new_err((number, text)),
            },
            Class::System(None) => PyOSError::new_err(named()),
        };
        with_hint(exception, hint.as_deref())
    }

    /// The failure for a report, with the name of the exception that [`Trouble::raise`] gives.
    pub(crate) fn failure(self, path: impl Into<PathBuf>) -> Failure {
        let name = match self.class {
            Class::Interrupt => "KeyboardInterrupt",
            Class::Tag => "InvalidTag",
            Class::Key => "InvalidKey",
            Class::Request => "InvalidRequest",
            Class::Publication => "InvalidPublication",
            Class::Internal => "InternalError",
            Class::System(number) => match number.map(|number| io::Error::from_raw_os_error(number).kind()) {
                Some(io::ErrorKind::NotFound) => "FileNotFoundError",
                Some(io::ErrorKind::PermissionDenied) => "PermissionError",
                Some(io::ErrorKind::AlreadyExists) => "FileExistsError",
                Some(io::ErrorKind::IsADirectory) => "IsADirectoryError",
                Some(io::ErrorKind::NotADirectory) => "NotADirectoryError",
                _ => "OSError",
            },
        };
        (path.into().into_os_string(), self.text, name, self.hint)
    }
}

/// The exception for an error of the library or of LCP, about the file or folder at `path` if there is one.
pub(crate) fn exception<'e, E>(error: &'e E, path: Option<&Path>) -> PyErr
where
    Trouble: From<&'e E>,
{
    Trouble::from(error).raise(path)
}

/// Raises the errors of the library and of LCP.
pub(crate) trait OrRaise<T> {
    /// The value, or [`exception`].
    fn or_raise(self, path: Option<&Path>) -> PyResult<T>;
}

impl<T, E> OrRaise<T> for Result<T, E>
where
    Trouble: for<'e> From<&'e E>,
{
    fn or_raise(self, path: Option<&Path>) -> PyResult<T> {
        self.map_err(|error| exception(&error, path))
    }
}

/// The exception with a remedy as its note.
pub(crate) fn with_hint(exception: PyErr, hint: Option<&str>) -> PyErr {
    if let Some(hint) = hint {
        // An exception without its note is still the right one.
        let _ = Python::attach(|py| exception.add_note(py, format!("hint: {hint}")));
    }
    exception
}

/// An error of reading or writing a file that the library does not know.
pub(crate) fn os_error(action: &'static str, source: io::Error, path: &Path) -> PyErr {
    exception(&Error::io(action, source), Some(path))
}

/// What could not be listed, as failures.
pub(crate) fn unlisted(unlisted: &[Unlisted]) -> Vec<Failure> {
    unlisted.iter().map(|each| Trouble::from(&each.error).failure(&each.path)).collect()
}
