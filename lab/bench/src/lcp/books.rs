//! The publications that are measured: an audiobook, a large EPUB, and a shelf of EPUBs of all sizes.
//!
//! The same bytes every time. Sound and pictures do not compress and are stored; text is made of words and deflated, as
//! the books of shops are.

use crate::trees::random;
use anyhow::{Context, Result};
use cipherloom_lab::measure::Random;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

const CONTAINER: &str = r#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="o/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;

/// Tracks of the audiobook.
const TRACKS: usize = 8;
const TRACK_BYTES: usize = 40 << 20;

/// Books of the shelf.
pub(super) const SHELF: usize = 500;

/// What an EPUB holds.
struct Shape {
    chapters: usize,
    chapter_bytes: usize,
    pictures: usize,
    picture_bytes: usize,
}

/// Writes an audiobook of eight tracks of 40 MiB.
///
/// # Errors
/// If it cannot be written.
pub(super) fn audiobook(path: &Path) -> Result<()> {
    let mut book = Book::create(path)?;
    let tracks: Vec<_> = (0..TRACKS)
        .map(|number| serde_json::json!({"href": format!("{number}.mp3"), "type": "audio/mpeg"}))
        .collect();
    let manifest = serde_json::json!({
        "@context": "https://readium.org/webpub-manifest/context.jsonld",
        "metadata": {
            "title": "An audiobook",
            "conformsTo": "https://readium.org/webpub-manifest/profiles/audiobook",
        },
        "readingOrder": tracks,
    });
    book.add("manifest.json", manifest.to_string().as_bytes(), true)?;
    let (mut random, mut track) = (random(1), vec![0; TRACK_BYTES]);
    for number in 0..TRACKS {
        random.fill(&mut track);
        book.add(&format!("{number}.mp3"), &track, false)?;
    }
    book.finish()
}

/// Writes an EPUB of 300 chapters and 120 pictures.
///
/// # Errors
/// If it cannot be written.
pub(super) fn epub(path: &Path) -> Result<()> {
    let shape = Shape { chapters: 300, chapter_bytes: 20_000, pictures: 120, picture_bytes: 215_000 };
    shape.write(path, &mut random(2))
}

/// Writes 500 EPUBs of 5 to 60 chapters and 1 to 8 pictures into `folder`.
///
/// # Errors
/// If one cannot be written.
pub(super) fn shelf(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut random = random(3);
    for number in 0..SHELF {
        let shape = Shape {
            chapters: between(&mut random, 5, 60),
            chapter_bytes: between(&mut random, 3_000, 16_000),
            pictures: between(&mut random, 1, 8),
            picture_bytes: between(&mut random, 10_000, 120_000),
        };
        shape.write(&folder.join(format!("b{number:03}.epub")), &mut random)?;
    }
    Ok(())
}

impl Shape {
    fn write(&self, path: &Path, random: &mut Random) -> Result<()> {
        let mut book = Book::create(path)?;
        book.add("mimetype", b"application/epub+zip", false)?;
        book.add("META-INF/container.xml", CONTAINER.as_bytes(), true)?;
        book.add("o/b.opf", self.package().as_bytes(), true)?;
        for number in 0..self.chapters {
            let text = chapter(random, self.chapter_bytes);
            book.add(&format!("o/t{number}.xhtml"), text.as_bytes(), true)?;
        }
        let mut picture = vec![0; self.picture_bytes];
        for number in 0..self.pictures {
            random.fill(&mut picture);
            book.add(&format!("o/i{number}.jpg"), &picture, false)?;
        }
        book.finish()
    }

    fn package(&self) -> String {
        let item = |id: &str, number: usize, end: &str, kind: &str| {
            format!(r#"<item id="{id}{number}" href="{id}{number}.{end}" media-type="{kind}"/>"#)
        };
        let chapters = (0..self.chapters).map(|number| item("t", number, "xhtml", "application/xhtml+xml"));
        let pictures = (0..self.pictures).map(|number| item("i", number, "jpg", "image/jpeg"));
        let items: String = chapters.chain(pictures).collect();
        let spine: String =
            (0..self.chapters).map(|number| format!(r#"<itemref idref="t{number}"/>"#)).collect();
        format!(
            r#"<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="i"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="i">urn:x</dc:identifier><dc:title>A book</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"#
        )
    }
}

fn between(random: &mut Random, least: usize, most: usize) -> usize {
    least + (random.next_word() % (most - least + 1) as u64) as usize
}

/// A chapter of about so many bytes, in 3,000 words of two to nine letters, which deflate to about half.
fn chapter(numbers: &mut Random, bytes: usize) -> String {
    let mut text = String::from(r#"<html xmlns="http://www.w3.org/1999/xhtml"><body><p>"#);
    while text.len() < bytes {
        let mut word = random(1_000 + numbers.next_word() % 3_000);
        for _ in 0..between(&mut word, 2, 9) {
            text.push(char::from(b'a' + (word.next_word() % 20) as u8));
        }
        text.push(' ');
    }
    text + "</p></body></html>"
}

/// A zip archive in the making.
struct Book(ZipArchiveWriter<BufWriter<File>>);

impl Book {
    fn create(path: &Path) -> Result<Book> {
        let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Book(ZipArchiveWriter::new(BufWriter::new(file))))
    }

    fn add(&mut self, name: &str, content: &[u8], is_deflated: bool) -> Result<()> {
        let method = if is_deflated { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
        let (mut entry, config) = self.0.new_file(name).compression_method(method).start()?;
        let described = if is_deflated {
            let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
            writer.write_all(content)?;
            let (encoder, described) = writer.finish()?;
            encoder.finish()?;
            described
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(content)?;
            writer.finish()?.1
        };
        entry.finish(described)?;
        Ok(())
    }

    fn finish(self) -> Result<()> {
        self.0.finish()?.flush().context("cannot write a book")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_book_has_what_its_shape_says_and_the_same_bytes_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let shape = Shape { chapters: 3, chapter_bytes: 500, pictures: 2, picture_bytes: 100 };
        let books = ["a", "b"].map(|name| {
            let path = folder.path().join(name);
            shape.write(&path, &mut random(7)).unwrap();
            fs::read(path).unwrap()
        });
        assert_eq!(books[0], books[1]);
        let archive = rawzip::ZipArchive::from_slice(&books[0]).unwrap();
        assert_eq!(archive.entries_hint(), 3 + 3 + 2);
    }
}
