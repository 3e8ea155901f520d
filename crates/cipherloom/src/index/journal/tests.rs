use super::*;
use crate::index::{IndexFile, IndexWriter, Replacing};
use crate::key::{Keyset, Template};
use crate::machine::Backend;
use std::fs;
use std::path::{Path, PathBuf};

fn tink() -> Format {
    Format::tink(Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap(), Backend::best()).unwrap()
}

fn entry(path: &str, identity: u8) -> IndexEntry {
    let file = IndexFile {
        plaintext: path.as_bytes().to_vec(),
        size: 5,
        ciphertext_len: 61,
        mode: 0o600,
        modified: Some((7, 8)),
        identity: [identity; 16],
        key_id: 1,
        inode: None,
        digest: None,
        version: None,
        name: None,
    };
    IndexEntry { path: path.as_bytes().to_vec(), kind: IndexKind::File(file) }
}

fn folder_entry(path: &str) -> IndexEntry {
    IndexEntry {
        path: path.as_bytes().to_vec(),
        kind: IndexKind::Folder { mode: 0o700, modified: Some((7, 8)) },
    }
}

/// A writer that follows a generation.
fn begin(tree: &Path, format: &Format) -> IndexWriter {
    let writer = IndexWriter::begin(tree, format, b"", Replacing::Opened, None).unwrap();
    if writer.previous().is_some() { writer } else { writer.go_on(b"").unwrap() }
}

fn root_of(writer: &IndexWriter) -> Digest {
    *writer.previous().unwrap().digest()
}

fn add(tree: &Path, format: &Format, root: Digest, entries: &[IndexEntry]) {
    let mut journal = JournalWriter::begin(tree, format, b"", root).unwrap();
    entries.iter().for_each(|entry| journal.push(entry).unwrap());
    journal.finish().unwrap();
}

/// All entries, none of which is disputed.
fn merged(writer: &IndexWriter) -> Result<Vec<IndexEntry>, Error> {
    let agreed = |(entry, is_disputed): (IndexEntry, bool)| {
        assert!(!is_disputed, "{entry:?}");
        entry
    };
    writer.journals()?.entries().map(|entry| entry.map(agreed)).collect()
}

fn files(tree: &Path) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(tree.join(JOURNALS)) else { return Vec::new() };
    items.map(|item| item.unwrap().path()).collect()
}

#[test]
fn journals_of_overlapping_shares_give_each_entry_once_and_in_order() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    let root = root_of(&writer);
    assert!(writer.journals().unwrap().is_empty() && merged(&writer).unwrap().is_empty());
    // The second one is so long that it takes two files. A share was repeated.
    let all: Vec<IndexEntry> = (0..40_000).map(|number| entry(&format!("{number:060}"), 1)).collect();
    for range in [10..40_000, 0..100, 50..120, 39_990..40_000] {
        add(tree, &format, root, &all[range]);
    }
    add(tree, &format, root, &[]);
    assert_eq!(files(tree).len(), 5);
    assert_eq!(merged(&writer).unwrap(), all);

    // The next generation has other journals.
    writer.journals().unwrap().remove();
    assert!(files(tree).is_empty());
    add(tree, &format, root, &all[..3]);
    let writer = writer.go_on(b"").unwrap();
    assert!(merged(&writer).unwrap().is_empty());
    add(tree, &format, root_of(&writer), &all[5..7]);
    assert_eq!(merged(&writer).unwrap(), all[5..7]);
    writer.journals().unwrap().remove();
    assert!(files(tree).is_empty(), "also those that nobody can merge any more");
}

/// What somebody without the key can do to journals is found, with the name of one.
#[test]
fn no_forged_journal_is_merged() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    let root = root_of(&writer);
    add(tree, &format, root, &[entry("a", 1), entry("b", 1)]);
    let sound = files(tree).remove(0);
    let bytes = fs::read(&sound).unwrap();
    let refused = |path: &Path| {
        let error = merged(&writer).unwrap_err();
        assert_eq!(error.path(), Some(path), "{error}");
        matches!(error.without_path(), Error::Index(IndexFault::Journal(_)))
    };
    for at in [0, 30, bytes.len() - 1] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&sound, changed).unwrap();
        assert!(refused(&sound), "changed at {at}");
    }
    fs::write(&sound, &bytes[..bytes.len() - 1]).unwrap();
    assert!(refused(&sound));
    fs::write(&sound, vec![0; 3 << 20]).unwrap();
    assert!(refused(&sound), "longer than any");
    fs::write(&sound, &bytes).unwrap();

    // Of another tree under the same key, or of another generation, under a name that fits.
    let other = tempfile::tempdir().unwrap();
    let other_writer = begin(other.path(), &format);
    add(other.path(), &format, root_of(&other_writer), &[entry("c", 1)]);
    let foreign =
        sound.with_file_name(sound.file_name().unwrap().to_str().unwrap()[..17].to_owned() + &"0".repeat(16));
    fs::copy(&files(other.path())[0], &foreign).unwrap();
    assert!(refused(&foreign));
    // A part of an index is no journal.
    fs::write(&foreign, sealed::seal(&format, sealed::PART, &mut vec![1; 100]).unwrap()).unwrap();
    assert!(refused(&foreign));
    fs::remove_file(&foreign).unwrap();
    assert_eq!(merged(&writer).unwrap().len(), 2);
}

