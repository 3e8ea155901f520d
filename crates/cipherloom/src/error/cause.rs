//! What made an operation fail, comparable: front ends sum up errors that repeat, and a run ends on some.

use super::{Error, RunFault};
use std::io::{self, ErrorKind};
use std::mem::{Discriminant, discriminant};

/// What an [`Error`] has in common with others of the same cause: its kind, what was tried, and the system's reason. Names,
/// lengths and positions do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cause {
    kind: Discriminant<Error>,
    fault: Option<Discriminant<RunFault>>,
    action: Option<&'static str>,
    reason: Option<ErrorKind>,
    code: Option<i32>,
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
            fault: if let Error::Run(fault) = self { Some(discriminant(fault)) } else { None },
            action,
            reason: source.map(io::Error::kind),
            code: source.and_then(io::Error::raw_os_error),
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
