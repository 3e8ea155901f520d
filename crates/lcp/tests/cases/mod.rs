//! Bad publications, and the words that each is refused with.

use crate::archives::{Item, archive, epub, noise};

/// An EPUB with one entry changed, or added.
pub fn changed(name: &str, change: impl Fn(&mut Item)) -> Vec<u8> {
    let mut items = epub();
    change(items.iter_mut().find(|item| item.name == name.as_bytes()).unwrap());
    archive(&items)
}

fn with(item: Item) -> Vec<u8> {
    let mut items = epub();
    items.push(item);
    archive(&items)
}

fn named(name: &[u8]) -> Vec<u8> {
    with(Item { name: name.into(), ..Item::stored("x", b"x") })
}

/// A container that names these package documents.
pub fn container(roots: &[String]) -> Vec<u8> {
    let roots: String = roots.iter().map(|root| format!("<rootfile full-path=\"{root}\"/>")).collect();
    format!("<container><rootfiles>{roots}</rootfiles></container>").into_bytes()
}

/// A package document with this manifest.
pub fn package(manifest: &str) -> Vec<u8> {
    format!("<package><manifest>{manifest}</manifest></package>").into_bytes()
}

/// An EPUB of so many package documents, each of so many bytes.
fn with_packages(count: usize, len: usize) -> Vec<u8> {
    let roots: Vec<String> = (0..count).map(|number| format!("OPS/{number}.opf")).collect();
    let mut items = epub();
    items.iter_mut().find(|item| item.name.ends_with(b"container.xml")).unwrap().content = container(&roots);
    items.extend(roots.iter().map(|root| Item::stored(root, &package(&" ".repeat(len)))));
    archive(&items)
}

/// Two entries, each of which could be real by itself.
fn archive_bomb() -> Vec<u8> {
    let mut items = epub();
    for item in
        items.iter_mut().filter(|item| item.name.ends_with(b"one.xhtml") || item.name.ends_with(b".png"))
    {
        item.content = noise(250_000);
        item.len = Some(200 << 20);
    }
    archive(&items)
}

fn patched(bytes: &[u8], at: usize, value: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] = value;
    bytes
}

/// An EPUB with another byte at `at` in the local header of an entry.
fn local(name: &str, at: usize, value: u8) -> Vec<u8> {
    let good = archive(&epub());
    let is_its_header = |&start: &usize| {
        good[start..].starts_with(b"PK\x03\x04") && good[start + 30..].starts_with(name.as_bytes())
    };
    let start = (0..good.len() - 30).find(is_its_header).unwrap();
    patched(&good, start + at, value)
}

