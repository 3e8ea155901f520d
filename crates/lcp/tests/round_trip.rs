//! What is protected comes back, read here by the archive's own reader and the kernels' CBC (another reader, of other
//! origin, is in `interop/`), for contents of every size around the ends of blocks and pieces.

mod archives;
mod runs;

use archives::{Item, archive, epub, noise};
use cipherloom::machine::Backend;
use cipherloom_kernels::Aes;
use cipherloom_lcp::internal::{Archive, Protection, Source};
use proptest::prelude::*;
use runs::{Ended, Run, protect, protect_with};
use std::collections::HashMap;
use std::io::Read;

/// Contents of an output's entries, decrypted where it says so, and how many were.
fn read(run: &Run, name: &str) -> (HashMap<String, Vec<u8>>, usize) {
    let Ended::Done(path) = &run.ended[name] else { panic!("{name}: {:?}", run.ended[name]) };
    let record = run.keys().into_iter().find(|record| record.source.name == *name).unwrap();
    let archive = Archive::read(Source::open(path).unwrap()).unwrap();
    let protection = Protection::read(&archive).unwrap();
    assert_eq!(protection.fingerprint(&archive), record.fingerprint);
    let aes = Aes::new(record.content_key.bytes(), Backend::Soft).unwrap();
    let mut contents = HashMap::new();
    for (index, entry) in archive.entries().iter().enumerate() {
        let mut content = archive.read_whole(entry, 1 << 30).unwrap();
        if let Some(resource) = protection.resources.iter().find(|resource| resource.entry == index) {
            let mut chain: [u8; 16] = content[..16].try_into().unwrap();
            content.drain(..16);
            aes.cbc_decrypt(&mut chain, &mut content);
            content.truncate(content.len() - usize::from(*content.last().unwrap()));
            if resource.is_deflated {
                let mut inflated = Vec::new();
                flate2::read::DeflateDecoder::new(content.as_slice()).read_to_end(&mut inflated).unwrap();
                content = inflated;
            }
            assert_eq!(resource.original_len, Some(content.len() as u64), "{}", entry.name);
        }
        contents.insert(entry.name.clone(), content);
    }
    (contents, protection.resources.len())
}

fn check(run: &Run, name: &str, items: &[Item], encrypted: usize) {
    let (mut contents, count) = read(run, name);
    for item in items {
        let name = String::from_utf8(item.name.clone()).unwrap();
        let content = contents.remove(&name).unwrap_or_else(|| panic!("{name} is gone"));
        assert!(name == "META-INF/encryption.xml" || content == item.content, "{name} differs");
    }
    assert_eq!(count, encrypted);
}

#[test]
fn an_epub_comes_back_and_keeps_clear_what_must_be() {
    for checksums in [true, false] {
        let run = protect_with(&[("a.epub", archive(&epub()))], None, |job| job.checksums = checksums);
        check(&run, "a.epub", &epub(), 4);
        let record = &run.keys()[0];
        assert_eq!(record.title, "A & B");
        assert_eq!(record.protected.sha256.is_some() && record.source.sha256.is_some(), checksums);
    }
}

#[test]
fn many_books_at_once_come_back() {
    let books: Vec<(String, Vec<Item>)> = (0..40)
        .map(|number| {
            let mut items = epub();
            items.push(Item::deflated("OPS/more.xhtml", &noise(1000 * number)));
            (format!("book-{number}.epub"), items)
        })
        .collect();
    let archives: Vec<(&str, Vec<u8>)> =
        books.iter().map(|(name, items)| (name.as_str(), archive(items))).collect();
    let run = protect(&archives);
    for (name, items) in &books {
        check(&run, name, items, 5);
    }
    let keys = run.keys();
    for (at, record) in keys.iter().enumerate() {
        assert!(
            keys[..at].iter().all(|other| other.content_key != record.content_key && other.id != record.id)
        );
    }
}

#[test]
fn every_length_around_blocks_and_pieces_comes_back() {
    const PIECE: usize = 64 << 10;
    let mut items = epub();
    let lengths = [0, 1, 15, 16, 17, 4096, PIECE - 16, PIECE - 1, PIECE, PIECE + 1, PIECE + 16, 3 * PIECE];
    for len in lengths {
        // Stored text that shrinks a little, and not at all: its deflated form crosses pieces too.
        items.push(Item::stored(&format!("OPS/text-{len}.xhtml"), &noise(len)));
        items.push(Item::deflated(&format!("OPS/kept-{len}.xhtml"), &noise(len)));
        items.push(Item::stored(&format!("OPS/image-{len}.jpg"), &noise(len)));
        items.push(Item::deflated(&format!("OPS/inflated-{len}.jpg"), &noise(len)));
    }
    let run = protect(&[("a.epub", archive(&items))]);
    check(&run, "a.epub", &items, 4 + 4 * lengths.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_parts_come_back(
        parts in proptest::collection::vec((any::<bool>(), any::<bool>(), 0usize..200_000, 1u8..6), 1..30),
    ) {
        let mut items = epub();
        for (number, (is_stored, is_image, len, rate)) in parts.iter().enumerate() {
            let name = format!("OPS/{number}.{}", if *is_image { "png" } else { "css" });
            let content: Vec<u8> = noise(*len).into_iter().map(|byte| byte >> rate).collect();
            items.push(if *is_stored { Item::stored(&name, &content) } else { Item::deflated(&name, &content) });
        }
        let run = protect(&[("a.epub", archive(&items))]);
        check(&run, "a.epub", &items, 4 + parts.len());
    }
}
