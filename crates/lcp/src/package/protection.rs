//! What a protected publication says of its protection: the same for EPUB and Readium packages.

use super::{Kind, Metadata, Profile, epub, readium};
use crate::Error;
use crate::container::Archive;
use aws_lc_rs::digest::{Context, SHA256};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The protection of a publication, as its archive declares it.
#[derive(Debug, Clone)]
pub struct Protection {
    /// The kind of publication.
    pub kind: Kind,
    /// Title and the like.
    pub metadata: Metadata,
    /// The resources that LCP protects; none if the publication is not protected.
    pub resources: Vec<ProtectedResource>,
}

/// A resource under LCP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    /// Index of its entry in the archive.
    pub entry: usize,
    /// The algorithm's URI; AES-256-CBC is the only one that LCP allows.
    pub algorithm: String,
    /// Whether it was deflated before it was encrypted.
    pub is_deflated: bool,
    /// Bytes before deflate and encryption, if that is said.
    pub original_len: Option<u64>,
}

impl Protection {
    /// Reads what the publication in `archive` says.
    ///
    /// # Errors
    /// [`Error::NotAPublication`] if it is neither EPUB nor Readium package, what is wrong with its documents, and
    /// [`Error::MissingPart`] for a protected resource that is not there.
    pub fn read(archive: &Archive) -> Result<Protection, Error> {
        if archive.find(epub::CONTAINER).is_some() {
            return of_epub(archive);
        }
        if archive.find(readium::MANIFEST).is_some() {
            return of_readium(archive);
        }
        Err(Error::NotAPublication { problem: "this zip archive holds no publication" })
    }

    /// For each entry of `archive` the protected resource that it is.
    pub(crate) fn by_entry(self, archive: &Archive) -> Vec<Option<ProtectedResource>> {
        let mut resources = vec![None; archive.entries().len()];
        for resource in self.resources {
            let entry = resource.entry;
            resources[entry] = Some(resource);
        }
        resources
    }

    /// Identifies this protected publication: the SHA-256, in hexadecimal digits, over the name, CRC-32 and length
    /// of each protected resource. Every protection draws new IVs, so no two have the same; embedding a license does
    /// not change it.
    #[must_use]
    pub fn fingerprint(&self, archive: &Archive) -> String {
        let entries = archive.entries();
        fingerprint(self.resources.iter().map(|resource| {
            let entry = &entries[resource.entry];
            (entry.name.as_str(), entry.crc32, entry.compressed_len)
        }))
    }
}

/// Over (name, CRC-32, stored length) of each protected resource, in any order.
pub(crate) fn fingerprint<'n>(resources: impl Iterator<Item = (&'n str, u32, u64)>) -> String {
    let mut resources: Vec<_> = resources.collect();
    resources.sort_unstable();
    let mut context = Context::new(&SHA256);
    for (name, crc32, len) in resources {
        context.update(name.as_bytes());
        context.update(&[0]);
        context.update(&crc32.to_le_bytes());
        context.update(&len.to_le_bytes());
    }
    hex(context.finish().as_ref())
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn of_epub(archive: &Archive) -> Result<Protection, Error> {
    let read = epub::Epub::read(archive)?;
    let protected = read.encryption.resources().iter().filter(|resource| resource.is_lcp);
    let resources = protected.map(|resource| {
        let entry =
            archive.find(&resource.path).ok_or_else(|| Error::MissingPart { part: resource.path.clone() })?;
        Ok(ProtectedResource {
            entry,
            algorithm: resource.algorithm.clone(),
            is_deflated: resource.compression.is_some_and(|compression| compression.method == 8),
            original_len: resource.compression.map(|compression| compression.original_len),
        })
    });
    let resources = resources.collect::<Result<_, Error>>()?;
    checked(archive, Protection { kind: Kind::Epub, metadata: read.metadata, resources })
}

fn of_readium(archive: &Archive) -> Result<Protection, Error> {
    let manifest = readium::manifest(archive)?;
    let (metadata, profile) = readium::metadata(&manifest);
    let (mut resources, mut known) = (Vec::new(), HashSet::new());
    for link in readium::links(&manifest, archive)? {
        let Some(encrypted) = link.encrypted.filter(|encrypted| encrypted.scheme == readium::LCP) else {
            continue;
        };
        // An entry may be linked to more than once.
        if known.insert(link.entry) {
            resources.push(ProtectedResource {
                entry: link.entry,
                algorithm: encrypted.algorithm,
                is_deflated: encrypted.is_deflated,
                original_len: encrypted.original_len,
            });
        }
    }
    let kind = Kind::Readium(profile.unwrap_or(Profile::WebPublication));
    checked(archive, Protection { kind, metadata, resources })
}

/// Deflate streams hide under encryption, where the archive's own limit does not reach.
fn checked(archive: &Archive, protection: Protection) -> Result<Protection, Error> {
    let deflated = protection.resources.iter().filter(|resource| resource.is_deflated);
    let declared = deflated.filter_map(|resource| resource.original_len).fold(0, u64::saturating_add);
    archive.check_growth(declared)?;
    Ok(protection)
}
