//! Small protected books for tests, sound ones and others.

use crate::container::Method;
use crate::container::records::{self, EntryRecord};
use crate::encryption_xml::{Compression, EncryptionXml, Protected};
use crate::license::UserKey;
use crate::license::tests::CONTENT_KEY;
use flate2::Compression as Level;
use flate2::write::DeflateEncoder;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

const CONTAINER: &str = r#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;

const PACKAGE: &str = r#"<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A book</dc:title></metadata>
<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="b%20c.jpg" media-type="image/jpeg"/></manifest><spine><itemref idref="a"/></spine></package>"#;

/// A resource of a book: its content, and what is stored and said of it.
pub(crate) struct Resource {
    pub(crate) name: &'static str,
    pub(crate) content: Vec<u8>,
    pub(crate) stored: Vec<u8>,
    pub(crate) compression: Compression,
}

/// A chapter that is deflated and a picture that is not.
pub(crate) fn resources() -> Vec<Resource> {
    let key = UserKey::from_bytes(CONTENT_KEY.bytes());
    let chapter = b"<p>It was a dark and stormy night.</p>".repeat(5000);
    let picture: Vec<u8> = (0..100_003_u32).map(|number| (number.wrapping_mul(number) >> 7) as u8).collect();
    [("a.xhtml", chapter, 8), ("b c.jpg", picture, 0)]
        .map(|(name, content, method)| {
            let text = if method == 8 { deflated(&content) } else { content.clone() };
            let compression = Compression { method, original_len: content.len() as u64 };
            Resource { name, stored: key.seal(&text).unwrap(), content, compression }
        })
        .into()
}

pub(crate) fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Level::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Writes the book of these resources; `gap`: so many bytes of zeros, a film that is not protected, stand in its middle.
pub(crate) fn write(path: &Path, resources: &[Resource], gap: u64) {
    let list =
        resources.iter().map(|resource| Protected { path: resource.name, compression: resource.compression });
    let list = EncryptionXml::default().with(list);
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER.as_bytes()),
        ("book.opf", PACKAGE.as_bytes()),
    ];
    entries.extend(resources.iter().map(|resource| (resource.name, resource.stored.as_slice())));
    entries.push(("META-INF/encryption.xml", &list));
    let file = File::create(path).unwrap();
    let (mut offset, mut written) = (0, Vec::new());
    for (name, content) in entries {
        if gap > 0 && name == "a.xhtml" {
            let film = record(0, gap, offset);
            offset = put(&file, "film.mp4", &film, &[]) + gap;
            written.push(("film.mp4", film));
        }
        let entry = record(crc32fast::hash(content), content.len() as u64, offset);
        offset = put(&file, name, &entry, content);
        written.push((name, entry));
    }
    let directory = records::directory(written.into_iter(), offset);
    file.write_all_at(&directory, offset).unwrap();
}

fn record(crc32: u32, len: u64, offset: u64) -> EntryRecord {
    EntryRecord { method: Method::Stored, modified: records::NO_TIME, crc32, stored_len: len, len, offset }
}

fn put(file: &File, name: &str, entry: &EntryRecord, content: &[u8]) -> u64 {
    let whole = [entry.local_header(name).as_slice(), content].concat();
    file.write_all_at(&whole, entry.offset).unwrap();
    entry.offset + whole.len() as u64
}
