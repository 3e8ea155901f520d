//! Which files a check is about, and what a publication or license says without a key.

use super::check::{Subject, embedded_license, license_alone};
use crate::container::{Archive, Source};
use crate::license::License;
use crate::{Error, Protection};
use cipherloom::internal::{Selection, Tree};
use std::path::{Path, PathBuf};

/// What a file says of itself.
#[derive(Debug, Default)]
pub struct Inspected {
    /// What it is.
    pub subject: Subject,
    /// Bytes of the file.
    pub bytes: u64,
    /// The publication's title; empty for a license.
    pub title: String,
    /// Entries of the archive.
    pub entries: usize,
    /// Protected resources.
    pub resources: usize,
    /// How many of them were deflated before they were encrypted.
    pub deflated: usize,
    /// Bytes of all protected resources as they are encrypted.
    pub encrypted_bytes: u64,
    /// Identifies this protected publication: see [`Protection::fingerprint`].
    pub fingerprint: String,
    /// The license that it is or has inside, or what is wrong with that.
    pub license: Option<Result<License, Error>>,
}

/// Looks at the publication or license at `path`.
///
/// # Errors
/// If it is neither, or its structure is damaged.
pub fn inspect(path: &Path) -> Result<Inspected, Error> {
    let source = Source::open(path)?;
    let mut inspected = Inspected { subject: Subject::License, bytes: source.len(), ..Inspected::default() };
    if let Some(text) = license_alone(&source)? {
        inspected.license = Some(Ok(License::parse(&text)?));
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
    inspected.license = embedded_license(&archive, protection.kind).transpose();
    inspected.title = protection.metadata.title;
    Ok(inspected)
}

/// What is looked for in folders.
const EXTENSIONS: [&str; 8] =
    ["*.epub", "*.webpub", "*.audiobook", "*.divina", "*.lcpa", "*.lcpdi", "*.lcpdf", "*.lcpl"];

/// The files to check.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct FoundFiles {
    /// Those named, and those found; of one folder in the order of their paths.
    pub files: Vec<PathBuf>,
    /// For each folder that could not be listed whole, the error with its path.
    pub unlisted: Vec<Error>,
}

/// Looks at all that was named; what is no folder is taken whatever its name.
///
/// # Errors
/// With its path: the first folder that cannot be listed at all, or has nothing to check ([`Error::NothingToCheck`]).
pub fn find_protected(named: &[PathBuf]) -> Result<FoundFiles, Error> {
    let mut findings = FoundFiles::default();
    for path in named {
        if !path.is_dir() {
            findings.files.push(path.clone());
            continue;
        }
        list(path, &mut findings).map_err(|error| error.at(path))?;
    }
    Ok(findings)
}

fn list(folder: &Path, findings: &mut FoundFiles) -> Result<(), Error> {
    let tree = Tree::list(folder, &Selection::new(&EXTENSIONS.map(String::from), &[])?)?;
    let (first, is_whole) = (findings.files.len(), tree.unlisted.is_empty());
    findings.files.extend(tree.entries.iter().map(|entry| folder.join(tree.relative_path(entry))));
    findings.files[first..].sort_unstable();
    let unlisted = tree.unlisted.into_iter();
    findings.unlisted.extend(unlisted.map(|entry| Error::from(entry.error).at(&entry.path)));
    if findings.files.len() == first && is_whole {
        return Err(Error::NothingToCheck { known: EXTENSIONS.map(|glob| &glob[1..]).join(", ") });
    }
    Ok(())
}
