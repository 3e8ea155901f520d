//! Sound and spoilt publications side by side: each gets its own verdict, and the others go on.

use super::*;
use crate::container::{Archive, Source};
use crate::encryption_xml::Compression;
use crate::license::tests::{CONTENT_KEY, PASSPHRASE, of, sound, terms};
use crate::license::{License, Moment, UserKey};
use crate::samples::{self, Resource, deflated, resources};
use crate::{Error, ErrorKind, embed};
use cipherloom::{IfExists, report::Unobserved};
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

fn verdicts(paths: &[PathBuf], options: &CheckOptions, threads: usize) -> Vec<Checked> {
    let found = Mutex::new(Vec::new());
    let threads = NonZeroUsize::new(threads).unwrap();
    let summary =
        check(paths, options, threads, &Unobserved, &|checked| found.lock().unwrap().push(checked)).unwrap();
    assert_eq!(summary.done + summary.failed, paths.len() as u64);
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|checked| paths.iter().position(|path| *path == checked.path));
    found
}

fn with_key() -> CheckOptions {
    CheckOptions { user_key: Some(UserKey::basic(PASSPHRASE)), ..CheckOptions::default() }
}

/// Decrypts with the right passphrase.
fn open(path: &Path, output: &Path, threads: usize) -> Result<Option<Decrypted>, Vec<Error>> {
    open_with(path, output, threads, DecryptOptions::new(UserKey::basic(PASSPHRASE)))
}

fn open_with(
    path: &Path,
    output: &Path,
    threads: usize,
    options: DecryptOptions,
) -> Result<Option<Decrypted>, Vec<Error>> {
    decrypt(path, output, &options, NonZeroUsize::new(threads).unwrap(), &Unobserved)
}

/// A book with a license inside, its resources changed.
fn book(folder: &Path, name: &str, license: &License, change: impl FnOnce(&mut Vec<Resource>)) -> PathBuf {
    let path = folder.join(name);
    let mut resources = resources();
    change(&mut resources);
    samples::write(&path, &resources, 0);
    embed(&path, license, cipherloom::IfExists::Fail).unwrap();
    path
}

/// What is encrypted, with a filler of other bytes than their number.
fn sealed_with_random_filler(text: &[u8]) -> Vec<u8> {
    let mut padded = text.to_vec();
    let filler = 16 - text.len() % 16;
    padded.extend((1..filler).map(|number| 0xa0 | number as u8));
    padded.push(filler as u8);
    let mut chain = [9; 16];
    let key = cipherloom_kernels::Aes::new(CONTENT_KEY.bytes(), cipherloom_kernels::Backend::best()).unwrap();
    key.cbc_encrypt(&mut chain, &mut padded);
    [&[9; 16], &padded[..]].concat()
}

fn opens_to_its_source(path: &Path, workers: usize) {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.epub");
    let decrypted = open(path, &output, workers).unwrap().unwrap();
    assert_eq!(decrypted.resources, 2);
    let archive = Archive::read(Source::open(&output).unwrap()).unwrap();
    assert_eq!(archive.entries().len(), 5);
    assert_eq!(archive.entries()[0].name, "mimetype");
    for resource in resources() {
        let entry = &archive.entries()[archive.find(resource.name).unwrap()];
        assert_eq!(archive.read_whole(entry, 1 << 20).unwrap(), resource.content);
        // The deflate stream is kept.
        let is_smaller = entry.compressed_len < entry.len;
        assert_eq!(is_smaller, resource.compression.method == 8);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_sound_book_is_sound_and_opens_to_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "a.epub", &sound(), |_| {});
    for workers in [1, 4] {
        let checked = verdicts(std::slice::from_ref(&path), &with_key(), workers).remove(0);
        assert!(checked.is_sound(), "{:?}", checked.problems);
        assert_eq!((checked.resources, checked.opened), (2, 2));
        assert_eq!(
            checked.bytes,
            resources().iter().map(|resource| resource.content.len() as u64).sum::<u64>()
        );
        opens_to_its_source(&path, workers);
    }
    let keyless = verdicts(&[path], &CheckOptions::default(), 1).remove(0);
    assert!(keyless.is_sound() && keyless.opened == 0 && keyless.unchecked.len() == 2);
}

#[test]
fn any_filler_with_a_valid_last_byte_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = book(folder.path(), "a.epub", &sound(), |resources| {
        resources[0].stored = sealed_with_random_filler(&deflated(&resources[0].content));
        resources[1].stored = sealed_with_random_filler(&resources[1].content);
    });
    assert!(verdicts(std::slice::from_ref(&path), &with_key(), 2)[0].is_sound());
    opens_to_its_source(&path, 2);
}

#[test]
fn every_fault_of_a_resource_has_its_own_words_and_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let key = UserKey::from_bytes(CONTENT_KEY.bytes());
    let other = UserKey::from_bytes(&[1; 32]);
    type Change = Box<dyn FnOnce(&mut Vec<Resource>)>;
    let len = resources()[0].content.len() as u64;
    let cases: Vec<(&str, Change)> = vec![
        ("is longer than", Box::new(|all| all[0].compression.original_len -= 1)),
        ("bytes where the publication declares", Box::new(|all| all[0].compression.original_len += 1)),
        ("bytes where the publication declares", Box::new(|all| all[1].compression.original_len += 1)),
        ("has 33 bytes", Box::new(|all| all[0].stored = vec![0; 33])),
        ("has 16 bytes", Box::new(|all| all[0].stored = vec![0; 16])),
        ("does not", Box::new(move |all| all[0].stored = other.seal(&deflated(&all[0].content)).unwrap())),
        (
            "does not inflate",
            Box::new(move |all| {
                all[0].stored = key.seal(&deflated(&all[0].content)[..100]).unwrap();
            }),
        ),
        (
            "does not inflate",
            Box::new(move |all| {
                let key = UserKey::from_bytes(CONTENT_KEY.bytes());
                all[0].stored = key.seal(&[&deflated(&all[0].content)[..], b"more"].concat()).unwrap();
                all[0].compression = Compression { method: 8, original_len: len };
            }),
        ),
    ];
    for (number, (words, change)) in cases.into_iter().enumerate() {
        let path = book(folder.path(), &format!("{number}.epub"), &sound(), change);
        let checked = verdicts(std::slice::from_ref(&path), &with_key(), 2).remove(0);
        let problem = checked.problems.first().expect("a problem");
        assert!(problem.to_string().contains(words), "{number}: {problem}");
        assert_eq!(problem.kind(), ErrorKind::Authentication);
        let output = folder.path().join("out.epub");
        open(&path, &output, 1).unwrap_err();
        assert!(!output.exists());
    }
}

