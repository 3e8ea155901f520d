//! What can go wrong, each with its cause and what to do about it.
//!
//! A message names the thing, why it failed and the remedy. It never holds a path (the pipeline knows the path and adds
//! it), a key, a passphrase or any byte of a secret file. [`Error::class`] sorts the variants into the few classes that
//! a program's exit code can tell apart.

mod cause;
mod class;
mod key_fault;
mod output_fault;
mod run_fault;

pub use cause::Cause;
pub use class::ErrorClass;
pub use key_fault::KeyFault;
pub use output_fault::OutputFault;
pub use run_fault::RunFault;

use std::io;

/// Every error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as a verb phrase: "read the file".
        action: &'static str,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// No random bytes could be had.
    #[error(
        "the operating system gave no random bytes ({0}); encryption without them would be unsafe, so nothing was written"
    )]
    Random(getrandom::Error),
    /// The cryptographic library refused an operation that should not fail.
    #[error("the cryptographic library refused to {operation}; nothing was written, please report this")]
    Library {
        /// What was asked of it.
        operation: &'static str,
    },
    /// The chosen backend needs instructions that this CPU lacks.
    #[error(
        "this CPU cannot run the backend {name}; choose one that `cipherloom devices` lists as available"
    )]
    BackendUnavailable {
        /// The backend's name.
        name: &'static str,
    },

    // ── what was asked ───────────────────────────────────────────────────────────────────────────────────────────
    /// No template has this name.
    #[error("there is no template {name:?}; the templates are {known}")]
    UnknownTemplate {
        /// What was given.
        name: String,
        /// All names, comma-separated.
        known: String,
    },
    /// No cipher has this name.
    #[error("there is no cipher {name:?}; the ciphers are {known}")]
    UnknownCipher {
        /// What was given.
        name: String,
        /// All names, comma-separated.
        known: String,
    },
    /// PBKDF2 with no iteration.
    #[error(
        "0 PBKDF2 iterations would use the passphrase itself; give at least 1 (openssl's default is 10000)"
    )]
    NoIterations,
    /// The format has nothing that could carry associated data.
    #[error(
        "the format {format} cannot bind a path or other associated data; use the format tink or cobblestone"
    )]
    AssociatedDataUnsupported {
        /// The format's name.
        format: &'static str,
    },
    /// A chain (CBC) cannot be sealed segment by segment.
    #[error("a CBC stream is one chain and cannot be sealed by segments; seal it through its chain")]
    Chained,
    /// A re-keying from or to a format that does not tell which key opens a file.
    #[error(
        "only the authenticated formats tink and cobblestone are re-keyed: in another one nothing tells which key a file opens with; decrypt, then encrypt"
    )]
    RekeyUnauthenticated,
    /// The stream would have more segments than its format can number.
    #[error(
        "the stream needs more than {limit} segments, which is all the format {format} can number; use a larger segment size or split the file"
    )]
    TooManySegments {
        /// The format's name.
        format: &'static str,
        /// The greatest number of segments.
        limit: u64,
    },

    // ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────
    /// Not the JSON of a Tink keyset.
    #[error(
        "the keyset is not a Tink keyset in JSON: {problem} at line {line}, column {column}; check that this is the right file and that it is whole"
    )]
    KeysetSyntax {
        /// What is wrong there; never a quotation.
        problem: &'static str,
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A keyset that Tink wrapped with a key management service.
    #[error(
        "the keyset is encrypted by a key management service; decrypt it with Tink's own tool (tinkey convert-keyset) first"
    )]
    KeysetEncrypted,
    /// A keyset in Tink's binary form.
    #[error(
        "this is a keyset in Tink's binary form, and JSON is read here; convert it: tinkey convert-keyset --in-format binary --out-format json"
    )]
    KeysetBinary,
    /// A keyset without keys.
    #[error("the keyset has no keys; generate a new one")]
    KeysetEmpty,
    /// `primaryKeyId` names no key that is there and enabled.
    #[error(
        "the keyset's primary key {id} {problem}; enable it or make another key the primary (tinkey promote-key)"
    )]
    KeysetPrimary {
        /// `primaryKeyId`.
        id: u32,
        /// "is missing" or "is not enabled".
        problem: &'static str,
    },
    /// Two keys share an identifier.
    #[error("the keyset has two keys with the identifier {id}; it is damaged or was edited by hand")]
    KeysetDuplicate {
        /// The identifier.
        id: u32,
    },
    /// One key of the keyset cannot be used.
    #[error("key {id} of the keyset {fault}")]
    KeysetKey {
        /// The key's identifier.
        id: u32,
        /// What is wrong with it.
        fault: KeyFault,
    },
    /// A raw key of a length that AES does not know.
    #[error(
        "a key file holds 16, 24 or 32 bytes, or 32, 48 or 64 hexadecimal digits; this one has {found} bytes"
    )]
    RawKeyLength {
        /// Bytes found in the file.
        found: usize,
    },
    /// The key does not fit the cipher.
    #[error(
        "{cipher} needs a key of {needed} bytes, and this key has {found}; choose the cipher that fits the key"
    )]
    KeyLength {
        /// The cipher or format.
        cipher: &'static str,
        /// What it needs, in words.
        needed: &'static str,
        /// The key's length in bytes.
        found: usize,
    },
    /// The passphrase is empty.
    #[error("the passphrase is empty; a passphrase file has the passphrase on its first line")]
    PassphraseEmpty,
    /// The passphrase has bytes that openssl or age would not take.
    #[error(
        "the passphrase {problem}; other programs would read another passphrase from it, so choose one without"
    )]
    PassphraseUnfit {
        /// What is unfit about it.
        problem: &'static str,
    },
    /// Neither a passphrase nor a recipient.
    #[error("a wrapped keyset needs a passphrase or at least one recipient (age1…)")]
    WrapSecretMissing,
    /// Not an age recipient.
    #[error(
        "recipient {position} is not an age X25519 recipient ({reason}); it begins with age1 and comes from age-keygen"
    )]
    Recipient {
        /// Which of the recipients given, from 1.
        position: usize,
        /// What the parser said.
        reason: &'static str,
    },
    /// Not an age identity file.
    #[error(
        "line {line} of the identity file is not an age identity; such a line begins with AGE-SECRET-KEY-1 (plugin and SSH identities are not supported)"
    )]
    IdentityFile {
        /// Line, from 1.
        line: usize,
    },
    /// The identity file is an age file itself.
    #[error(
        "the identity file is encrypted itself, with a passphrase as a rule; decrypt it first: age -d -o identity.txt FILE"
    )]
    IdentityFileEncrypted,
    /// The identity file has only comments.
    #[error("the identity file has no identity; it needs a line that begins with AGE-SECRET-KEY-1")]
    IdentityFileEmpty,
    /// The wrapped keyset wants a passphrase.
    #[error("the keyset is wrapped with a passphrase; give the passphrase instead of an identity")]
    PassphraseNeeded,
    /// The wrapped keyset wants an identity.
    #[error(
        "the keyset is wrapped for recipients; give the identity file of one of them instead of a passphrase"
    )]
    IdentityNeeded,
    /// The passphrase does not unwrap the keyset.
    #[error(
        "the passphrase does not open the wrapped keyset; check the spelling and that this is the right key file"
    )]
    WrongPassphrase,
    /// No identity of the file is a recipient.
    #[error(
        "none of the identities is a recipient of the wrapped keyset; give the identity file of one that is"
    )]
    NoMatchingIdentity,
    /// The wrapped keyset is not an age file or was changed.
    #[error("the wrapped keyset is damaged ({problem}); restore it from a copy")]
    WrappedDamaged {
        /// What was found.
        problem: &'static str,
    },
    /// The age file asks for more work than is sane.
    #[error(
        "the wrapped keyset asks for 2^{log_n} rounds of scrypt, more than the 2^{limit} accepted; wrap it anew with a smaller work factor"
    )]
    WrappedWork {
        /// log2 of the rounds asked for.
        log_n: u8,
        /// log2 of the most accepted.
        limit: u8,
    },

    // ── content ──────────────────────────────────────────────────────────────────────────────────────────────────
    /// The stream does not begin as its format must.
    #[error(
        "this is not a {format} stream: {problem}; check the format and that the file is encrypted at all"
    )]
    NotThisFormat {
        /// The format's name.
        format: &'static str,
        /// What is missing.
        problem: &'static str,
    },
    /// The stream ends inside its header.
    #[error(
        "the stream is truncated: it has {found} bytes and the {format} header alone has {needed}; fetch the file again"
    )]
    HeaderTruncated {
        /// The format's name.
        format: &'static str,
        /// Header length in bytes.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// No whole stream has this length.
    #[error(
        "the stream is truncated or has extra bytes: no whole stream is {length} bytes long; fetch the file again"
    )]
    ImpossibleLength {
        /// The stream's length in bytes.
        length: u64,
    },
    /// The stream ends at a segment's border, before its last segment.
    #[error(
        "the stream is truncated after segment {index}: more segments were written; fetch the file again"
    )]
    Truncated {
        /// The segment that should have been the last, from 0.
        index: u64,
    },
    /// Bytes follow the segment that was written as the last.
    #[error("bytes follow the end of the stream, which is segment {index}; fetch the file again")]
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
    #[error(
        "segment {index} (from byte {offset} on) is damaged: its authentication fails; fetch the file again"
    )]
    DamagedSegment {
        /// The segment, from 0.
        index: u64,
        /// Where its ciphertext begins in the stream, in bytes.
        offset: u64,
    },
    /// The padding of an unauthenticated CBC stream is impossible.
    #[error(
        "the padding at the stream's end is wrong: usual causes are another key, passphrase or iteration count, damage, or with openssl a stream made without -iter (10000 then), without -pbkdf2, or with -md other than sha256 (this format is unauthenticated and cannot tell which)"
    )]
    Padding,

    // ── trees and runs ───────────────────────────────────────────────────────────────────────────────────────────
    /// The source is a FIFO, socket or device.
    #[error("neither a file nor a folder; name one of these, or `-` for standard input")]
    NeitherFileNorFolder,
    /// An include or exclude glob is malformed.
    #[error("the glob {pattern:?} is malformed ({reason}); put a special character in [brackets]")]
    Glob {
        /// The glob as given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The destination lies inside the source.
    #[error(
        "the destination lies inside the source, so outputs would become inputs; choose a folder outside of it"
    )]
    DestinationInsideSource,
    /// The source lies inside the destination.
    #[error(
        "the source lies inside the destination, so outputs could replace inputs; choose another destination"
    )]
    SourceInsideDestination,
    /// Source and destination are one file.
    #[error("source and destination are the same file; choose another destination")]
    SameFile,
    /// The output is there already.
    #[error("the output exists already; --if-exists skip resumes a run, --if-exists overwrite replaces it")]
    OutputExists,
    /// A folder of the destination is a link that leads elsewhere.
    #[error(
        "the output folder is a symbolic link, which could lead out of the destination; remove it or choose another destination"
    )]
    LinkInDestination,
    /// What concerns outputs alone.
    #[error(transparent)]
    Output(#[from] OutputFault),
    /// The suffix that decryption should remove is not there.
    #[error("the name does not end in {suffix:?}; leave --suffix out, or exclude this file")]
    SuffixMissing {
        /// The suffix.
        suffix: String,
    },
    /// The file has fewer bytes than when it was listed.
    #[error("the file became shorter while it was read; run again when nothing writes to it")]
    SourceShrank,
    /// The file was written to, or replaced, since it was listed.
    #[error("the file changed while it was read; run again when nothing writes to it")]
    SourceChanged,
    /// The plan was made for another tree or job; what differs, in words.
    #[error("the plan was made for another tree or job: {0}; plan this job anew for this tree (Job::plan)")]
    PlanMismatch(String),
    /// Whoever watched the run told it to stop ([`crate::Observer::is_stopped`]).
    #[error("stopped before this was done; run again with --if-exists skip to go on")]
    Stopped,
    /// The output is there, and was made from another source or under another key, or says nothing of either.
    #[error(
        "another output stands there already ({reason}); --if-exists overwrite replaces it, or choose another destination"
    )]
    OutputConflict {
        /// What differs.
        reason: String,
    },
    /// Not a shard, or none of its number.
    #[error("{text:?} is no shard; give i/n with i from 1 to n, such as 3/8")]
    Shard {
        /// What was given.
        text: String,
    },
    /// An object store refused, or could not be reached.
    #[error("cannot {action}: {reason}")]
    Store {
        /// What was tried, as a verb phrase: "read the object".
        action: &'static str,
        /// The store's reason, and what to do about it.
        reason: String,
    },
    /// A place in an object store holds nothing: no object has this name, none lies below it.
    #[error("cannot list the bucket: nothing is there; check the prefix")]
    NothingThere,
    /// Not the address of a place in an object store.
    #[error("{reason}")]
    Location {
        /// What is wrong with it, and what to do about it.
        reason: String,
    },
    /// What concerns the run as a whole.
    #[error(transparent)]
    Run(#[from] RunFault),
    /// Stored calibration cannot be used.
    #[error("the stored calibration cannot be used ({reason}); run `cipherloom calibrate` again")]
    Calibration {
        /// What is wrong with it.
        reason: String,
    },
}
