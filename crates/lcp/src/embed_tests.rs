//! A license goes in, also after a crash, and nothing else moves.

use super::*;
use crate::container::Source;
use crate::license::tests::sound;
use crate::samples;
use std::fs;
use std::path::PathBuf;

fn book() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("book.epub");
    samples::write(&path, &samples::resources(), 0);
    (folder, path)
}

fn license_in(path: &Path) -> Option<Vec<u8>> {
    let archive = Archive::read(Source::open(path).unwrap()).unwrap();
    let index = archive.find("META-INF/license.lcpl")?;
    Some(archive.read_whole(&archive.entries()[index], 1 << 20).unwrap())
}

#[test]
fn the_publication_stays_where_it_is_and_the_last_license_counts() {
    let (_folder, path) = book();
    let before = fs::read(&path).unwrap();
    assert_eq!(license_in(&path), None);
    for _ in 0..3 {
        let license = sound();
        embed(&path, &license, IfExists::Overwrite).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(&before));
        assert_eq!(license_in(&path).unwrap(), license.text().as_bytes());
        let archive = Archive::read(Source::open(&path).unwrap()).unwrap();
        assert_eq!(archive.entries().len(), 7);
    }
}

#[test]
fn a_license_that_is_in_force_is_replaced_only_if_asked() {
    let (_folder, path) = book();
    let first = sound();
    embed(&path, &first, IfExists::Fail).unwrap();
    let before = fs::read(&path).unwrap();
    for if_exists in [IfExists::Fail, IfExists::Skip] {
        assert!(matches!(embed(&path, &sound(), if_exists), Err(Error::HasLicense)));
    }
    assert!(fs::read(&path).unwrap() == before);
    let second = sound();
    embed(&path, &second, IfExists::Overwrite).unwrap();
    assert_eq!(license_in(&path).unwrap(), second.text().as_bytes());
}

#[test]
fn an_append_that_a_crash_cut_short_is_made_good() {
    let (_folder, path) = book();
    let before = fs::read(&path).unwrap();
    embed(&path, &sound(), IfExists::Overwrite).unwrap();
    let after = fs::read(&path).unwrap();
    let license = sound();
    let tail = after.len() - before.len();
    for cut in (1..tail).step_by(251).chain([1, 2, 29, 30, 31, tail - 23, tail - 22, tail - 1]) {
        fs::write(&path, &after[..before.len() + cut]).unwrap();
        embed(&path, &license, IfExists::Overwrite).unwrap();
        assert!(fs::read(&path).unwrap().starts_with(&before), "{cut}");
        assert_eq!(license_in(&path).unwrap(), license.text().as_bytes(), "{cut}");
    }
    // Blocks that were never written read as zeros.
    fs::write(&path, [&before[..], &[0; 70_000]].concat()).unwrap();
    embed(&path, &license, IfExists::Overwrite).unwrap();
    assert_eq!(license_in(&path).unwrap(), license.text().as_bytes());
}

#[test]
fn what_is_no_torn_license_is_not_cut_off() {
    let (_folder, path) = book();
    let before = fs::read(&path).unwrap();
    for spoilt in [before[..before.len() - 30].to_vec(), before[..before.len() / 2].to_vec()] {
        fs::write(&path, &spoilt).unwrap();
        assert!(matches!(
            embed(&path, &sound(), IfExists::Overwrite),
            Err(Error::ZipDamaged { .. } | Error::NotAZip)
        ));
        assert_eq!(fs::read(&path).unwrap(), spoilt);
    }
}

#[test]
fn nothing_is_cut_off_an_archive_that_is_damaged_in_front_of_it() {
    let (_folder, path) = book();
    let before = fs::read(&path).unwrap();
    embed(&path, &sound(), IfExists::Overwrite).unwrap();
    let mut torn = fs::read(&path).unwrap();
    torn.truncate(before.len() + 100);
    // The first local header.
    torn[0] = b'X';
    fs::write(&path, &torn).unwrap();
    assert!(embed(&path, &sound(), IfExists::Overwrite).is_err());
    assert!(fs::read(&path).unwrap() == torn);
}

#[test]
fn a_publication_of_more_than_4_gibibytes_takes_one_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film.epub");
    samples::write(&path, &samples::resources(), (4 << 30) + 5);
    let license = sound();
    embed(&path, &license, IfExists::Overwrite).unwrap();
    embed(&path, &license, IfExists::Overwrite).unwrap();
    assert_eq!(license_in(&path).unwrap(), license.text().as_bytes());
    assert!(fs::metadata(&path).unwrap().len() > 4 << 30);
}

#[test]
fn two_programs_do_not_write_at_once_and_unprotected_books_take_none() {
    let (_folder, path) = book();
    let other = File::open(&path).unwrap();
    other.lock().unwrap();
    assert!(matches!(embed(&path, &sound(), IfExists::Overwrite), Err(Error::Busy)));
    other.unlock().unwrap();
    samples::write(&path, &[], 0);
    let before = fs::read(&path).unwrap();
    assert!(matches!(embed(&path, &sound(), IfExists::Overwrite), Err(Error::NotProtected)));
    assert_eq!(fs::read(&path).unwrap(), before);
}
