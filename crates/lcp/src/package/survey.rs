//! The survey: looks at an unprotected publication and says what becomes of each of its parts.

use super::{Kind, Metadata, Profile, epub, readium, w3c};
use crate::Error;
use crate::container::{Archive, Entry, Method, Source};
use crate::encryption_xml::{self, Compression, Protected};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// How a part's content goes into the output (before encryption).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// The source's bytes as they are stored; a deflate stream stays one.
    Kept,
    /// The source's deflate stream, inflated.
    Inflated,
    /// The source's stored bytes, deflated.
    Deflated,
}

/// Where a part's content comes from.
#[derive(Debug)]
pub(crate) enum Content {
    /// An entry of the source archive.
    Entry(usize),
    /// The source file as a whole.
    File,
    /// Made here; written deflated, or stored if `mimetype`.
    Made(Vec<u8>),
}

/// An entry of the output.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) coding: Coding,
    pub(crate) is_encrypted: bool,
}

/// A publication that has been looked at.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) kind: Kind,
    pub(crate) metadata: Metadata,
    pub(crate) parts: Vec<Part>,
    pub(crate) source: Origin,
}

/// The source, open.
#[derive(Debug)]
pub(crate) enum Origin {
    Archive(Archive),
    File(Source),
}

impl Package {
    /// Looks at the publication in `source`; `path` is only asked for its name.
    pub(crate) fn survey(source: Source, path: &Path) -> Result<Package, Error> {
        let mut first = [0; 5];
        let head = (source.len() as usize).min(first.len());
        source.read_exact(&mut first[..head], 0)?;
        if first == *b"%PDF-" {
            return Ok(of_pdf(source, path));
        }
        let has_name_of_pdf = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pdf"));
        let archive = match Archive::read(source) {
            Err(Error::NotAZip) if has_name_of_pdf => {
                return Err(Error::NotAPublication {
                    problem: "this is no PDF, whatever its name: it does not begin as one",
                });
            }
            archive => archive?,
        };
        let mut package = if archive.find(epub::CONTAINER).is_some() {
            of_epub(archive)?
        } else if archive.find(readium::MANIFEST).is_some() {
            let manifest = readium::manifest(&archive)?;
            of_readium(archive, manifest, path)?
        } else if archive.find(w3c::MANIFEST).is_some() {
            let manifest = w3c::manifest(&archive)?;
            of_readium(archive, manifest, path)?
        } else {
            return Err(Error::NotAPublication { problem: "this zip archive holds no publication" });
        };
        if !package.parts.iter().any(|part| part.is_encrypted) {
            return Err(Error::NothingToProtect);
        }
        if package.metadata.title.is_empty() {
            package.metadata.title = title_of(path);
        }
        Ok(package)
    }

    /// The file that is read.
    pub(crate) fn source(&self) -> &Source {
        match &self.source {
            Origin::Archive(archive) => archive.source(),
            Origin::File(source) => source,
        }
    }

    /// The source, if it is an archive.
    pub(crate) fn archive(&self) -> Option<&Archive> {
        match &self.source {
            Origin::Archive(archive) => Some(archive),
            Origin::File(_) => None,
        }
    }

    /// The entry that a part's content comes from.
    pub(crate) fn entry(&self, part: &Part) -> Option<&Entry> {
        match part.content {
            Content::Entry(index) => Some(&self.archive()?.entries()[index]),
            Content::File | Content::Made(_) => None,
        }
    }

    /// Bytes of a part's content in the output before encryption; `None` if it has to be deflated first.
    pub(crate) fn payload_len(&self, part: &Part) -> Option<u64> {
        match (part.coding, self.entry(part)) {
            (Coding::Deflated, _) => None,
            (Coding::Inflated, Some(entry)) => Some(entry.len),
            (Coding::Kept, Some(entry)) => Some(entry.compressed_len),
            (_, None) => Some(self.source().len()),
        }
    }
}

/// A title from a file's name, whose separators become spaces.
fn title_of(path: &Path) -> String {
    let title = path.file_stem().unwrap_or_default().to_string_lossy().replace(['_', '-', '.'], " ");
    if title.trim().is_empty() { "Untitled".into() } else { title.trim().to_owned() }
}

/// A part that is encrypted: deflated if that helps, and inflated where a reader must be able to seek.
fn encrypted(entry: &Entry, index: usize, is_compressible: bool) -> Part {
    let coding = match (entry.method, is_compressible) {
        (Method::Deflated, true) => Coding::Kept,
        (Method::Deflated, false) => Coding::Inflated,
        (Method::Stored, true) if entry.len > 0 => Coding::Deflated,
        (Method::Stored, _) => Coding::Kept,
    };
    Part { name: entry.name.clone(), content: Content::Entry(index), coding, is_encrypted: true }
}

fn copied(entry: &Entry, index: usize) -> Part {
    let content = Content::Entry(index);
    Part { name: entry.name.clone(), content, coding: Coding::Kept, is_encrypted: false }
}

fn made(name: &str, bytes: Vec<u8>) -> Part {
    Part { name: name.into(), content: Content::Made(bytes), coding: Coding::Kept, is_encrypted: false }
}

