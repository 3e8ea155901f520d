//! Makes archives for tests, good ones and such as nobody should make.

use std::io::Write;

/// An entry to be written, with what its headers shall claim.
#[derive(Clone)]
pub struct Item {
    pub name: Vec<u8>,
    pub content: Vec<u8>,
    pub method: u16,
    /// Claims that differ from the truth.
    pub len: Option<u32>,
    pub crc32: Option<u32>,
    pub flags: u16,
    /// Name in the local header, if another one.
    pub local_name: Option<Vec<u8>>,
    /// Claimed place, if another one.
    pub offset: Option<u32>,
}

impl Item {
    pub fn deflated(name: &str, content: &[u8]) -> Item {
        Item { method: 8, ..Item::stored(name, content) }
    }

    pub fn stored(name: &str, content: &[u8]) -> Item {
        Item {
            name: name.into(),
            content: content.into(),
            method: 0,
            len: None,
            crc32: None,
            flags: 0,
            local_name: None,
            offset: None,
        }
    }
}

/// The archive of these entries.
pub fn archive(items: &[Item]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for item in items {
        let offset = item.offset.unwrap_or(bytes.len() as u32);
        let stored = if item.method == 8 { deflate(&item.content) } else { item.content.clone() };
        let mut fields = Vec::new();
        fields.extend(item.flags.to_le_bytes());
        fields.extend(item.method.to_le_bytes());
        fields.extend([0, 0, 0x21, 0]);
        fields.extend(item.crc32.unwrap_or_else(|| crc32fast::hash(&item.content)).to_le_bytes());
        fields.extend((stored.len() as u32).to_le_bytes());
        fields.extend(item.len.unwrap_or(item.content.len() as u32).to_le_bytes());
        let local_name = item.local_name.as_ref().unwrap_or(&item.name);
        bytes.extend(b"PK\x03\x04\x14\0");
        bytes.extend(&fields);
        bytes.extend((local_name.len() as u16).to_le_bytes());
        bytes.extend([0, 0]);
        bytes.extend(local_name);
        bytes.extend(stored);
        directory.extend(b"PK\x01\x02\x14\0\x14\0");
        directory.extend(&fields);
        directory.extend((item.name.len() as u16).to_le_bytes());
        directory.extend([0; 12]);
        directory.extend(offset.to_le_bytes());
        directory.extend(&item.name);
    }
    let start = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend((items.len() as u16).to_le_bytes());
    bytes.extend((items.len() as u16).to_le_bytes());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

pub fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub const CONTAINER: &str = r#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;

pub const PACKAGE: &str = r#"<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A &amp; B</dc:title><dc:creator>C</dc:creator>
<meta name="cover" content="front"/></metadata>
<manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="scripted nav"/>
<item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="front" href="img/front%20page.jpg" media-type="image/jpeg"/>
<item id="one" href="one.xhtml" media-type="application/xhtml+xml"/>
<item id="picture" href="img/picture.png" media-type="image/png"/>
<item id="font" href="font.otf" media-type="font/otf"/>
</manifest><spine toc="toc"><itemref idref="one"/></spine></package>"#;

/// A small EPUB with everything that is treated in its own way.
pub fn epub() -> Vec<Item> {
    let fonts = r#"<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><e:EncryptedData xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><e:CipherData><e:CipherReference URI="OPS/font.otf"/></e:CipherData></e:EncryptedData></encryption>"#;
    vec![
        Item::stored("mimetype", b"application/epub+zip"),
        Item::deflated("META-INF/container.xml", CONTAINER.as_bytes()),
        Item::deflated("META-INF/encryption.xml", fonts.as_bytes()),
        Item::deflated("OPS/book.opf", PACKAGE.as_bytes()),
        Item::deflated("OPS/nav.xhtml", b"<html/>"),
        Item::stored("OPS/toc.ncx", b"<ncx/>"),
        Item::stored("OPS/img/front page.jpg", &[0xFF; 300]),
        Item::deflated("OPS/one.xhtml", &b"<p>It was a dark night.</p>\n".repeat(9000)),
        Item::stored("OPS/two.xhtml", &b"<p>It was a stormy night.</p>\n".repeat(9000)),
        Item::stored("OPS/empty.xhtml", b""),
        Item::deflated("OPS/img/picture.png", &noise(150_000)),
        Item::stored("OPS/font.otf", &noise(5000)),
        Item::stored("OPS/img/", b""),
    ]
}

/// Bytes that do not shrink.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_u32;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..len).map(step).collect()
}
