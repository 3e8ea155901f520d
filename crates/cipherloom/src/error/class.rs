//! The few classes of errors that a program's exit code can tell apart.

use super::{Error, RunFault};

/// What kind of trouble an [`Error`] is, coarse enough for exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The request itself cannot be carried out: options that contradict each other, unknown names.
    Usage,
    /// The key material is unreadable, unsuitable, or locked with another secret.
    Key,
    /// The content does not open: another key, or the bytes are not those that were written.
    Authentication,
    /// The operating system refused.
    Io,
}

impl Error {
    /// The class of this error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        use Error::*;
        match self {
            Io { .. }
            | Random(_)
            | Library { .. }
            | OutputExists
            | OutputConflict { .. }
            | Store { .. }
            | NothingThere
            | LinkInDestination
            | Output(_)
            | SourceShrank
            | SourceChanged
            | Stopped
            | Calibration { .. }
            | Run(RunFault::NameCollision { .. } | RunFault::DestinationRefused { .. }) => ErrorClass::Io,
            BackendUnavailable { .. }
            | UnknownTemplate { .. }
            | UnknownCipher { .. }
            | NoIterations
            | AssociatedDataUnsupported { .. }
            | Chained
            | RekeyUnauthenticated
            | TooManySegments { .. }
            | NeitherFileNorFolder
            | Shard { .. }
            | Location { .. }
            | Glob { .. }
            | DestinationInsideSource
            | SourceInsideDestination
            | SameFile
            | PlanMismatch(_)
            | SuffixMissing { .. } => ErrorClass::Usage,
            KeysetSyntax { .. }
            | KeysetEncrypted
            | KeysetBinary
            | KeysetEmpty
            | KeysetPrimary { .. }
            | KeysetDuplicate { .. }
            | KeysetKey { .. }
            | RawKeyLength { .. }
            | KeyLength { .. }
            | PassphraseEmpty
            | PassphraseUnfit { .. }
            | WrapSecretMissing
            | Recipient { .. }
            | IdentityFile { .. }
            | IdentityFileEmpty
            | IdentityFileEncrypted
            | PassphraseNeeded
            | IdentityNeeded
            | WrongPassphrase
            | NoMatchingIdentity
            | WrappedDamaged { .. }
            | WrappedWork { .. } => ErrorClass::Key,
            NotThisFormat { .. }
            | HeaderTruncated { .. }
            | ImpossibleLength { .. }
            | Truncated { .. }
            | TrailingData { .. }
            | WrongKey { .. }
            | FirstSegment
            | Run(RunFault::KeyOpensNothing { .. })
            | DamagedSegment { .. }
            | Padding => ErrorClass::Authentication,
        }
    }

    /// True if the content does not open: another key, or the bytes are not those that were written.
    #[must_use]
    pub fn is_authentication(&self) -> bool {
        self.class() == ErrorClass::Authentication
    }

    /// True if the key material is the problem, before any content was looked at.
    #[must_use]
    pub fn is_key(&self) -> bool {
        self.class() == ErrorClass::Key
    }

    /// True if the request itself is the problem.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        self.class() == ErrorClass::Usage
    }
}