/// Of each part that is encrypted: its entry's index, its original length, and whether it is deflated under its
/// encryption.
fn protected<'p>(parts: &'p [Part], archive: &'p Archive) -> impl Iterator<Item = (usize, u64, bool)> + 'p {
    parts.iter().filter(|part| part.is_encrypted).filter_map(|part| {
        let Content::Entry(index) = part.content else { return None };
        let entry = &archive.entries()[index];
        let was_deflated = part.coding == Coding::Kept && entry.method == Method::Deflated;
        Some((index, entry.len, was_deflated || part.coding == Coding::Deflated))
    })
}

fn of_epub(archive: Archive) -> Result<Package, Error> {
    if archive.find(epub::LICENSE).is_some() {
        return Err(Error::AlreadyProtected);
    }
    let book = epub::Epub::read(&archive)?;
    let mut listed = HashSet::new();
    for resource in book.encryption.resources() {
        if resource.is_lcp {
            return Err(Error::AlreadyProtected);
        }
        if !resource.is_obfuscated() {
            return Err(Error::ForeignProtection {
                entry: resource.path.clone(),
                algorithm: resource.algorithm.clone(),
            });
        }
        listed.insert(resource.path.as_str());
    }
    // OCF: first, and stored.
    let mut parts = vec![made("mimetype", b"application/epub+zip".to_vec())];
    for (index, entry) in archive.entries().iter().enumerate() {
        if entry.name == "mimetype" || entry.name == encryption_xml::NAME {
            continue;
        }
        let may_encrypt =
            !entry.is_folder() && book.may_encrypt(&entry.name) && !listed.contains(entry.name.as_str());
        parts.push(if may_encrypt {
            encrypted(entry, index, super::media::is_compressible(book.media_type(&entry.name)))
        } else {
            copied(entry, index)
        });
    }
    let protected = protected(&parts, &archive).map(|(index, original_len, is_deflated)| Protected {
        path: &archive.entries()[index].name,
        compression: Compression { method: if is_deflated { 8 } else { 0 }, original_len },
    });
    let list = made(encryption_xml::NAME, book.encryption.with(protected));
    // Behind `mimetype`: a reader of the stream knows what is encrypted before it comes.
    parts.insert(1, list);
    Ok(Package { kind: Kind::Epub, metadata: book.metadata, parts, source: Origin::Archive(archive) })
}

fn of_readium(archive: Archive, mut manifest: Value, path: &Path) -> Result<Package, Error> {
    if archive.find(readium::LICENSE).is_some() {
        return Err(Error::AlreadyProtected);
    }
    let links = readium::links(&manifest, &archive)?;
    let mut protected: HashMap<usize, bool> = HashMap::new();
    for link in &links {
        let entry = &archive.entries()[link.entry];
        if let Some(encrypted) = &link.encrypted {
            if encrypted.scheme == readium::LCP {
                return Err(Error::AlreadyProtected);
            }
            let algorithm = format!("{} ({})", encrypted.algorithm, encrypted.scheme);
            return Err(Error::ForeignProtection { entry: entry.name.clone(), algorithm });
        }
        let is_own = [readium::MANIFEST, w3c::MANIFEST, w3c::ENTRY_PAGE].contains(&entry.name.as_str());
        if !is_own && !entry.is_folder() {
            *protected.entry(link.entry).or_insert(true) &= link.is_compressible;
        }
    }
    // A cover may also be linked to as a page: readers show it before they have a license.
    for cover in links.iter().filter(|link| link.is_cover) {
        protected.remove(&cover.entry);
    }
    let mut parts = Vec::with_capacity(archive.entries().len() + 1);
    for (index, entry) in archive.entries().iter().enumerate() {
        if entry.name == readium::MANIFEST {
            continue;
        }
        parts.push(match protected.get(&index) {
            Some(&is_compressible) => encrypted(entry, index, is_compressible),
            None => copied(entry, index),
        });
    }
    let by_entry: HashMap<usize, (u64, bool)> = self::protected(&parts, &archive)
        .map(|(index, len, is_deflated)| (index, (len, is_deflated)))
        .collect();
    readium::mark(&mut manifest, &archive, &|index| by_entry.get(&index).copied());
    parts.insert(0, made(readium::MANIFEST, manifest.to_string().into_bytes()));
    let (metadata, profile) = readium::metadata(&manifest);
    let kind = Kind::Readium(profile.unwrap_or_else(|| profile_of_name(path)));
    Ok(Package { kind, metadata, parts, source: Origin::Archive(archive) })
}

/// What a file's extension says where the manifest says nothing.
fn profile_of_name(path: &Path) -> Profile {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("audiobook") => Profile::Audiobook,
        Some("divina") => Profile::Divina,
        _ => Profile::WebPublication,
    }
}

fn of_pdf(source: Source, path: &Path) -> Package {
    const NAME: &str = "publication.pdf";
    let metadata = Metadata { title: title_of(path), ..Metadata::default() };
    let manifest = readium::of_pdf(NAME, &metadata, source.len());
    let content =
        Part { name: NAME.into(), content: Content::File, coding: Coding::Kept, is_encrypted: true };
    let parts = vec![made(readium::MANIFEST, manifest.to_string().into_bytes()), content];
    Package { kind: Kind::Readium(Profile::Pdf), metadata, parts, source: Origin::File(source) }
}
