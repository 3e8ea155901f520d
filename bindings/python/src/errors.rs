//! From the library's errors to Python's exceptions: each class has its own, and what the operating system refused is
//! an `OSError` with its number, so that `FileNotFoundError` and the like are what they always are; an output that exists and
//! a place in a store that holds nothing have the numbers that files have for that.
//!
//! | class of the library | exception |
//! |---|---|
//! | `Authentication` | `cipherloom.exceptions.InvalidTag` |
//! | `Key` | `cipherloom.exceptions.InvalidKey` |
//! | `Usage` | `cipherloom.exceptions.InvalidRequest`, a `ValueError` |
//! | `Io` | `OSError` and its subclasses; `InternalError` if the cryptographic library or the random source failed |

use crate::watch::Failure;
use cipherloom::{Error, ErrorClass, Unlisted};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::import_exception;
use pyo3::prelude::*;
use std::io::ErrorKind;
use std::path::Path;

import_exception!(cipherloom.exceptions, InvalidTag);
import_exception!(cipherloom.exceptions, InvalidKey);
import_exception!(cipherloom.exceptions, InvalidRequest);
import_exception!(cipherloom.exceptions, InvalidPublication);
import_exception!(cipherloom.exceptions, InternalError);

/// The numbers that the operating system gives for a name that is taken (`EEXIST`) and for one that leads nowhere (`ENOENT`), on
/// every system that has them.
const EXISTS: i32 = 17;
const MISSING: i32 = 2;

/// The library's messages name the command's options; these are what they are called here.
const NAMES: [(&str, &str); 14] = [
    ("--if-exists skip", "if_exists=\"skip\""),
    ("--if-exists overwrite", "if_exists=\"overwrite\""),
    ("leave --suffix out", "leave suffix out"),
    ("; name one of these, or `-` for standard input", "; name one of these"),
    ("(or the context or bound path)", "(or the associated data or bound path)"),
    ("the bound path differs", "the associated data or bound path differs"),
    (
        "give the identity file of one of them instead of a passphrase",
        "give identity= instead of passphrase=",
    ),
    ("(--root-ca FILE)", "(root_ca=)"),
    ("(--passphrase-file FILE)", "(passphrase=)"),
    ("(--license FILE)", "(license=)"),
    (
        "--update keeps identifier and key, another --key-file makes it another publication",
        "another key_file makes it another publication, and the command's `lcp encrypt --update` keeps both",
    ),
    ("choose another --key-file", "choose another key_file"),
    ("choose another --out", "choose another out"),
    ("`cipherloom lcp encrypt`", "cipherloom.lcp.encrypt"),
];

/// The message of an error, in the words of this package.
pub(crate) fn message(error: &Error) -> String {
    in_python_words(error.to_string())
}

/// A message with the command's options as they are called here.
pub(crate) fn in_python_words(text: String) -> String {
    NAMES.iter().fold(text, |text, (command, python)| text.replace(command, python))
}

/// The exception for an error, about the file or folder at `path` if there is one.
pub(crate) fn exception(error: &Error, path: Option<&Path>) -> PyErr {
    let text = message(error);
    let number = match error {
        Error::Stopped => return PyKeyboardInterrupt::new_err(()),
        Error::Random(_) | Error::Library { .. } => return InternalError::new_err(text),
        Error::Io { source, .. } => source.raw_os_error(),
        Error::OutputExists => Some(EXISTS),
        Error::NothingThere => Some(MISSING),
        _ => None,
    };
    let named = || match path {
        Some(path) => format!("{}: {text}", path.display()),
        None => text.clone(),
    };
    match (error.class(), number, path) {
        (ErrorClass::Authentication, ..) => InvalidTag::new_err(named()),
        (ErrorClass::Key, ..) => InvalidKey::new_err(named()),
        (ErrorClass::Usage, ..) => InvalidRequest::new_err(named()),
        // Of these arguments Python makes the right subclass.
        (ErrorClass::Io, Some(number), Some(path)) => {
            PyOSError::new_err((number, text, path.as_os_str().to_owned()))
        }
        (ErrorClass::Io, Some(number), None) => PyOSError::new_err((number, text)),
        (ErrorClass::Io, None, _) => PyOSError::new_err(named()),
    }
}

/// The name of the exception that [`exception`] gives, for those that are told and not raised.
pub(crate) fn exception_name(error: &Error) -> &'static str {
    match error {
        Error::Random(_) | Error::Library { .. } => "InternalError",
        Error::OutputExists => "FileExistsError",
        Error::NothingThere => "FileNotFoundError",
        Error::Io { source, .. } => os_error_name(source.kind()),
        _ => match error.class() {
            ErrorClass::Authentication => "InvalidTag",
            ErrorClass::Key => "InvalidKey",
            ErrorClass::Usage => "InvalidRequest",
            ErrorClass::Io => "OSError",
        },
    }
}

/// The name of the exception that Python has for what the operating system refused.
pub(crate) fn os_error_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "FileNotFoundError",
        ErrorKind::PermissionDenied => "PermissionError",
        ErrorKind::AlreadyExists => "FileExistsError",
        ErrorKind::IsADirectory => "IsADirectoryError",
        ErrorKind::NotADirectory => "NotADirectoryError",
        _ => "OSError",
    }
}

/// An error of reading or writing a file that the library does not know.
pub(crate) fn os_error(action: &'static str, source: std::io::Error, path: &Path) -> PyErr {
    exception(&Error::io(action, source), Some(path))
}

/// What could not be listed, as failures.
pub(crate) fn unlisted(unlisted: &[Unlisted]) -> Vec<Failure> {
    let failure =
        |each: &Unlisted| (each.path.clone().into(), message(&each.error), exception_name(&each.error));
    unlisted.iter().map(failure).collect()
}
