//! What can go wrong with a publication or a license.
//!
//! A message says what failed and why. It names the entry of the publication if there is one, and never the
//! publication's path: the caller puts that in front. No message holds a key, a passphrase or content. Remedies are
//! hints, which front ends print on a line of their own.

mod hint;
mod kind;

pub use hint::common_hint;
pub use kind::ErrorKind;

use crate::resource::ResourceFault;
use std::io;
use std::path::{Path, PathBuf};

/// Every error of this library.
///
/// ```
/// use cipherloom_lcp::{Error, ErrorKind};
/// use std::path::Path;
///
/// let error = Error::NotProtected.at(Path::new("flatland.epub"));
/// assert_eq!(error.to_string(), "flatland.epub: the publication is not protected with LCP");
/// assert_eq!((error.kind(), error.path()), (ErrorKind::Content, Some(Path::new("flatland.epub"))));
/// assert!(matches!(error.without_path(), Error::NotProtected));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another error, with the path that it is about.
    #[error("{}: {source}", cipherloom::internal::escape::path(path))]
    At {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        source: Box<Error>,
    },

    // ── the machine ──────────────────────────────────────────────────────────────────────────────────────────────
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as a verb phrase: "read the publication".
        action: &'static str,
        /// The operating system's reason.
        #[source]
        source: io::Error,
    },
    /// Something below refused: outputs, random bytes, backends.
    #[error(transparent)]
    Library(#[from] cipherloom::Error),
    /// Something is wrong with a license, its keys or its certificate.
    #[error(transparent)]
    License(#[from] crate::license::LicenseFault),
    /// A file was written to, or replaced, while it was read.
    #[error("the publication changed while it was read")]
    SourceChanged,

    // ── the container ────────────────────────────────────────────────────────────────────────────────────────────
    /// Not a zip archive.
    #[error("this is not a zip archive, as publications are")]
    NotAZip,
    /// The end of the archive, or what it points to, is missing or contradicts itself.
    #[error("the zip archive is truncated or damaged: {problem}")]
    ZipDamaged {
        /// What was found.
        problem: &'static str,
    },
    /// Something follows the end of the archive.
    #[error("{len} bytes follow the end of the zip archive")]
    TrailingBytes {
        /// How many.
        len: u64,
    },
    /// More entries than any publication has.
    #[error("the zip archive has {found} entries, and {most} is the most that is taken")]
    TooManyEntries {
        /// Entries declared.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// An entry's name leads out of the publication or means different things to different programs.
    #[error("the entry {entry:?} has a name that {problem}")]
    EntryName {
        /// The name as far as it is text.
        entry: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two entries have one name.
    #[error("there are two entries named {entry:?}, and readers differ in which they take")]
    DuplicateEntry {
        /// The name.
        entry: String,
    },
    /// An entry is compressed in a way that publications may not use.
    #[error(
        "the entry {entry:?} is compressed with method {method}, and publications use only 0 (stored) and 8 (deflate)"
    )]
    Method {
        /// The entry's name.
        entry: String,
        /// The zip method's number.
        method: u16,
    },
    /// An entry is encrypted by zip itself.
    #[error("the entry {entry:?} is encrypted with a zip password")]
    ZipPassword {
        /// The entry's name.
        entry: String,
    },
    /// An entry claims, or turns out, to grow beyond what real content does.
    #[error("the entry {entry:?} {problem}, which looks like a zip bomb")]
    Bomb {
        /// The entry's name.
        entry: String,
        /// What was found.
        problem: &'static str,
    },
    /// All entries together claim to grow beyond what real content does.
    #[error(
        "its entries declare {len} bytes of content, more than a hundred times the archive, which looks like a zip bomb"
    )]
    ArchiveBomb {
        /// Bytes of content that the entries declare together.
        len: u64,
    },
    /// An entry's bytes are not what the archive says of them.
    #[error("the entry {entry:?} is damaged: {problem}")]
    EntryDamaged {
        /// The entry's name.
        entry: String,
        /// What was found.
        problem: &'static str,
    },

    // ── the publication ──────────────────────────────────────────────────────────────────────────────────────────
    /// Neither an EPUB nor a Readium package nor a PDF.
    #[error("{problem}")]
    NotAPublication {
        /// What was found instead.
        problem: &'static str,
    },
    /// A part without which nothing can be said about the others is not there.
    #[error("{part:?} is missing, so this is not a complete publication")]
    MissingPart {
        /// The missing entry's name.
        part: String,
    },
    /// A part that has to be read whole is larger than any real one.
    #[error("{part:?} has {length} bytes, and {most} is the most that is taken for it")]
    PartTooLarge {
        /// The entry's name.
        part: String,
        /// Its declared length in bytes.
        length: u64,
        /// The limit in bytes.
        most: u64,
    },
    /// More of something than any real publication has, each of which costs time.
    #[error("it has more than {most} {what}, which no real publication has")]
    TooMuch {
        /// What there is too much of, in the plural.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// A part is not the XML it should be.
    #[error("{part:?} is malformed: {problem} (byte {position})")]
    Xml {
        /// The entry's name.
        part: String,
        /// What is wrong.
        problem: String,
        /// Where, in bytes from the start of the part.
        position: u64,
    },
    /// A part is not the JSON it should be.
    #[error("{part:?} is malformed: {problem}")]
    Json {
        /// The entry's name.
        part: String,
        /// What is wrong and where; never a quotation.
        problem: String,
    },
    /// The source is protected with LCP already.
    #[error("the publication is protected with LCP already")]
    AlreadyProtected,
    /// The source is protected by another system.
    #[error("the entry {entry:?} is encrypted with {algorithm}, which is another system's protection")]
    ForeignProtection {
        /// The entry's name.
        entry: String,
        /// The algorithm as encryption.xml names it.
        algorithm: String,
    },
    /// Nothing in the publication may be encrypted.
    #[error("the publication has no resource that may be encrypted")]
    NothingToProtect,

    /// Nothing in the publication is protected with LCP.
    #[error("the publication is not protected with LCP")]
    NotProtected,
    /// Another program has locked the publication.
    #[error("another program is writing to the publication")]
    Busy,
    /// The publication has a license inside, which was not to be replaced.
    #[error("the publication has a license inside already")]
    HasLicense,
    /// The publication has no license inside, and none was given.
    #[error("the publication has no license inside, and none was given")]
    NoLicense,
    /// A license names another publication than the one it was given for.
    #[error("the license is for a publication of {length} bytes, and this one has {found}")]
    OtherPublication {
        /// The length that the license's link names, in bytes.
        length: u64,
        /// The publication's length in bytes.
        found: u64,
    },
    /// A protected resource is not as it should be.
    #[error("the resource {entry:?} {fault}")]
    Resource {
        /// The entry's name.
        entry: String,
        /// What is wrong with it.
        fault: ResourceFault,
    },

    // ── key file and notification ────────────────────────────────────────────────────────────────────────────────
    /// The key file is not one; it stays as it is.
    #[error("this is not an LCP key file, which has one JSON record per line: line {line} {problem}")]
    KeyFile {
        /// Line, from 1.
        line: usize,
        /// What is wrong; never a quotation.
        problem: &'static str,
    },
    /// The publication was protected before, and nobody asked for an update.
    #[error("this publication was protected before, as {id:?}")]
    ProtectedBefore {
        /// Its identifier in the key file.
        id: String,
    },
    /// Several records may be that of the publication to update.
    #[error("the key file has several publications of this name ({ids})")]
    SeveralRecords {
        /// Their identifiers.
        ids: String,
    },
    /// An update has nothing to go by.
    #[error("the key file has no record of this publication to update")]
    NothingToUpdate,
    /// The key that was given is not the one in the key file.
    #[error("the key file has another content key for {id:?}")]
    OtherContentKey {
        /// The publication's identifier.
        id: String,
    },
    /// Larger than the license server accepts.
    #[error(
        "protected, the publication has {length} bytes or more, and license servers of the second generation take less than 4 GiB"
    )]
    TooLargeForServer {
        /// Its length in bytes, as far as it is known.
        length: u64,
    },
    /// The key file is one of the publications.
    #[error("this is one of the publications that are to be protected")]
    KeyFileIsSource,
    /// A publication's output would take the key file's place.
    #[error("its output would overwrite the key file")]
    KeyFileIsOutput,
    /// The key could not be kept, so the publication was thrown away.
    #[error(
        "its key could not be written to the key file ({reason}), so the protected publication was deleted"
    )]
    KeyNotKept {
        /// What the key file's system said.
        reason: String,
    },
    /// Another publication of the run has the same output.
    #[error("another publication of this run goes to the same output")]
    SameOutput,
    /// Outputs would lie among the sources.
    #[error("the output folder lies inside this folder, so outputs would become sources")]
    NestedOutput,
    /// A folder holds nothing that can be checked.
    #[error("no publication or license in it ({known})")]
    NothingToCheck {
        /// The extensions that are known.
        known: String,
    },
    /// No record for this publication.
    #[error("the key file has no record for this publication (by its SHA-256 or name)")]
    KeyMissing,
}

