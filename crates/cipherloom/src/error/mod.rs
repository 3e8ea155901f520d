//! What can go wrong: [`Error`] says what failed and why, and gives no advice, since each front end has its own words for what
//! a user can do.
//!
//! A message never holds a key, a passphrase or any byte of a secret file. [`Error::kind`] sorts the variants into the few
//! classes that a program's exit code can tell apart.

mod cause;
pub(crate) mod escape;
pub(crate) mod hint;
mod index_fault;
mod key_fault;
mod kind;
mod location_fault;
mod store_fault;

pub use cause::Cause;
pub use index_fault::IndexFault;
pub use key_fault::KeyFault;
pub use kind::ErrorKind;
pub use location_fault::LocationFault;
pub use store_fault::StoreFault;

use crate::age::AgeFault;
use std::io;
use std::path::PathBuf;

/// Every error of this library. Displayed, it is `path: what failed: cause`, or without the path where the caller knows it.
///
/// ```
/// use cipherloom::ErrorKind;
/// use std::path::Path;
///
/// let error = cipherloom::verify("no-such-folder").run().unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Key, "no key is given");
///
/// let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
/// let error = cipherloom::Error::io("read the file", refused).at(Path::new("a\nb"));
/// assert_eq!(error.path(), Some(Path::new("a\nb")));
/// assert_eq!(error.to_string(), "a\\nb: cannot read the file: permission denied");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another error, with the path that it is about.
    #[error("{}: {source}", escape::path(path))]
    At {
        /// The file, folder or address.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A state that should be impossible: a defect of this program, or a cryptographic library that refuses what it must not.
    #[error("internal error: {message}; please report it")]
    Internal {
        /// What happened.
        message: String,
    },

    // ── the machine ─────────────────────────────────────────────────────────────────────────────────────────────────
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as a verb phrase: "read the file".
        action: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The operating system gave no random bytes. Encryption without them would be unsafe, so nothing was written.
    #[error("the operating system gave no random bytes: {0}")]
    Random(getrandom::Error),
    /// The chosen backend needs instructions that this CPU lacks.
    #[error("this CPU cannot run the backend {name}")]
    BackendUnavailable {
        /// The backend's name.
        name: &'static str,
    },
    /// Stored calibration cannot be used; what is wrong with it.
    #[error("the stored calibration cannot be used: {0}")]
    Calibration(String),

    // ── what was asked ──────────────────────────────────────────────────────────────────────────────────────────────
    /// A name that means nothing here.
    #[error("there is no {what} {name:?}")]
    UnknownName {
        /// "template" or "cipher".
        what: &'static str,
        /// What was given.
        name: String,
        /// All names, comma-separated.
        known: String,
    },
    /// PBKDF2 with no iteration.
    #[error("0 PBKDF2 iterations would use the passphrase itself as the key")]
    NoIterations,
    /// The format has nothing that could carry associated data.
    #[error("the format {format} cannot bind a path or other associated data")]
    AssociatedDataUnsupported {
        /// The format's name.
        format: &'static str,
    },
    /// A chain (CBC) cannot be sealed segment by segment, only through its chain.
    #[error("a CBC stream is one chain and cannot be encrypted in segments")]
    Chained,
    /// A re-keying from or to a format that does not tell which key opens a file.
    #[error(
        "only the authenticated formats tink and cobblestone can be re-keyed: no other one tells which key a file opens with"
    )]
    RekeyUnauthenticated,
    /// The stream would have more segments than its format can number.
    #[error("the stream needs more than {limit} segments, the most that the format {format} can number")]
    TooManySegments {
        /// The format's name.
        format: &'static str,
        /// The greatest number of segments.
        limit: u64,
    },
    /// A source or destination that cannot be used as it was given.
    #[error(transparent)]
    Location(#[from] LocationFault),
    /// An include or exclude glob is malformed.
    #[error("the glob {pattern:?} is malformed: {reason}")]
    Glob {
        /// The glob as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Not a shard, or none of its number: what was given.
    #[error("{0:?} is not a shard")]
    Shard(String),
    /// A job without a key.
    #[error("no key is given")]
    NoKey,
    /// The plan was made for another tree or job; what differs, in words. `Job::plan` makes one that fits.
    #[error("the plan was made for another tree or job: {0}")]
    PlanMismatch(String),

    // ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────
    /// Not the JSON of a Tink keyset.
    #[error("the keyset is not a Tink keyset in JSON: {problem} at line {line}, column {column}")]
    KeysetSyntax {
        /// What is wrong there; never a quotation.
        problem: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A keyset that Tink wrapped with a key management service.
    #[error("the keyset is encrypted by a key management service")]
    KeysetEncrypted,
    /// A keyset in Tink's binary form.
    #[error("the keyset is in Tink's binary form, not in JSON")]
    KeysetBinary,
    /// A keyset without keys.
    #[error("the keyset has no keys")]
    KeysetEmpty,
    /// `primaryKeyId` names no key that is there and enabled.
    #[error("the keyset's primary key {id} {problem}")]
    KeysetPrimary {
        /// `primaryKeyId`.
        id: u32,
        /// "is missing" or "is not enabled".
        problem: &'static str,
    },
    /// Two keys share this identifier.
    #[error("the keyset has two keys with the identifier {0}")]
    KeysetDuplicate(u32),
    /// One key of the keyset cannot be used.
    #[error("key {id} of the keyset {fault}")]
    KeysetKey {
        /// The key's identifier.
        id: u32,
        /// What is wrong with it.
        fault: KeyFault,
    },
    /// A raw key of a length (in bytes) that AES does not know.
    #[error(
        "a key file holds 16, 24 or 32 bytes, or 32, 48 or 64 hexadecimal digits; this one has {0} bytes"
    )]
    RawKeyLength(usize),
    /// The key does not fit the cipher.
    #[error("{cipher} needs a key of {needed} bytes, and this key has {found}")]
    KeyLength {
        /// The cipher or format.
        cipher: &'static str,
        /// What it needs, in words.
        needed: &'static str,
        /// The key's length in bytes.
        found: usize,
    },
    /// The passphrase is empty.
    #[error("the passphrase is empty")]
    PassphraseEmpty,
    /// The passphrase has bytes that openssl or age would not take.
    #[error("the passphrase {problem}, and other programs would read another passphrase from it")]
    PassphraseUnfit {
        /// What is unfit about it.
        problem: &'static str,
    },
    /// Neither a passphrase nor a recipient.
    #[error("a wrapped keyset needs a passphrase or at least one recipient")]
    WrapSecretMissing,
    /// Not an age recipient.
    #[error("recipient {position} is not an age X25519 recipient: {reason}")]
    Recipient {
        /// Which of the recipients given, from 1.
        position: usize,
        /// What the parser said.
        reason: &'static str,
    },
    /// The wrapped keyset wants a passphrase, and an identity was given.
    #[error("the keyset is wrapped with a passphrase, not for an identity")]
    PassphraseNeeded,
    /// The wrapped keyset wants an identity.
    #[error("the keyset is wrapped for recipients, not with a passphrase")]
    IdentityNeeded,
    /// The passphrase does not unwrap the keyset.
    #[error("the passphrase does not open the wrapped keyset")]
    WrongPassphrase,
    /// No identity of the file is a recipient.
    #[error("none of the identities is a recipient of the wrapped keyset")]
    NoMatchingIdentity,
    /// The wrapped keyset is not an age file or was changed.
    #[error("the wrapped keyset is damaged: {problem}")]
    WrappedDamaged {
        /// What was found.
        problem: &'static str,
    },
    /// The age file asks for more work than is sane.
    #[error("the wrapped keyset asks for 2^{log_n} rounds of scrypt, more than the 2^{limit} accepted")]
    WrappedWork {
        /// log2 of the rounds asked for.
        log_n: u8,
        /// log2 of the most accepted.
        limit: u8,
    },

    /// What is wrong with an age file, a recipient or an identity.
    #[error(transparent)]
    Age(AgeFault),

    // ── content ─────────────────────────────────────────────────────────────────────────────────────────────────────
    /// The stream does not begin as its format must.
    #[error("this is not a {format} stream: {problem}")]
    NotThisFormat {
        /// The format's name.
        format: &'static str,
        /// What is missing.
        problem: &'static str,
    },
    /// The stream ends inside its header.
    #[error("the stream is truncated: it has {found} bytes and the {format} header alone has {needed}")]
    HeaderTruncated {
        /// The format's name.
        format: &'static str,
        /// Header length in bytes.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// No whole stream has this length.
    #[error("the stream is truncated or has extra bytes: no whole stream is {length} bytes long")]
    ImpossibleLength {
        /// The stream's length in bytes.
        length: u64,
    },
    /// The stream ends at a segment's border, before its last segment.
    #[error("the stream is truncated after segment {index}: more segments were written")]
    Truncated {
        /// The segment that should have been the last, from 0.
        index: u64,
    },
    /// Bytes follow the segment that was written as the last.
    #[error("bytes follow the end of the stream, which is segment {index}")]
    TrailingData {
        /// The segment that was written as the last, from 0.
        index: u64,
    },
    /// The key is another one.
    #[error(
        "the key (or the context or bound path) is not the one this {format} stream was written with; nothing was decrypted"
    )]
    WrongKey {
        /// The format's name.
        format: &'static str,
    },
    /// No key opens the first segment; wrong key and damage look alike here.
    #[error(
        "no key opens the first segment: the key is another one, the bound path differs, or the file is damaged at its start"
    )]
    FirstSegment,
    /// A segment is not what was written.
    #[error("segment {index} (from byte {offset} on) is damaged: its authentication fails")]
    DamagedSegment {
        /// The segment, from 0.
        index: u64,
        /// Where its ciphertext begins in the stream, in bytes.
        offset: u64,
    },
    /// The padding of an unauthenticated CBC stream is impossible.
    #[error(
        "the padding at the stream's end is wrong: the key, passphrase or iteration count is another one, or the file is damaged"
    )]
    Padding,

    // ── trees and runs ──────────────────────────────────────────────────────────────────────────────────────────────
    /// The source is a FIFO, socket or device.
    #[error("neither a file nor a folder")]
    NeitherFileNorFolder,
    /// The destination lies inside the source.
    #[error("the destination lies inside the source, so outputs would become inputs")]
    DestinationInsideSource,
    /// The source lies inside the destination.
    #[error("the source lies inside the destination, so outputs could replace inputs")]
    SourceInsideDestination,
    /// Source and destination are one file.
    #[error("source and destination are the same file")]
    SameFile,
    /// The output is there already.
    #[error("the output exists already")]
    OutputExists,
    /// The output is there, and was made from another source or under another key, or says nothing of either.
    #[error("another output exists already: {reason}")]
    OutputConflict {
        /// What differs.
        reason: String,
    },
    /// The destination holds a file of another key.
    #[error("encrypted with another key; refusing to mix keys in the destination")]
    OtherKey,
    /// A folder of the destination is a link that leads elsewhere.
    #[error("the output folder is a symbolic link, which could lead out of the destination")]
    LinkInDestination,
    /// A link of an encrypted tree could lead out of the output tree: where it leads.
    #[error("the link leads to {0:?}, which may be outside the output tree, and links are not authenticated")]
    LinkLeavesTree(PathBuf),
    /// The file system has no way to name an output that could not replace another one.
    #[error(
        "this file system can rename only by replacing, so a file that another program creates at the same moment could be lost"
    )]
    NamesNotAtomic,
    /// The file system of the destination gives the outputs of two entries the same name.
    #[error("name collides with {other:?} on the destination's file system")]
    NameCollision {
        /// The name of the other output, or of the other folder.
        other: String,
    },
    /// The suffix that decryption should remove is not there: the suffix.
    #[error("the name does not end in {0:?}")]
    SuffixMissing(String),
    /// The file has fewer bytes than when it was listed.
    #[error("the file became shorter while it was read")]
    SourceShrank,
    /// The file was written to, or replaced, since it was listed.
    #[error("the file changed while it was read")]
    SourceChanged,
    /// The destination takes no more outputs. Ends the run.
    #[error("cannot {action}: {source}; the run stopped because every other file would fail too")]
    DestinationRefused {
        /// What was tried, as a verb phrase: "write the output".
        action: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The key opened none of the first files. Ends the run.
    #[error("the key opened none of the first {tried} files, so the run stopped")]
    KeyOpensNothing {
        /// How many files were tried.
        tried: usize,
    },
    /// The observer stopped the run ([`crate::report::Observer::is_stopped`]).
    #[error("stopped before this was done")]
    Stopped,

    /// What is wrong with the tree's index, or with a file as the index describes it.
    #[error(transparent)]
    Index(#[from] IndexFault),

    // ── object stores ───────────────────────────────────────────────────────────────────────────────────────────────
    /// An object store refused, or could not be reached.
    #[error("cannot {action}: {reason}")]
    Store {
        /// What was tried, as a verb phrase: "read the object".
        action: &'static str,
        /// What can be done about it.
        fault: StoreFault,
        /// The store's reason, in words.
        reason: String,
    },
    /// A place in an object store holds nothing: no object has this name, none lies below it.
    #[error("cannot list the bucket: nothing is there")]
    NothingThere,
}
