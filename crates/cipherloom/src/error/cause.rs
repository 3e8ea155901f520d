//! How errors are made, what an error is about (a path that it has, the output rather than the source), and what made an
//! operation fail, comparable: front ends sum up errors that repeat, and a run ends on some.

use super::{Error, IndexFault};
use std::io::{self, ErrorKind};
use std::mem::{Discriminant, discriminant};
use std::path::Path;

/// What an [`Error`] has in common with others of the same cause: its kind, what was tried, and the reason. Names of files,
/// lengths and positions do not count.
///
/// ```
/// use cipherloom::Error;
/// use std::io::ErrorKind;
/// use std::path::Path;
///
/// let refused = |action, kind: ErrorKind| Error::io(action, kind.into());
/// let full = refused("write the output", ErrorKind::StorageFull).at(Path::new("sealed/one"));
/// let another = refused("write the output", ErrorKind::StorageFull).at(Path::new("sealed/two"));
/// assert_eq!(full.cause(), another.cause());
/// assert!(full.is_about_output() && !full.ends_run());
/// assert!(refused("write the output", ErrorKind::StorageFull).of_destination().ends_run());
/// assert!(matches!(full.without_path(), Error::Io { .. }));
/// assert_ne!(full.cause(), Error::internal("a state that should be impossible").cause());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cause {
    kind: Discriminant<Error>,
    action: Option<&'static str>,
    reason: Option<ErrorKind>,
    code: Option<i32>,
    /// The reason where it is in words.
    words: Option<String>,
}

/// What is tried with outputs, in the words of [`Error::Io`].
const ABOUT_OUTPUT: [&str; 16] = [
    "create the output",
    "force a folder to stable storage",
    "force the output to stable storage",
    "give the output its name",
    "make the link",
    "make the output folder",
    "open the output folder",
    "remove the file",
    "remove the folder",
    "remove the output's temporary name",
    "rename the output",
    "replace the link",
    "replace the output",
    "set a folder's permissions and time",
    "set the output's permissions and time",
    "write the output",
];

impl Error {
    /// The operating system's refusal of `action`, a verb phrase: "read the file".
    #[must_use]
    pub fn io(action: &'static str, source: io::Error) -> Error {
        Error::Io { action, source }
    }

    /// A state that should be impossible, in words.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Error {
        Error::Internal { message: message.into() }
    }

    /// The error that a panic with this payload becomes.
    #[doc(hidden)]
    #[must_use]
    pub fn from_panic(payload: &(dyn std::any::Any + Send)) -> Error {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        Error::Internal { message: text.unwrap_or("a thread panicked").to_owned() }
    }

    /// The same error, which is about `path`. One that has a path keeps it.
    #[must_use]
    pub fn at(self, path: &Path) -> Error {
        match self {
            Error::At { .. } => self,
            error => Error::At { path: path.to_owned(), source: Box::new(error) },
        }
    }

    /// The path that it is about, if it has one. The errors of a run's events have none: the event has it.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::At { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The same error without its path, for those who match variants.
    #[must_use]
    pub fn without_path(&self) -> &Error {
        match self {
            Error::At { source, .. } => source.without_path(),
            error => error,
        }
    }

    /// True if the trouble is with the output, not with what it is made from: the path to show is the output's.
    #[must_use]
    pub fn is_about_output(&self) -> bool {
        match self.without_path() {
            Error::Io { action, .. } => ABOUT_OUTPUT.contains(action),
            Error::OutputExists
            | Error::Index(IndexFault::Foreign | IndexFault::WrittenMeanwhile | IndexFault::InTheWay)
            | Error::LinkInDestination
            | Error::NamesNotAtomic
            | Error::DestinationRefused { .. } => true,
            _ => false,
        }
    }

    /// What this error has in common with others of the same cause.
    #[must_use]
    pub fn cause(&self) -> Cause {
        let error = self.without_path();
        let (action, source) = match error {
            Error::Io { action, source } | Error::DestinationRefused { action, source } => {
                (Some(*action), Some(source))
            }
            Error::Store { action, .. } => (Some(*action), None),
            _ => (None, None),
        };
        Cause {
            kind: discriminant(error),
            action,
            reason: source.map(io::Error::kind),
            code: source.and_then(io::Error::raw_os_error),
            words: match error {
                Error::Store { reason, .. } | Error::OutputConflict { reason } => Some(reason.clone()),
                Error::Location(fault) => Some(fault.to_string()),
                Error::Index(fault) => Some(fault.to_string()),
                _ => None,
            },
        }
    }

    /// The same error of an operation on the destination: [`Error::DestinationRefused`] if no other output would fare better
    /// (no space, quota used up, mounted read-only, a failing device).
    #[must_use]
    pub fn of_destination(self) -> Error {
        match self {
            Error::Io { action, source } if concerns_all(&source) => {
                Error::DestinationRefused { action, source }
            }
            error => error,
        }
    }

    /// Whether it ends a run: the files that were not tried would fail as well.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        matches!(self.without_path(), Error::DestinationRefused { .. } | Error::KeyOpensNothing { .. })
    }
}

/// Whether a file system that says this would refuse every other output too.
fn concerns_all(error: &io::Error) -> bool {
    /// EIO, the same number on all Unix systems.
    const INPUT_OUTPUT: i32 = 5;
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::ReadOnlyFilesystem)
        || (cfg!(unix) && error.raw_os_error() == Some(INPUT_OUTPUT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreFault;

    #[test]
    fn causes_are_equal_where_only_the_file_differs() {
        let refused = |action, kind: ErrorKind| Error::io(action, kind.into()).cause();
        let read = refused("read the file", ErrorKind::PermissionDenied);
        assert_eq!(read, refused("read the file", ErrorKind::PermissionDenied));
        assert_ne!(read, refused("open the file", ErrorKind::PermissionDenied));
        assert_ne!(read, refused("read the file", ErrorKind::NotFound));
        let damaged = |index| Error::DamagedSegment { index, offset: 7 }.cause();
        assert_eq!(damaged(1), damaged(2));
        assert_ne!(damaged(1), Error::FirstSegment.cause());
        let collision = |other: &str| Error::NameCollision { other: other.to_owned() }.cause();
        assert_eq!(collision("one"), collision("other"));
        assert_ne!(collision("one"), Error::KeyOpensNothing { tried: 20 }.cause());
        let store = |reason: &str| {
            Error::Store { action: "read the object", fault: StoreFault::Other, reason: reason.to_owned() }
                .cause()
        };
        assert_eq!(store("access denied"), store("access denied"));
        assert_ne!(store("access denied"), store("the object is archived"));
    }

    #[test]
    fn only_what_every_output_would_meet_ends_a_run() {
        let of_destination = |kind: ErrorKind| Error::io("write the output", kind.into()).of_destination();
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::ReadOnlyFilesystem] {
            assert!(of_destination(kind).ends_run(), "{kind:?}");
        }
        assert!(!of_destination(ErrorKind::PermissionDenied).ends_run());
        assert!(!Error::io("read the file", ErrorKind::StorageFull.into()).ends_run());
        #[cfg(unix)]
        assert!(Error::io("write the output", io::Error::from_raw_os_error(5)).of_destination().ends_run());
    }
}
