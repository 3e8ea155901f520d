//! EPUB (EPUB 2.0.1 and 3.3): which resources must stay readable without a licence.
//!
//! Reading systems need these before they have a key (Readium LCP, section 4.3): `mimetype`, all of `META-INF`, the
//! package document, the navigation document, the NCX, the cover image; and Adobe's page-map.

use super::{Metadata, href, media, xml};
use crate::Error;
use crate::container::Archive;
use crate::encryption_xml::{self, EncryptionXml};
use std::collections::{HashMap, HashSet};
use xml::{Node, Tag};

/// The entry that every EPUB has.
pub(crate) const CONTAINER: &str = "META-INF/container.xml";
/// Where an EPUB's licence stands.
pub(crate) const LICENCE: &str = "META-INF/license.lcpl";

/// The most bytes that a document of the package may have.
const MOST_DOCUMENT: u64 = 8 << 20;
/// `encryption.xml` grows with the number of resources.
pub(crate) const MOST_ENCRYPTION_XML: u64 = 32 << 20;

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
}

impl Epub {
    pub(crate) fn read(archive: &Archive) -> Result<Epub, Error> {
        let mut epub = Epub::default();
        let roots = root_files(&document(archive, CONTAINER, MOST_DOCUMENT)?)?;
        for root in &roots {
            let package = document(archive, root, MOST_DOCUMENT)?;
            epub.add_package(root, &package)?;
        }
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

    fn add_package(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let text = xml::text(name, bytes)?;
        let mut package = Package::default();
        let mut field = None;
        xml::walk(name, &text, &mut |node, _| {
            match node {
                Node::Open(tag) => {
                    field = Field::of(tag.name());
                    if let Some(field) = field {
                        self.metadata_mut(field, true);
                    }
                    package.take(&tag)?;
                }
                Node::Text(text) => {
                    if let Some(field) = field {
                        self.metadata_mut(field, false).push_str(&text);
                    }
                }
                Node::Close(_) => field = None,
            }
            Ok(())
        })?;
        self.tidy();
        self.clear.insert(name.to_owned());
        let base = href::folder(name);
        for item in &package.items {
            let Some(path) = href::resolve(base, &item.href) else { continue };
            if package.must_be_clear(item) {
                self.clear.insert(path.clone());
            }
            self.media_types.insert(path, item.media_type.clone());
        }
        Ok(())
    }

    /// The text that a metadata element's content goes to; `begins`: the element has just begun.
    fn metadata_mut(&mut self, field: Field, begins: bool) -> &mut String {
        let many = match field {
            Field::Title if begins && !self.metadata.title.trim().is_empty() => {
                // The first title is the one; others are subtitles.
                self.metadata.title.push('\n');
                return &mut self.metadata.title;
            }
            Field::Title => return &mut self.metadata.title,
            Field::Description => return &mut self.metadata.description,
            Field::Date => return &mut self.metadata.date,
            Field::Author => &mut self.metadata.authors,
            Field::Publisher => &mut self.metadata.publishers,
            Field::Language => &mut self.metadata.languages,
            Field::Subject => &mut self.metadata.subjects,
        };
        if begins || many.is_empty() {
            many.push(String::new());
        }
        many.last_mut().expect("pushed above")
    }

    fn tidy(&mut self) {
        let tidy = |text: &mut String| *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Metadata { title, authors, publishers, description, date, languages, subjects } =
            &mut self.metadata;
        *title = title.trim().lines().next().unwrap_or_default().to_owned();
        [title, description, date].into_iter().for_each(tidy);
        for list in [authors, publishers, languages, subjects] {
            list.iter_mut().for_each(tidy);
            list.retain(|text| !text.is_empty());
        }
    }
}

/// The metadata elements (Dublin Core) that are kept.
#[derive(Clone, Copy)]
enum Field {
    Title,
    Author,
    Publisher,
    Description,
    Date,
    Language,
    Subject,
}

impl Field {
    fn of(element: &str) -> Option<Field> {
        Some(match element {
            "title" => Field::Title,
            "creator" => Field::Author,
            "publisher" => Field::Publisher,
            "description" => Field::Description,
            "date" => Field::Date,
            "language" => Field::Language,
            "subject" => Field::Subject,
            _ => return None,
        })
    }
}

/// A package document's manifest, and what points into it.
#[derive(Default)]
struct Package {
    items: Vec<Item>,
    /// Identifiers that `<meta name="cover">`, the spine's `toc` and its `page-map` name.
    covers: Vec<String>,
    pointed_at: Vec<String>,
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
            "meta" if attribute("name")? == "cover" => self.covers.push(attribute("content")?),
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

/// The package documents that `container.xml` names.
fn root_files(bytes: &[u8]) -> Result<Vec<String>, Error> {
    let text = xml::text(CONTAINER, bytes)?;
    let mut roots = Vec::new();
    xml::walk(CONTAINER, &text, &mut |node, span| {
        if let Node::Open(tag) = node
            && tag.name() == "rootfile"
        {
            let malformed = |problem: &str| Error::Xml {
                part: CONTAINER.into(),
                problem: problem.into(),
                position: span.start as u64,
            };
            let path = tag.attribute("full-path")?.ok_or_else(|| malformed("a rootfile has no full-path"))?;
            let path = href::resolve("", &path)
                .ok_or_else(|| malformed("a rootfile leads out of the publication"))?;
            roots.push(path);
        }
        Ok(())
    })?;
    if roots.is_empty() {
        return Err(Error::Xml {
            part: CONTAINER.into(),
            problem: "it names no rootfile".into(),
            position: 0,
        });
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
