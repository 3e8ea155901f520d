//! The few classes of errors that a program's exit code distinguishes.

use super::Error;

/// The class of an [`Error`], coarse enough for exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request itself cannot be carried out.
    Usage,
    /// A key, key file or passphrase is missing, damaged or wrong.
    Key,
    /// The publication or license is malformed, or of a kind that cannot be processed.
    Content,
    /// Signature, key or content do not belong together: tampered with, expired, or made with another key.
    Authentication,
    /// The operating system refused.
    Io,
}

impl Error {
    /// What kind of error this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        use Error::*;
        match self {
            At { source, .. } => source.kind(),
            Io { .. } | SourceChanged | Busy | HasLicense | KeyNotKept { .. } => ErrorKind::Io,
            SameOutput
            | NestedOutput
            | KeyFileIsSource
            | KeyFileIsOutput
            | NothingToCheck { .. }
            | ProtectedBefore { .. }
            | TooLargeForServer { .. } => ErrorKind::Usage,
            Library(error) => match error.kind() {
                cipherloom::ErrorKind::Usage => ErrorKind::Usage,
                cipherloom::ErrorKind::Key => ErrorKind::Key,
                cipherloom::ErrorKind::Authentication => ErrorKind::Authentication,
                cipherloom::ErrorKind::Io => ErrorKind::Io,
            },
            License(fault) => fault.kind(),
            NoLicense => ErrorKind::Usage,
            OtherPublication { .. } | Resource { .. } => ErrorKind::Authentication,
            KeyFile { .. }
            | KeyMissing
            | SeveralRecords { .. }
            | NothingToUpdate
            | OtherContentKey { .. } => ErrorKind::Key,
            NotAZip
            | ZipDamaged { .. }
            | TrailingBytes { .. }
            | TooManyEntries { .. }
            | EntryName { .. }
            | DuplicateEntry { .. }
            | Method { .. }
            | ZipPassword { .. }
            | Bomb { .. }
            | ArchiveBomb { .. }
            | EntryDamaged { .. }
            | NotAPublication { .. }
            | MissingPart { .. }
            | PartTooLarge { .. }
            | TooMuch { .. }
            | Xml { .. }
            | Json { .. }
            | AlreadyProtected
            | ForeignProtection { .. }
            | NothingToProtect
            | NotProtected => ErrorKind::Content,
        }
    }
}
