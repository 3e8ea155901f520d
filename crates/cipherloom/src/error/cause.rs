//! What made an operation fail, comparable: front ends sum up errors that repeat, and a run ends on some.

use super::{Error, OutputFault, RunFault};
use std::io::{self, ErrorKind};
use std::mem::{Discriminant, discriminant};

/// What an [`Error`] has in common with others of the same cause: its kind, what was tried, and the reason. Names of files,
/// lengths and positions do not count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cause {
    kind: Discriminant<Error>,
    run_fault: Option<Discriminant<RunFault>>,
    output_fault: Option<Discriminant<OutputFault>>,
    action: Option<&'static str>,
    reason: Option<ErrorKind>,
    code: Option<i32>,
    /// The reason where it is in words.
    words: Option<String>,
}

impl Error {
    /// The operating system's refusal of `action`, a verb phrase: "read the file".
    #[must_use]
    pub fn io(action: &'static str, source: io::Error) -> Error {
        Error::Io { action, source }
    }

    /// What this error has in common with others of the same cause.
    #[must_use]
    pub fn cause(&self) -> Cause {
        let (action, source) = match self {
            Error::Io { action, source } | Error::Run(RunFault::DestinationRefused { action, source }) => {
                (Some(*action), Some(source))
            }
            Error::Store { action, .. } => (Some(*action), None),
            _ => (None, None),
        };
        Cause {
            kind: discriminant(self),
            run_fault: if let Error::Run(fault) = self { Some(discriminant(fault)) } else { None },
            output_fault: if let Error::Output(fault) = self { Some(discriminant(fault)) } else { None },
            action,
            reason: source.map(io::Error::kind),
            code: source.and_then(io::Error::raw_os_error),
            words: match self {
                Error::Store { reason, .. }
                | Error::Location { reason }
                | Error::OutputConflict { reason } => Some(reason.clone()),
                _ => None,
            },
        }
    }

    /// The same error of an operation on the destination: [`RunFault::DestinationRefused`] if no other output would fare
    /// better (no space, quota used up, mounted read-only, a failing device).
    #[must_use]
    pub fn of_destination(self) -> Error {
        match self {
            Error::Io { action, source } if concerns_all(&source) => {
                Error::Run(RunFault::DestinationRefused { action, source })
            }
            error => error,
        }
    }

    /// Whether it ends a run: the files that were not tried would fail as well.
    #[must_use]
    pub fn ends_run(&self) -> bool {
        matches!(self, Error::Run(fault) if fault.ends_run())
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
        let collision = |other: &str| Error::Run(RunFault::NameCollision { other: other.to_owned() }).cause();
        assert_eq!(collision("one"), collision("other"));
        assert_ne!(collision("one"), Error::Run(RunFault::KeyOpensNothing { tried: 20 }).cause());
        let store =
            |reason: &str| Error::Store { action: "read the object", reason: reason.to_owned() }.cause();
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
