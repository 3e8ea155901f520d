//! What a publication or licence says without a key.

use super::check::{Subject, embedded_licence, licence_alone};
use crate::container::{Archive, Source};
use crate::licence::Licence;
use crate::{Error, Protection};
use std::path::Path;

/// What a file says of itself.
#[derive(Debug)]
pub struct Inspected {
    /// What it is.
    pub subject: Subject,
    /// Bytes of the file.
    pub bytes: u64,
    /// The publication's title; empty for a licence.
    pub title: String,
    /// Entries of the archive.
    pub entries: usize,
    /// Protected resources.
    pub resources: usize,
    /// How many of them were deflated before they were encrypted.
    pub deflated: usize,
    /// Bytes of all protected resources as they are encrypted.
    pub encrypted_bytes: u64,
    /// What tells this protected publication from every other: see [`Protection::fingerprint`].
    pub fingerprint: String,
    /// The licence that it is or has inside, or what is wrong with that.
    pub licence: Option<Result<Licence, Error>>,
}

/// Looks at the publication or licence at `path`.
///
/// # Errors
/// If it is neither, or its structure is damaged.
pub fn inspect(path: &Path) -> Result<Inspected, Error> {
    let source = Source::open(path)?;
    let mut inspected = Inspected {
        subject: Subject::Licence,
        bytes: source.len(),
        title: String::new(),
        entries: 0,
        resources: 0,
        deflated: 0,
        encrypted_bytes: 0,
        fingerprint: String::new(),
        licence: None,
    };
    if let Some(text) = licence_alone(&source)? {
        inspected.licence = Some(Ok(Licence::parse(&text)?));
        return Ok(inspected);
    }
    let archive = Archive::read(source)?;
    let protection = Protection::read(&archive)?;
    inspected.subject = Subject::Publication(protection.kind);
    inspected.entries = archive.entries().len();
    inspected.resources = protection.resources.len();
    inspected.deflated = protection.resources.iter().filter(|resource| resource.is_deflated).count();
    inspected.encrypted_bytes =
        protection.resources.iter().map(|resource| archive.entries()[resource.entry].len).sum();
    inspected.fingerprint = protection.fingerprint(&archive);
    inspected.licence = embedded_licence(&archive, protection.kind).transpose();
    inspected.title = protection.metadata.title;
    Ok(inspected)
}
