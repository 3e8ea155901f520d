//! What can go wrong with a publication or a licence, each with its cause and what to do about it.
//!
//! A message names the entry of the publication if there is one, and never the publication's path: who knows the path
//! puts it in front. No message holds a key, a passphrase or content. [`Error::class`] sorts the variants for exit
//! codes.

mod class;
mod resource_fault;

pub use class::Class;
pub use resource_fault::ResourceFault;

use std::io;

/// Every error of this library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// Something is wrong with a licence, its keys or its certificate.
    #[error(transparent)]
    Licence(#[from] crate::licence::LicenceFault),
    /// A file was written to, or replaced, while it was read.
    #[error("the publication changed while it was read; run again when nothing writes to it")]
    SourceChanged,

    // ── the container ────────────────────────────────────────────────────────────────────────────────────────────
    /// Not a zip archive.
    #[error(
        "this is not a zip archive, as publications are; check that it is the right file and that it is whole"
    )]
    NotAZip,
    /// The end of the archive, or what it points to, is missing or contradicts itself.
    #[error("the zip archive is truncated or damaged: {problem}; fetch the file again")]
    ZipDamaged {
        /// What was found.
        problem: &'static str,
    },
    /// Something follows the end of the archive.
    #[error(
        "{len} bytes follow the end of the zip archive, so other readers may not open it; fetch the file again, or run `cipherloom lcp license --embed` again if that was interrupted"
    )]
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
    #[error(
        "the entry {entry:?} has a name that {problem}; no reading system should open such a file, repack it"
    )]
    EntryName {
        /// The name as far as it is text.
        entry: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Two entries have one name.
    #[error("there are two entries named {entry:?}, and readers differ in which they take; repack the file")]
    DuplicateEntry {
        /// The name.
        entry: String,
    },
    /// An entry is compressed in a way that publications may not use.
    #[error(
        "the entry {entry:?} is compressed with method {method}; publications use 0 (stored) and 8 (deflate), repack the file"
    )]
    Method {
        /// The entry's name.
        entry: String,
        /// The zip method's number.
        method: u16,
    },
    /// An entry is encrypted by zip itself.
    #[error("the entry {entry:?} is encrypted with a zip password; extract and repack the file without one")]
    ZipPassword {
        /// The entry's name.
        entry: String,
    },
    /// An entry claims, or turns out, to grow beyond what real content does.
    #[error("the entry {entry:?} {problem}: this looks like a zip bomb, so the file is refused")]
    Bomb {
        /// The entry's name.
        entry: String,
        /// What was found.
        problem: &'static str,
    },
    /// All entries together claim to grow beyond what real content does.
    #[error(
        "its entries declare {len} bytes of content, more than a hundred times the archive: this looks like a zip bomb, so the file is refused"
    )]
    ArchiveBomb {
        /// Bytes of content that the entries declare together.
        len: u64,
    },
    /// An entry's bytes are not what the archive says of them.
    #[error("the entry {entry:?} is damaged: {problem}; fetch the file again")]
    EntryDamaged {
        /// The entry's name.
        entry: String,
        /// What was found.
        problem: &'static str,
    },

    // ── the publication ──────────────────────────────────────────────────────────────────────────────────────────
    /// Neither an EPUB nor a Readium package nor a PDF.
    #[error("{problem}; EPUB, Readium packages (.webpub, .audiobook, .divina), .lpf and PDF are known")]
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
    #[error("it has more than {most} {what}, which no real publication has, so the file is refused")]
    TooMuch {
        /// What there is too much of, in the plural.
        what: &'static str,
        /// The limit.
        most: u64,
    },
    /// A part is not the XML it should be.
    #[error("{part:?} is malformed: {problem} (byte {position}); correct the publication")]
    Xml {
        /// The entry's name.
        part: String,
        /// What is wrong.
        problem: String,
        /// Where, in bytes from the start of the part.
        position: u64,
    },
    /// A part is not the JSON it should be.
    #[error("{part:?} is malformed: {problem}; correct the publication")]
    Json {
        /// The entry's name.
        part: String,
        /// What is wrong and where; never a quotation.
        problem: String,
    },
    /// The source is protected with LCP already.
    #[error("the publication is protected with LCP already; protect its source, or decrypt it first")]
    AlreadyProtected,
    /// The source is protected by another system.
    #[error(
        "the entry {entry:?} is encrypted with {algorithm}, which is another system's protection; only an unprotected publication can be protected"
    )]
    ForeignProtection {
        /// The entry's name.
        entry: String,
        /// The algorithm as encryption.xml names it.
        algorithm: String,
    },
    /// Nothing in the publication may be encrypted.
    #[error("the publication has no resource that may be encrypted, so protecting it would protect nothing")]
    NothingToProtect,

    /// Nothing in the publication is protected with LCP.
    #[error("the publication is not protected with LCP; `cipherloom lcp encrypt` protects it")]
    NotProtected,
    /// Another program has locked the publication.
    #[error("another program is writing to the publication; run again when it has ended")]
    Busy,
    /// The publication has a licence inside, which was not to be replaced.
    #[error("the publication has a licence inside already; --if-exists overwrite replaces it")]
    HasLicence,
    /// The publication has no licence inside, and none was given.
    #[error("the publication has no licence inside; give its licence as a file")]
    NoLicence,
    /// A licence names another publication than the one it was given for.
    #[error(
        "the licence is for a publication of {length} bytes, and this one has {found}; give the licence that belongs to it"
    )]
    OtherPublication {
        /// The length that the licence's link names, in bytes.
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
    #[error(
        "this is not a key file of `cipherloom lcp encrypt`, which has one JSON record a line: line {line} {problem}; it stays as it is, choose another --key-file"
    )]
    KeyFile {
        /// Line, from 1.
        line: usize,
        /// What is wrong; never a quotation.
        problem: &'static str,
    },
    /// The publication was protected before, and nobody asked for an update.
    #[error(
        "this publication was protected before, as {id:?}, and a new key would make its licences useless; --update keeps identifier and key, another --key-file makes it another publication"
    )]
    ProtectedBefore {
        /// Its identifier in the key file.
        id: String,
    },
    /// An update cannot tell which record is the publication's.
    #[error("the key file has several publications of this name ({ids}); say which one with --id")]
    SeveralRecords {
        /// Their identifiers.
        ids: String,
    },
    /// An update has nothing to go by.
    #[error(
        "the key file has no record of this publication to update; give its --id or the key file of the run that protected it, or leave --update out"
    )]
    NothingToUpdate,
    /// The key that was given is not the one in the key file.
    #[error("the key file has another content key for {id:?}; leave --content-key-file out")]
    OtherContentKey {
        /// The publication's identifier.
        id: String,
    },
    /// Larger than the licence server can be told.
    #[error(
        "protected, the publication has {length} bytes or more, and licence servers of the second generation take less than 4 GiB; leave --notify out, or make it smaller"
    )]
    TooLargeForServer {
        /// Its length in bytes, as far as it is known.
        length: u64,
    },
    /// The key file is one of the publications.
    #[error("this is one of the publications that are to be protected; choose another --key-file")]
    KeyFileIsSource,
    /// A publication's output would take the key file's place.
    #[error("its output would take the place of the key file; choose another --key-file")]
    KeyFileIsOutput,
    /// The key could not be kept, so the publication was thrown away.
    #[error(
        "its key could not be kept ({reason}), so the protected publication was thrown away; make room or choose another --key-file"
    )]
    KeyNotKept {
        /// What the key file's system said.
        reason: String,
    },
    /// Another publication of the run has the same output.
    #[error(
        "another publication of this run goes to the same output; give the two different names or folders"
    )]
    SameOutput,
    /// Outputs would lie among the sources.
    #[error(
        "the output folder lies inside this folder, so outputs would become sources; choose another --out"
    )]
    NestedOutput,
    /// A folder holds nothing that can be checked.
    #[error("no publication or licence in it ({known})")]
    NothingToCheck {
        /// The extensions that are known.
        known: String,
    },
    /// No record for this publication.
    #[error(
        "the key file has no record for this publication (by its SHA-256 or name); give the key file of the run that protected it"
    )]
    KeyMissing,
}

impl Error {
    /// The operating system's refusal of `action`, a verb phrase: "read the publication".
    #[must_use]
    pub fn io(action: &'static str, source: io::Error) -> Error {
        Error::Io { action, source }
    }

    /// An archive that contradicts itself.
    pub(crate) fn damaged(problem: &'static str) -> Error {
        Error::ZipDamaged { problem }
    }
}
