//! The few classes of errors that a program's exit code can tell apart.

use super::{Error, IndexFault};
use crate::age::AgeFault;

/// What kind of trouble an [`Error`] is, coarse enough for exit codes.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::{ErrorKind, stream};
///
/// let (key, another) = (Keyset::generate(Template::default())?, Keyset::generate(Template::default())?);
/// let error = stream::decrypt(&stream::encrypt(b"text", &key, b"")?, &another, b"").unwrap_err();
/// assert!(error.is_authentication() && error.kind() == ErrorKind::Authentication);
/// assert_eq!(Keyset::parse(b"no keyset").unwrap_err().kind(), ErrorKind::Key);
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
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
    pub fn kind(&self) -> ErrorKind {
        use Error::*;
        match self {
            At { source, .. } => source.kind(),
            Age(
                AgeFault::Header { .. }
                | AgeFault::Armor { .. }
                | AgeFault::HeaderMac
                | AgeFault::NoMatch { .. }
                | AgeFault::WrongPassphrase
                | AgeFault::PassphraseNeeded
                | AgeFault::WorkFactor { .. },
            ) => ErrorKind::Authentication,
            Age(_) => ErrorKind::Key,
            Index(fault) if fault.is_damage() => ErrorKind::Authentication,
            Index(
                IndexFault::Unsupported(_)
                | IndexFault::OtherNames { .. }
                | IndexFault::Reserved { .. }
                | IndexFault::FilesFailed
                | IndexFault::Unwritten
                | IndexFault::NotCarried
                | IndexFault::EmptySource
                | IndexFault::Present
                | IndexFault::Absent,
            ) => ErrorKind::Usage,
            Index(_) => ErrorKind::Io,
            Io { .. }
            | Random(_)
            | Internal { .. }
            | OutputExists
            | OutputConflict { .. }
            | Store { .. }
            | NothingThere
            | LinkInDestination
            | NamesNotAtomic
            | LinkLeavesTree { .. }
            | SourceShrank
            | SourceChanged
            | Stopped
            | Calibration { .. }
            | NameCollision { .. }
            | DestinationRefused { .. } => ErrorKind::Io,
            BackendUnavailable { .. }
            | UnknownName { .. }
            | NoIterations
            | AssociatedDataUnsupported { .. }
            | Chained
            | RekeyUnauthenticated
            | TooManySegments { .. }
            | NeitherFileNorFolder
            | Shard { .. }
            | Location(_)
            | Glob { .. }
            | DestinationInsideSource
            | SourceInsideDestination
            | SameFile
            | PlanMismatch(_)
            | SuffixMissing { .. } => ErrorKind::Usage,
            NoKey
            | KeysetSyntax { .. }
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
            | PassphraseNeeded
            | IdentityNeeded
            | WrongPassphrase
            | NoMatchingIdentity
            | WrappedDamaged { .. }
            | WrappedWork { .. }
            | OtherKey => ErrorKind::Key,
            NotThisFormat { .. }
            | HeaderTruncated { .. }
            | ImpossibleLength { .. }
            | Truncated { .. }
            | TrailingData { .. }
            | WrongKey { .. }
            | FirstSegment
            | KeyOpensNothing { .. }
            | DamagedSegment { .. }
            | Padding => ErrorKind::Authentication,
        }
    }

    /// True if the content does not open: another key, or the bytes are not those that were written.
    #[must_use]
    pub fn is_authentication(&self) -> bool {
        self.kind() == ErrorKind::Authentication
    }
}
