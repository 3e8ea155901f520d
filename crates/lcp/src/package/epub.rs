//! EPUB (EPUB 2.0.1 and 3.3): which resources must stay readable without a license.
//!
//! Reading systems need these before they have a key (Readium LCP, section 4.3): `mimetype`, all of `META-INF`, the
//! package document, the navigation document, the NCX, the cover image; and Adobe's page-map.

use super::metadata::DublinCore;
use super::{Metadata, href, media, xml};
use crate::Error;
use crate::container::Archive;
use crate::encryption_xml::{self, EncryptionXml};
use std::collections::{HashMap, HashSet};
use xml::{Node, Tag};

/// The entry that every EPUB has.
pub(crate) const CONTAINER: &str = "META-INF/container.xml";
/// The entry that holds an EPUB's license.
pub(crate) const LICENSE: &str = "META-INF/license.lcpl";

/// The most bytes that a document of the package may have.
const MOST_DOCUMENT: u64 = 8 << 20;
/// The most bytes that all package documents may have together.
const MOST_PACKAGES: u64 = 16 << 20;
/// The most package documents: real publications have one, or one for each of a few renditions.
const MOST_ROOT_FILES: usize = 64;
/// The most items that all manifests may list together: twice as many as an archive may have entries.
const MOST_ITEMS: usize = 100_000;
/// `encryption.xml` grows with the number of resources.
const MOST_ENCRYPTION_XML: u64 = 32 << 20;

const NCX: &str = "application/x-dtbncx+xml";
const PAGE_MAP: &str = "application/oebps-page-map+xml";

/// What an EPUB's documents say.
#[derive(Debug, Default)]
pub(crate) struct Epub {
    pub(crate) metadata: Metadata,
    /// Names of entries that must stay readable, besides those of `META-INF`.
    pub(crate) clear: HashSet<String>,
    /// Media types of the entries that the manifest lists.
    pub(crate) media_types: HashMap<String, String>,
    pub(crate) encryption: EncryptionXml,
    items: usize,
}

impl Epub {
    pub(crate) fn read(archive: &Archive) -> Result<Epub, Error> {
        let (mut epub, mut elements) = (Epub::default(), DublinCore::default());
        let roots = root_files(&document(archive, CONTAINER, MOST_DOCUMENT)?)?;
        let mut read = 0;
        for root in &roots {
            let package = document(archive, root, MOST_DOCUMENT)?;
            read += package.len() as u64;
            if read > MOST_PACKAGES {
                return Err(Error::TooMuch { what: "bytes of package documents", most: MOST_PACKAGES });
            }
            epub.add_package(archive, root, &package, &mut elements)?;
        }
        epub.metadata = elements.finish();
        epub.encryption = encryption(archive)?;
        Ok(epub)
    }

    /// Whether an entry may be encrypted.
    pub(crate) fn may_encrypt(&self, name: &str) -> bool {
        name != "mimetype" && !name.starts_with("META-INF/") && !self.clear.contains(name)
    }

    /// The entry's media type, by the manifest or by its name.
    pub(crate) fn media_type(&self, name: &str) -> &str {
        self.media_types.get(name).map_or_else(|| media::of_name(name), String::as_str)
    }

    fn add_package(
        &mut self,
        archive: &Archive,
        name: &str,
        bytes: &[u8],
        elements: &mut DublinCore,
    ) -> Result<(), Error> {
        let text = xml::text(name, bytes)?;
        let (mut package, mut is_kept) = (Package::default(), false);
        xml::walk(name, &text, &mut |node, _| {
            match node {
                Node::Open(tag) => {
                    is_kept = elements.begin(tag.name());
                    package.take(&tag)?;
                    if self.items + package.items.len() > MOST_ITEMS {
                        return Err(Error::TooMuch { what: "manifest items", most: MOST_ITEMS as u64 });
                    }
                }
                Node::Text(text) if is_kept => elements.push(&text),
                Node::Text(_) => {}
                Node::Close => is_kept = false,
            }
            Ok(())
        })?;
        self.items += package.items.len();
        self.clear.insert(name.to_owned());
        let base = href::folder(name);
        for item in &package.items {
            // What is not in the archive needs no decision, and must not take memory.
            let Some(path) = href::resolve(base, &item.href).filter(|path| archive.find(path).is_some())
            else {
                continue;
            };
            if package.must_be_clear(item) {
                self.clear.insert(path.clone());
            }
            self.media_types.insert(path, item.media_type.clone());
        }
        Ok(())
    }
}

