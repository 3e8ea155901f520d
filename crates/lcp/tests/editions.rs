//! A sold book keeps identifier and key; and books of one name are told apart.

mod archives;
mod runs;

use archives::{Item, archive, epub};
use cipherloom::IfExists;
use cipherloom_lcp::protect::{Identity, Job};
use cipherloom_lcp::{ContentKey, KeyFile, KeyRecord};
use runs::{Ended, Run, protect_with};
use std::fs;
use std::path::{Path, PathBuf};

fn edition(text: &str) -> Vec<u8> {
    let mut items = epub();
    items.push(Item::stored("OPS/text.xhtml", text.as_bytes()));
    archive(&items)
}

/// Runs that share a key file.
struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new() -> Shop {
        Shop { folder: tempfile::tempdir().unwrap() }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn records(&self) -> Vec<KeyRecord> {
        KeyFile::read(&self.out("keys.json")).unwrap()
    }

    fn protect(&self, out: &str, text: &str, change: impl Fn(&mut Job)) -> Run {
        protect_with(&[("book.epub", edition(text))], Some(&self.out(out)), |job| {
            job.key_file = self.out("keys.json");
            change(job);
        })
    }
}

fn update(job: &mut Job) {
    job.identity.update = true;
    job.if_exists = IfExists::Overwrite;
}

#[track_caller]
fn assert_refused(run: &Run, words: &str) {
    let ended = &run.ended["book.epub"];
    assert!(matches!(ended, Ended::Failed(error) if error.contains(words)), "{ended:?}");
}

#[test]
fn only_an_update_protects_a_book_again_and_keeps_its_key() {
    let shop = Shop::new();
    shop.protect("out", "one", |_| {});
    let sold = shop.records().remove(0);
    // Over the output, by a record whose output is gone, and for another folder.
    assert_refused(&shop.protect("out", "two", |job| job.if_exists = IfExists::Overwrite), &sold.id);
    assert_refused(&shop.protect("other", "one", |_| {}), &sold.id);
    fs::rename(shop.out("out/book.epub"), shop.out("away")).unwrap();
    assert_refused(&shop.protect("out", "two", |_| {}), &sold.id);
    assert_eq!(shop.records().len(), 1);
    for (text, output_is_there) in [("three", false), ("four", true)] {
        assert_eq!(shop.out("out/book.epub").exists(), output_is_there);
        shop.protect("out", text, update);
        let last = shop.records().pop().unwrap();
        assert_eq!((&last.id, &last.content_key), (&sold.id, &sold.content_key));
        assert_ne!(last.fingerprint, sold.fingerprint);
        assert_eq!(KeyRecord::of_publication(&shop.records(), &shop.out("out/book.epub")).unwrap(), &last);
    }
}

#[test]
fn an_update_needs_to_know_of_what() {
    let shop = Shop::new();
    assert_refused(&shop.protect("out", "one", update), "no record");
    shop.protect("a", "one", |_| {});
    shop.protect("b", "another", |_| {});
    let ids: Vec<String> = shop.records().into_iter().map(|record| record.id).collect();
    assert_refused(&shop.protect("c", "two", update), &ids[0]);
    shop.protect("c", "two", |job| {
        update(job);
        job.identity.id = Some(ids[1].clone());
    });
    assert_eq!(shop.records()[2].id, ids[1]);
    // Another key file's book is nobody's here.
    let stranger = Shop::new();
    stranger.protect("out", "one", |_| {});
    fs::copy(stranger.out("out/book.epub"), shop.out("a/book.epub")).unwrap();
    assert_refused(&shop.protect("a", "two", update), "no record");
}

#[test]
fn a_record_without_its_output_is_taken_up_again() {
    let shop = Shop::new();
    shop.protect("out", "one", |_| {});
    fs::remove_file(shop.out("out/book.epub")).unwrap();
    shop.protect("out", "one", |job| job.if_exists = IfExists::Skip);
    let records = shop.records();
    assert_eq!((&records[0].id, &records[0].content_key), (&records[1].id, &records[1].content_key));
}

#[test]
fn identifiers_and_key_are_those_that_are_given() {
    let shop = Shop::new();
    let given = Identity {
        id: Some("7".into()),
        alt_id: Some("978".into()),
        content_key: Some(ContentKey::new([7; 32])),
        ..Identity::default()
    };
    shop.protect("out", "one", |job| job.identity = given.clone());
    let record = shop.records().remove(0);
    assert_eq!((record.id.as_str(), record.alt_id()), ("7", "978"));
    assert_eq!(record.content_key.bytes(), &[7; 32]);
    assert_refused(&shop.protect("other", "two", |job| job.identity = given.clone()), "\"7\"");
    // A stopped run is taken up again with what was given.
    fs::remove_file(shop.out("out/book.epub")).unwrap();
    let resumed = shop.protect("out", "one", |job| job.identity = given.clone());
    assert!(matches!(resumed.ended["book.epub"], Ended::Done(_)));
    // A book that has one identifier gets no other.
    let new = Identity { id: Some("8".into()), ..Identity::default() };
    let again = shop.protect("out", "two", |job| {
        job.if_exists = IfExists::Overwrite;
        job.identity = new.clone();
    });
    assert_refused(&again, "\"7\"");
    let other_key = Identity { update: true, content_key: Some(ContentKey::new([8; 32])), ..given };
    assert_refused(
        &shop.protect("other", "two", |job| job.identity = other_key.clone()),
        "another content key",
    );
}

#[test]
fn books_of_one_name_have_different_identifiers_in_the_shop() {
    let shop = Shop::new();
    let books: Vec<(String, Vec<u8>)> = ["book.epub", "a/book.epub", "b/book.epub", "single.epub"]
        .map(|name| (name.into(), edition(name)))
        .into();
    let books: Vec<(&str, Vec<u8>)> =
        books.iter().map(|(name, book)| (name.as_str(), book.clone())).collect();
    protect_with(&books, Some(&shop.out("out")), |job| {
        job.key_file = shop.out("keys.json");
        for (source, (name, _)) in job.sources.iter_mut().zip(&books) {
            source.folder = Path::new(name).parent().unwrap().to_owned();
        }
    });
    let alt_ids = || {
        let mut ids: Vec<String> = shop.records().iter().map(|record| record.alt_id().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(alt_ids(), ["a-book", "b-book", "book", "single"]);
    // Nor is the name that an earlier run gave away given again.
    shop.protect("elsewhere", "a third", |_| {});
    let ids = alt_ids();
    assert!(ids.iter().any(|id| id.starts_with("book-")), "{ids:?}");
}