impl Error {
    /// The operating system's refusal of `action`, a verb phrase: "read the publication".
    pub(crate) fn io(action: &'static str, source: io::Error) -> Error {
        Error::Io { action, source }
    }

    /// The same error, which is about `path`. One that knows its path keeps it.
    #[must_use]
    pub fn at(self, path: &Path) -> Error {
        match self {
            Error::At { .. } => self,
            error => Error::At { path: path.to_owned(), source: Box::new(error) },
        }
    }

    /// The path that it is about, if it knows that.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::At { path, .. } => Some(path),
            Error::Library(error) => error.path(),
            _ => None,
        }
    }

    /// What failed, whatever the path.
    #[must_use]
    pub fn without_path(&self) -> &Error {
        match self {
            Error::At { source, .. } => source.without_path(),
            error => error,
        }
    }

    /// Malformed XML, at `position` in bytes.
    pub(crate) fn xml(part: &str, problem: impl Into<String>, position: usize) -> Error {
        Error::Xml { part: part.into(), problem: problem.into(), position: position as u64 }
    }

    /// Malformed JSON.
    pub(crate) fn json(part: &str, problem: impl Into<String>) -> Error {
        Error::Json { part: part.into(), problem: problem.into() }
    }

    /// An archive that contradicts itself.
    pub(crate) fn damaged(problem: &'static str) -> Error {
        Error::ZipDamaged { problem }
    }
}