/// A package document's manifest, and what points into it.
#[derive(Default)]
struct Package {
    items: Vec<Item>,
    /// Identifiers that `<meta name="cover">`, the spine's `toc` and its `page-map` name.
    covers: HashSet<String>,
    pointed_at: HashSet<String>,
}

struct Item {
    id: String,
    href: String,
    media_type: String,
    properties: String,
}

impl Package {
    fn take(&mut self, tag: &Tag<'_>) -> Result<(), Error> {
        let attribute = |name| -> Result<String, Error> { Ok(tag.attribute(name)?.unwrap_or_default()) };
        match tag.name() {
            "item" => self.items.push(Item {
                id: attribute("id")?,
                href: attribute("href")?,
                media_type: attribute("media-type")?,
                properties: attribute("properties")?,
            }),
            "meta" if attribute("name")? == "cover" => {
                self.covers.insert(attribute("content")?);
            }
            "spine" => self.pointed_at.extend([attribute("toc")?, attribute("page-map")?]),
            _ => {}
        }
        Ok(())
    }

    fn must_be_clear(&self, item: &Item) -> bool {
        let has = |property: &str| item.properties.split_whitespace().any(|word| word == property);
        let is_image = item.media_type.starts_with("image/");
        let is_cover = self.covers.contains(&item.id) || item.id == "cover-image";
        has("nav")
            || has("cover-image")
            || (is_cover && is_image)
            || [NCX, PAGE_MAP].contains(&item.media_type.as_str())
            || (!item.id.is_empty() && self.pointed_at.contains(&item.id))
    }
}

/// The package documents that `container.xml` names, each once.
fn root_files(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let text = xml::text(CONTAINER, bytes)?;
    let (mut roots, mut known) = (Vec::new(), HashSet::new());
    xml::walk(CONTAINER, &text, &mut |node, span| {
        if let Node::Open(tag) = node
            && tag.name() == "rootfile"
        {
            let malformed = |problem: &str| Error::xml(CONTAINER, problem, span.start);
            let path = tag.attribute("full-path")?.ok_or_else(|| malformed("a rootfile has no full-path"))?;
            let path = href::resolve("", &path)
                .ok_or_else(|| malformed("a rootfile leads out of the publication"))?;
            if known.insert(path.clone()) {
                roots.push(path);
            }
            if roots.len() > MOST_ROOT_FILES {
                return Err(Error::TooMuch { what: "package documents", most: MOST_ROOT_FILES as u64 });
            }
        }
        Ok(())
    })?;
    if roots.is_empty() {
        return Err(Error::xml(CONTAINER, "it names no rootfile", 0));
    }
    Ok(roots)
}

pub(crate) fn encryption(archive: &Archive) -> Result<EncryptionXml, Error> {
    match archive.find(encryption_xml::NAME) {
        None => Ok(EncryptionXml::default()),
        Some(index) => {
            EncryptionXml::parse(&archive.read_whole(&archive.entries()[index], MOST_ENCRYPTION_XML)?)
        }
    }
}

/// A document's bytes.
pub(crate) fn document(archive: &Archive, name: &str, most: u64) -> Result<Vec<u8>, Error> {
    let index = archive.find(name).ok_or_else(|| Error::MissingPart { part: name.into() })?;
    archive.read_whole(&archive.entries()[index], most)
}