/// Name, bytes, and what the refusal says.
pub fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let good = archive(&epub());
    let mut no_end = good.clone();
    no_end.truncate(good.len() - 400);
    let mut bad_directory = good.clone();
    let end = bad_directory.len() - 22;
    let record = (0..end).rfind(|&at| bad_directory[at..].starts_with(b"PK\x01\x02")).unwrap();
    bad_directory[record + 2] = 9;
    let mut more_entries = good.clone();
    more_entries[end + 8] += 1;
    more_entries[end + 10] += 1;
    vec![
        ("empty.epub", Vec::new(), "not a zip archive"),
        ("cut.pdf", b"%PD".to_vec(), "this is no PDF"),
        ("text.epub", b"It was a dark and stormy night.".repeat(100), "not a zip archive"),
        ("truncated.epub", no_end, "its directory (at its end) is missing"),
        ("start-only.epub", good[..200].to_vec(), "its directory (at its end) is missing"),
        ("directory.epub", bad_directory, "its directory"),
        ("count.epub", more_entries, "its directory"),
        ("dots.epub", named(b"../../etc/passwd"), "leads out of its folder"),
        ("inner-dots.epub", named(b"OPS/../../x"), "leads out of its folder"),
        ("absolute.epub", named(b"/etc/passwd"), "is absolute"),
        ("drive.epub", named(b"C:/x"), "is absolute"),
        ("backslash.epub", named(b"OPS\\..\\x"), "backslash"),
        ("control.epub", named(b"a\0b"), "control character"),
        ("encoding.epub", named(b"caf\xe9"), "not UTF-8"),
        ("twice.epub", with(Item::stored("OPS/one.xhtml", b"other")), "two entries named \"OPS/one.xhtml\""),
        (
            "declared-bomb.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(u32::MAX - 1)),
            "declares a length that its stored bytes cannot reach",
        ),
        (
            "real-bomb.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(1000)),
            "inflates to more than its directory says",
        ),
        (
            "grown-bomb.epub",
            changed("OPS/one.xhtml", |item| {
                item.content = noise(400_000);
                item.len = Some(300 << 20);
            }),
            "declares to grow more than a hundredfold",
        ),
        (
            "overlap.epub",
            changed("OPS/two.xhtml", |item| item.offset = Some(0)),
            "local header bears another name",
        ),
        (
            "masked.epub",
            changed("OPS/two.xhtml", |item| item.local_name = Some(b"OPS/abc.xhtml".to_vec())),
            "local header bears another name",
        ),
        ("password.epub", changed("OPS/one.xhtml", |item| item.flags = 1), "zip password"),
        ("method.epub", changed("OPS/two.xhtml", |item| item.method = 12), "method 12"),
        ("checksum.epub", changed("OPS/two.xhtml", |item| item.crc32 = Some(7)), "CRC-32"),
        ("clear-checksum.epub", changed("OPS/nav.xhtml", |item| item.crc32 = Some(7)), "CRC-32"),
        ("image-checksum.epub", changed("OPS/img/picture.png", |item| item.crc32 = Some(7)), "CRC-32"),
        (
            "short.epub",
            changed("OPS/one.xhtml", |item| item.len = Some(item.content.len() as u32 + 1)),
            "shorter than its directory says",
        ),
        (
            "image-short.epub",
            changed("OPS/img/picture.png", |item| item.len = Some(item.content.len() as u32 + 1)),
            "shorter than its directory says",
        ),
        ("nothing.epub", archive(&[Item::stored("a", b"a")]), "holds no publication"),
        ("no-package.epub", archive(&epub()[..3]), "\"OPS/book.opf\" is missing"),
        (
            "rootfiles.epub",
            changed("META-INF/container.xml", |item| item.content = container(&(0..65).map(|n| format!("{n}.opf")).collect::<Vec<_>>())),
            "more than 64 package documents",
        ),
        (
            "items.epub",
            changed("OPS/book.opf", |item| {
                item.content = package(&"<item id=\"i\" href=\"one.xhtml\" media-type=\"a/b\"/>".repeat(100_001));
                item.method = 0;
            }),
            "more than 100000 manifest items",
        ),
        ("packages.epub", with_packages(3, 6 << 20), "more than 16777216 bytes of package documents"),
        (
            "attributes.epub",
            changed("OPS/book.opf", |item| {
                let attributes: String = (0..65).map(|number| format!(" a{number}=\"\"")).collect();
                item.content = package(&format!("<item{attributes}/>"));
            }),
            "a tag has more than 64 attributes",
        ),
        (
            "document-bomb.epub",
            changed("OPS/book.opf", |item| item.content = package(&" ".repeat(2 << 20))),
            "grow more than two hundredfold",
        ),
        ("archive-bomb.epub", archive_bomb(), "more than a hundred times the archive"),
        ("end.epub", [good.clone(), noise(100_000)].concat(), "100000 bytes follow the end of the zip archive"),
        ("newline.epub", [good.clone(), b"\n".to_vec()].concat(), "1 bytes follow the end"),
        ("gap.epub", [&good[..end], &[0; 10], &good[end..]].concat(), "not right before its end record"),
        ("front.epub", [b"#!/bin/sh\n".to_vec(), good.clone()].concat(), "not right before its end record"),
        ("disks.epub", patched(&good, end + 4, 1), "one part of several"),
        ("version.epub", patched(&good, record + 6, 200), "does not exist yet"),
        ("local-method.epub", local("OPS/one.xhtml", 8, 0), "another compression than its directory"),
        ("local-checksum.epub", local("OPS/one.xhtml", 14, 7), "another length or CRC-32 than its directory"),
        ("local-stored.epub", local("OPS/one.xhtml", 18, 7), "another length or CRC-32 than its directory"),
        ("local-length.epub", local("OPS/two.xhtml", 22, 7), "another length or CRC-32 than its directory"),
        ("local-password.epub", local("OPS/two.xhtml", 6, 1), "its local header says that it is encrypted"),
        (
            "container.epub",
            changed("META-INF/container.xml", |item| item.content = b"<container>".to_vec()),
            "\"META-INF/container.xml\" is malformed: it ends inside an element",
        ),
        (
            "rootless.epub",
            changed("META-INF/container.xml", |item| item.content = b"<container/>".to_vec()),
            "it names no rootfile",
        ),
        (
            "package.epub",
            changed("OPS/book.opf", |item| item.content = b"<package><a></package>".to_vec()),
            "\"OPS/book.opf\" is malformed",
        ),
        (
            "encryption.epub",
            changed("META-INF/encryption.xml", |item| item.content = b"<encryption".to_vec()),
            "\"META-INF/encryption.xml\" is malformed",
        ),
        ("lcp.epub", with(Item::stored("META-INF/license.lcpl", b"{}")), "protected with LCP already"),
        (
            "foreign.epub",
            changed("META-INF/encryption.xml", |item| {
                let text = String::from_utf8(item.content.clone()).unwrap();
                item.content = text
                    .replace("http://www.idpf.org/2008/embedding", "http://www.w3.org/2001/04/xmlenc#aes128-cbc")
                    .into_bytes();
            }),
            "another system's protection",
        ),
        ("manifest.webpub", archive(&[Item::stored("manifest.json", b"{\"a\":")]), "it ends too early"),
        ("order.webpub", archive(&[Item::stored("manifest.json", b"{}")]), "it has no readingOrder"),
        (
            "links.webpub",
            archive(&[Item::stored("manifest.json", b"{\"readingOrder\": [7]}")]),
            "something that is not a link",
        ),
        (
            "nothing.webpub",
            archive(&[Item::stored("manifest.json", b"{\"readingOrder\": [{\"href\": \"gone\"}]}")]),
            "no resource that may be encrypted",
        ),
        (
            "lcp.webpub",
            archive(&[
                Item::stored(
                    "manifest.json",
                    br#"{"readingOrder": [{"href": "a", "properties": {"encrypted": {"scheme": "http://readium.org/2014/01/lcp"}}}]}"#,
                ),
                Item::stored("a", b"a"),
            ]),
            "protected with LCP already",
        ),
    ]
}