#[test]
fn one_bad_file_never_stops_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let mut ended = terms();
    ended.rights.end = Some(Moment::parse("2001-01-01", "x").unwrap());
    let mut future = terms();
    future.rights.start = Some(Moment::parse("2999-01-01", "x").unwrap());
    let sound_license = sound();
    let tampered = sound_license.text().replace("\"print\": 10", "\"print\": 11");
    let unlicensed = folder.path().join("unlicensed.epub");
    samples::write(&unlicensed, &resources(), 0);
    let unprotected = folder.path().join("unprotected.epub");
    samples::write(&unprotected, &[], 0);
    let truncated = fs::read(&unlicensed).unwrap();
    let expectations = [
        (book(folder.path(), "sound.epub", &sound_license, |_| {}), ""),
        (book(folder.path(), "ended.epub", &of(&ended), |_| {}), "ended at 2001-01-01T00:00:00Z"),
        (book(folder.path(), "future.epub", &of(&future), |_| {}), "begins only at"),
        (
            book(folder.path(), "tampered.epub", &License::parse(tampered.as_bytes()).unwrap(), |_| {}),
            "signature does not fit",
        ),
        (file("sound.lcpl", sound_license.text().as_bytes()), ""),
        (file("tampered.lcpl", tampered.as_bytes()), "signature does not fit"),
        (file("malformed.lcpl", b"{\"id\":"), "malformed"),
        (file("truncated.epub", &truncated[..truncated.len() / 2]), "truncated"),
        (file("no.epub", b"hello"), "not a zip"),
        (file("empty.epub", b""), "not a zip"),
        (unlicensed, ""),
        (unprotected, "not protected"),
        (folder.path().join("missing.epub"), "cannot open"),
    ];
    let paths: Vec<PathBuf> = expectations.iter().map(|(path, _)| path.clone()).collect();
    for workers in [1, 3] {
        let found = verdicts(&paths, &with_key(), workers);
        assert_eq!(found.len(), expectations.len());
        for (checked, (path, words)) in found.iter().zip(&expectations) {
            assert_eq!(checked.path, *path);
            let problems = checked.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            assert_eq!(problems.is_empty(), words.is_empty(), "{}: {problems}", path.display());
            assert!(problems.contains(words), "{}: {problems}", path.display());
        }
    }
    let wrong = CheckOptions { user_key: Some(UserKey::basic("another")), ..CheckOptions::default() };
    let refused = verdicts(&paths[..1], &wrong, 1).remove(0);
    assert!(refused.problems[0].to_string().contains("passphrase is not this license's"));
    assert_eq!(refused.problems[0].kind(), ErrorKind::Key);
}

#[test]
fn what_a_reading_system_must_refuse_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.epub");
    let mut ended = terms();
    ended.rights.end = Some(Moment::parse("2001-01-01", "x").unwrap());
    let tampered = sound().text().replace("\"print\": 10", "\"print\": 11");
    let tampered = License::parse(tampered.as_bytes()).unwrap();
    for (name, license) in [("ended.epub", of(&ended)), ("tampered.epub", tampered)] {
        let path = book(folder.path(), name, &license, |_| {});
        let problems = open(&path, &output, 1).unwrap_err();
        assert_eq!(problems[0].kind(), ErrorKind::Authentication, "{name}: {problems:?}");
    }
    let sound = book(folder.path(), "sound.epub", &sound(), |_| {});
    let wrong = DecryptOptions::new(UserKey::basic("another"));
    assert_eq!(open_with(&sound, &output, 1, wrong).unwrap_err()[0].kind(), ErrorKind::Key);
    let unlicensed = folder.path().join("unlicensed.epub");
    samples::write(&unlicensed, &resources(), 0);
    let problems = open(&unlicensed, &output, 1).unwrap_err();
    assert!(matches!(problems[0], Error::NoLicense));
    assert!(!output.exists());
    fs::write(&output, "there").unwrap();
    assert!(open(&sound, &output, 1).is_err());
    let skip =
        DecryptOptions { if_exists: IfExists::Skip, ..DecryptOptions::new(UserKey::basic(PASSPHRASE)) };
    assert_eq!(open_with(&sound, &output, 1, skip).unwrap(), None, "skipped");
    assert_eq!(fs::read(&output).unwrap(), b"there");
}

#[test]
fn a_detached_license_of_another_publication_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epub");
    samples::write(&path, &resources(), 0);
    let check = CheckOptions { license: Some(sound()), ..with_key() };
    let checked = verdicts(&[path], &check, 1).remove(0);
    assert!(matches!(checked.problems[..], [Error::OtherPublication { length: 264_929, .. }]));
    assert_eq!(checked.opened, 2);
}