/// An object was lost, and a repeated task has made it again; or somebody has put a journal back meanwhile.
#[test]
fn journals_that_differ_say_where() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    let root = root_of(&writer);
    let inside = entry("b/file", 1);
    add(tree, &format, root, &[entry("a", 1), entry("b", 1), entry("c", 1), inside.clone()]);
    add(tree, &format, root, &[entry("a", 2), folder_entry("b"), entry("c", 1), inside.clone()]);
    let entries: Vec<_> = writer.journals().unwrap().entries().map(Result::unwrap).collect();
    let name = |entry: &IndexEntry| String::from_utf8(entry.path.clone()).unwrap();
    let disputed = entries.iter().filter(|(_, is_disputed)| *is_disputed).map(|(entry, _)| name(entry));
    assert_eq!((entries.len(), disputed.collect::<Vec<_>>()), (4, vec!["a".to_owned(), "b".to_owned()]));
}

/// Folders above a share come long before its files in the index's order. They do not keep the rest of its journals open.
#[test]
fn few_journals_of_many_shares_are_open_at_once() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    let names: Vec<String> = (0..20).map(|share| format!("data/{share:02}")).collect();
    for name in &names {
        let files = ["a", "b"].map(|file| entry(&format!("{name}/{file}"), 1));
        let above = ["data", name].map(folder_entry);
        add(tree, &format, root_of(&writer), &[above, files].concat());
    }
    let mut entries = writer.journals().unwrap().entries();
    let mut count = 0;
    while let Some(next) = entries.next() {
        next.unwrap();
        count += 1;
        let has_files = |journal: &&OpenJournal| matches!(journal.next.kind, IndexKind::File(_));
        assert!(entries.open.iter().filter(has_files).count() <= 2);
    }
    assert_eq!(count, 1 + 3 * names.len());
}

/// Nor do the folders that a share consists of, where they are small.
#[test]
fn few_journals_of_many_small_folders_are_open_at_once() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    for share in 0..20 {
        let names: Vec<String> = (0..500).map(|number| format!("data/{share:02}{number:03}")).collect();
        let folders = names.iter().map(|name| folder_entry(name));
        let files = names.iter().map(|name| entry(&format!("{name}/file"), 1));
        let all: Vec<IndexEntry> = [folder_entry("data")].into_iter().chain(folders).chain(files).collect();
        add(tree, &format, root_of(&writer), &all);
    }
    let mut entries = writer.journals().unwrap().entries();
    let mut count = 0;
    while let Some(next) = entries.next() {
        next.unwrap();
        count += 1;
        let is_large = |journal: &&OpenJournal| fs::metadata(tree.join(&journal.path)).unwrap().len() > 5000;
        assert!(entries.open.iter().filter(is_large).count() <= 2, "after {count} entries");
    }
    assert_eq!(count, 1 + 20 * 1000);
}

/// Of two runs at once, the second one to end fails, and what the first one has listed stays.
#[test]
fn without_locks_no_run_replaces_what_another_has_written() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    drop(begin(tree, &format));
    // As where files cannot be locked.
    let unlocked = || {
        let files = Arc::new(IndexFiles::for_journals(IndexPlace::Folder(tree)));
        IndexWriter::begin_in(files, &format, b"", Replacing::Opened, None).unwrap()
    };
    let (mut first, second) = (unlocked(), unlocked());
    add(tree, &format, root_of(&first), &[entry("a", 1)]);
    let journals = first.journals().unwrap();
    for listed in merged(&first).unwrap() {
        first.push(&listed).unwrap();
    }
    let root = first.finish().unwrap();
    journals.remove();
    assert_eq!((files(tree).len(), root.entries()), (1, 1), "the second run may need the journal");
    let error = second.finish().unwrap_err();
    assert!(matches!(error.without_path(), Error::Index(IndexFault::Overtaken)), "{error}");
    assert_eq!(begin(tree, &format).previous().unwrap().root(), &root);
}

/// Each of two machines may lock files for itself alone.
#[test]
fn a_lock_is_not_believed_to_keep_others_out() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    drop(begin(tree, &format));
    let mut first = begin(tree, &format);
    fs::remove_file(tree.join(".cipherloom/index/lock")).unwrap();
    let second = begin(tree, &format);
    first.push(&entry("a", 1)).unwrap();
    let root = first.finish().unwrap();
    let error = second.finish().unwrap_err();
    assert!(matches!(error.without_path(), Error::Index(IndexFault::Overtaken)), "{error}");
    assert_eq!(begin(tree, &format).previous().unwrap().root(), &root);
}

#[test]
fn a_journal_takes_only_what_an_index_lists() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let mut journal = JournalWriter::begin(folder.path(), &format, b"", [0; 32]).unwrap();
    journal.push(&entry("b/c", 1)).unwrap();
    for path in ["b/c", "b/b", "a", "", "../a"] {
        assert!(journal.push(&entry(path, 1)).is_err(), "{path}");
    }
}

/// Whose name others have in theirs.
#[test]
fn a_journal_lists_an_object_and_no_folder_of_its_path() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, writer) = (folder.path(), begin(folder.path(), &format));
    let all = [entry("a", 1), folder_entry("a"), entry("b", 1), folder_entry("c"), entry("c/d", 1)];
    add(tree, &format, root_of(&writer), &all);
    let [object, _, rest @ ..] = all;
    assert_eq!(merged(&writer).unwrap(), [&[object], &rest[..]].concat());
}
