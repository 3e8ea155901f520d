//! The few classes of errors that a program's exit code can tell apart.

use super::Error;

/// What kind of trouble an [`Error`] is, coarse enough for exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The request itself cannot be carried out.
    Usage,
    /// A key, key file or passphrase is missing, damaged or wrong.
    Key,
    /// The publication or licence is malformed, or of a kind that cannot be processed.
    Content,
    /// Signature, key or content do not belong together: tampered with, expired, or made with another key.
    Authentication,
    /// The operating system refused.
    Io,
}

impl Error {
    /// The class of this error.
    #[must_use]
    pub fn class(&self) -> Class {
        use Error::*;
        match self {
            Io { .. } | SourceChanged | Busy | HasLicence | KeyNotKept { .. } => Class::Io,
            SameOutput
            | NestedOutput
            | KeyFileIsSource
            | KeyFileIsOutput
            | NothingToCheck { .. }
            | ProtectedBefore { .. }
            | TooLargeForServer { .. } => Class::Usage,
            Library(error) => match error.class() {
                cipherloom::ErrorClass::Usage => Class::Usage,
                cipherloom::ErrorClass::Key => Class::Key,
                cipherloom::ErrorClass::Authentication => Class::Authentication,
                cipherloom::ErrorClass::Io => Class::Io,
            },
            Licence(fault) => fault.class(),
            NoLicence => Class::Usage,
            NotProtected => Class::Content,
            OtherPublication { .. } | Resource { .. } => Class::Authentication,
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
            | NothingToProtect => Class::Content,
            KeyFile { .. }
            | KeyMissing
            | SeveralRecords { .. }
            | NothingToUpdate
            | OtherContentKey { .. } => Class::Key,
        }
    }
}
