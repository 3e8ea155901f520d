//! What can be wrong with a source or destination, before anything is read.

/// Why a source or destination cannot be used as it was given.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::write("letter", "Dear Winston").unwrap();
/// use cipherloom::error::{Error, LocationFault};
/// use cipherloom::key::{Keyset, Template};
///
/// let keyset = Keyset::generate(Template::default())?;
/// let error = cipherloom::encrypt("letter", "no-such-folder/..").key(&keyset).run().unwrap_err();
/// assert!(matches!(error.without_path(), Error::Location(LocationFault::NoName)));
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationFault {
    /// An address of no store that is known.
    #[error("{scheme}:// is not a known scheme")]
    UnknownScheme {
        /// What stands before `://`.
        scheme: String,
    },
    /// An address with one slash after its scheme.
    #[error("an address has two slashes after its scheme")]
    MissingSlash {
        /// The address that was probably meant.
        meant: String,
    },
    /// `file://` before anything but an absolute path.
    #[error("file:// is not followed by an absolute path")]
    RelativeFileAddress,
    /// An address that ends before its bucket.
    #[error("the address names no bucket")]
    NoBucket {
        /// Its scheme.
        scheme: &'static str,
    },
    /// The bucket has a character that would make it a user, a port, a query or a fragment. The name is not repeated: it may
    /// hold credentials.
    #[error("a bucket name has no `@`, `:`, `?` or `#`")]
    BucketName,
    /// A key with an empty part, `.` or `..`, which no store takes.
    #[error("a key has no empty part, `.` or `..` between its slashes")]
    KeyPart,
    /// The destination exists and is neither a file nor a folder.
    #[error("a device, FIFO or socket, which the output would replace")]
    SpecialFile,
    /// Several sources, and a destination that is no existing folder.
    #[error("several sources need an existing folder as destination")]
    MissingFolder,
    /// A path for a file that ends in no name, such as `..`.
    #[error("the path ends in no file name")]
    NoName,
    /// A relative path that leads up or away, for something that must be below a folder.
    #[error("not a path to something below the folder")]
    OutsideFolder,
    /// A tree for standard output.
    #[error("only a single file can go to standard output")]
    NotSingle,
    /// Standard input for a folder or prefix.
    #[error("the destination is a folder, and standard input has no name for an output in it")]
    StreamWithoutName,
    /// The path to bind ends in the file's own name, and the output would get another one.
    #[error("the file's own name is bound, and the output would get another one")]
    RenamesBoundPath,
    /// Source and destination are the same, and nothing may be replaced.
    #[error("source and destination are the same")]
    SamePlace,
    /// The name is unusable for a reason that only the store knows.
    #[error("{reason}")]
    Unusable {
        /// What is wrong with it.
        reason: String,
    },
}
