use super::entry::{Defaults, IndexFile};
use super::part::{PART_LIMIT, PartBuilder, PartRecords};
use super::root::PartReference;
use super::*;
use crate::Format;
use crate::error::IndexFault;
use crate::key::{Keyset, Template};
use crate::machine::Backend;
use std::fs;
use std::path::Path;

fn tink() -> Format {
    Format::tink(Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap(), Backend::best()).unwrap()
}

fn entry(path: String, identity: u8) -> IndexEntry {
    let kind = IndexKind::File(IndexFile {
        plaintext: path.clone().into_bytes(),
        size: 5,
        ciphertext_len: 61,
        mode: 0o600,
        modified: None,
        identity: [identity; 16],
        key_id: 1,
        inode: None,
        digest: None,
        name: None,
        version: None,
    });
    IndexEntry { path: path.into_bytes(), kind }
}

fn begin(tree: &Path, format: &Format) -> Result<IndexWriter, Error> {
    IndexWriter::begin(tree, format, b"", Replacing::Opened, None)
}

/// Writes a generation with these entries.
fn write(tree: &Path, format: &Format, entries: &[IndexEntry]) -> Root {
    let mut writer = begin(tree, format).unwrap();
    entries.iter().for_each(|entry| writer.push(entry).unwrap());
    writer.finish().unwrap()
}

fn read(tree: &Path, format: &Format) -> Result<Vec<IndexEntry>, Error> {
    Index::open(tree, format)?.expect("there is one").entries().collect()
}

fn fault(error: &Error) -> Option<&IndexFault> {
    match error.without_path() {
        Error::Index(fault) => Some(fault),
        _ => None,
    }
}

fn parts(tree: &Path) -> Vec<String> {
    let items = fs::read_dir(tree.join(".cipherloom/index/parts")).unwrap();
    items.map(|item| item.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn generations_follow_each_other_and_share_their_parts() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    assert!(!has_index(tree) && Index::open(tree, &format).unwrap().is_none());
    let mut entries: Vec<IndexEntry> = (0..5000).map(|number| entry(format!("{number:05}"), 1)).collect();
    let first = write(tree, &format, &entries);
    assert!(has_index(tree));
    assert_eq!((first.generation, first.entries(), first.previous), (1, 5000, [0; 32]));
    assert_eq!(read(tree, &format).unwrap(), entries);
    assert_eq!(parts(tree).len(), first.parts.len());
    assert!(first.parts.len() > 1);

    entries[17] = entry("00017".to_owned(), 2);
    let second = write(tree, &format, &entries);
    assert_eq!((second.tree, second.generation), (first.tree, 2));
    assert_ne!(second.previous, [0; 32]);
    assert_eq!(read(tree, &format).unwrap(), entries);
    let shared = second.parts.iter().filter(|part| first.parts.contains(part)).count();
    assert_eq!(shared, first.parts.len() - 1, "one entry is in one part");
    assert_eq!(parts(tree).len(), first.parts.len() + 1, "those of the generation before are kept");

    // A file that is not named as a part stays; a part that no root lists is removed.
    let foreign = tree.join(".cipherloom/index/parts/notes.txt");
    fs::write(&foreign, "mine").unwrap();
    fs::write(tree.join(".cipherloom/index/parts").join("0".repeat(64)), "left").unwrap();
    let third = write(tree, &format, &entries);
    assert_eq!(third.parts, second.parts);
    assert_eq!(parts(tree).len(), second.parts.len() + 1);
    assert!(foreign.exists());
}

#[test]
fn parts_are_cut_where_the_paths_say_so_and_where_they_would_be_too_long() {
    let defaults = || Defaults { suffix: Vec::new(), key_id: 1, hides_names: false };
    let cut = |paths: &mut dyn Iterator<Item = String>| {
        let (mut builder, mut lengths) = (PartBuilder::new(defaults()), Vec::new());
        let mut end = |bytes: &mut Vec<u8>, entries: u32| -> Result<(), ()> {
            assert!(bytes.len() <= PART_LIMIT);
            let mut records = PartRecords::new(bytes.clone()).map_err(|_| ())?;
            let read = std::iter::from_fn(|| records.next().unwrap()).count();
            assert_eq!(read, entries as usize);
            lengths.push(entries);
            Ok(())
        };
        for path in paths {
            builder.push(&entry(path, 1), &mut end).unwrap();
        }
        builder.end(&mut end).unwrap();
        lengths
    };
    let lengths = cut(&mut (0..100_000).map(|number| format!("{number:06}")));
    assert_eq!(lengths.iter().sum::<u32>(), 100_000);
    assert!((60..=140).contains(&lengths.len()), "{}", lengths.len());
    // Names of 255 bytes that share nothing.
    let lengths = cut(&mut (0..40_000).map(|number| format!("{:x<255}", number * 7919 % 40_009)));
    assert_eq!(lengths.iter().sum::<u32>(), 40_000);
}

/// However many entries there are, a writer and a reader hold one part of them and the root.
#[test]
fn memory_is_that_of_a_part_and_the_root() {
    const ENTRIES: u32 = 100_000;
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let measured = allocation_counter::measure(|| {
        let mut writer = begin(folder.path(), &format).unwrap();
        for number in 0..ENTRIES {
            writer.push(&entry(format!("{number:06} and a name of usual length"), 1)).unwrap();
        }
        writer.finish().unwrap();
        let index = Index::open(folder.path(), &format).unwrap().unwrap();
        assert_eq!(index.entries().map(Result::unwrap).count(), ENTRIES as usize);
    });
    assert!(measured.bytes_max < 4 << 20, "{measured:?}");
    let files = fs::read_dir(folder.path().join(".cipherloom/index/parts")).unwrap();
    let bytes: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 60 * u64::from(ENTRIES), "{bytes}");
}

#[test]
fn another_key_neither_reads_nor_replaces_an_index() {
    let (folder, format, other) = (tempfile::tempdir().unwrap(), tink(), tink());
    let tree = folder.path();
    let entries = [entry("a".to_owned(), 1)];
    let first = write(tree, &format, &entries);
    for error in [read(tree, &other).unwrap_err(), begin(tree, &other).unwrap_err()] {
        assert_eq!(fault(&error), Some(&IndexFault::NotOpened));
        assert!(error.is_authentication());
    }
    assert_eq!(read(tree, &format).unwrap(), entries);
    let writer = IndexWriter::begin(tree, &other, b"", Replacing::Any, None).unwrap();
    let replaced = writer.finish().unwrap();
    assert_ne!(replaced.tree, first.tree);
    assert_eq!((replaced.generation, replaced.entries()), (1, 0));
}

#[test]
fn no_part_and_no_root_can_be_swapped_cut_or_damaged() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    let entries: Vec<IndexEntry> = (0..3).map(|number| entry(number.to_string(), number as u8)).collect();
    let old = write(tree, &format, &entries[..2]);
    let new = write(tree, &format, &entries);
    let path = |part: &PartReference| tree.join(place::part_path(&part.name));
    let (root, part) = (tree.join(".cipherloom/index/root"), path(&new.parts[0]));
    for file in [&root, &part] {
        let whole = fs::read(file).unwrap();
        let check = |bytes: &[u8], what: &str| {
            fs::write(file, bytes).unwrap();
            let error = read(tree, &format).unwrap_err();
            assert!(error.is_authentication(), "{what}: {error}");
        };
        for len in (0..64).chain((64..whole.len()).step_by(17)) {
            check(&whole[..len], "cut");
        }
        for at in (0..64).chain((64..whole.len()).step_by(31)).chain([whole.len() - 1]) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            check(&damaged, "damaged");
        }
        check(&[&*whole, b"x"].concat(), "longer");
        check(&fs::read(path(&old.parts[0])).unwrap(), "an older part");
        fs::write(file, &whole).unwrap();
    }
    // A root in a part's place is no part, though the key opens it.
    fs::remove_file(&part).unwrap();
    let error = read(tree, &format).unwrap_err();
    assert_eq!(fault(&error), Some(&IndexFault::Damaged("a part is missing")));
}

#[test]
fn any_bytes_of_a_part_are_survived() {
    let mut part = PartBuilder::new(Defaults { suffix: b".enc".to_vec(), key_id: 1, hides_names: false });
    part.push(&entry("a".to_owned(), 1), |_, _| Ok::<(), ()>(())).unwrap();
    part.push(&entry("b".to_owned(), 1), |_, _| Ok::<(), ()>(())).unwrap();
    let whole = ended(&mut part);
    for len in 0..whole.len() {
        if let Ok(mut records) = PartRecords::new(&whole[..len]) {
            while let Ok(Some(_)) = records.next() {}
        }
    }
}

#[test]
fn a_second_writer_and_readers_beside_a_writer_are_refused() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    write(tree, &format, &[]);
    let writer = begin(tree, &format).unwrap();
    for error in [begin(tree, &format).unwrap_err(), Index::open(tree, &format).unwrap_err()] {
        assert_eq!(fault(&error), Some(&IndexFault::InUse));
    }
    drop(writer);
    let readers = [Index::open(tree, &format).unwrap(), Index::open(tree, &format).unwrap()];
    assert_eq!(fault(&begin(tree, &format).unwrap_err()), Some(&IndexFault::InUse));
    drop(readers);
    begin(tree, &format).unwrap();
}

#[test]
fn an_anchor_never_goes_backwards() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, anchor) = (folder.path().join("tree"), folder.path().join("anchor"));
    fs::create_dir(&tree).unwrap();
    let write = || IndexWriter::begin(&tree, &format, b"", Replacing::Opened, Some(&anchor))?.finish();
    let kept = folder.path().join("kept");
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        fs::create_dir_all(to.join("parts")).unwrap();
        for item in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|item| item.path().is_file()) {
            fs::copy(item.path(), to.join(item.file_name())).unwrap();
        }
    };
    let index = tree.join(".cipherloom/index");
    write().unwrap();
    copy(&index, &kept);
    write().unwrap();
    let remembered = fs::read(&anchor).unwrap();
    let check = || Anchor::read(&anchor)?.check(Index::open(&tree, &format)?.as_ref());
    check().unwrap();
    let refused = |expected: &IndexFault| {
        for error in [check().unwrap_err(), write().unwrap_err()] {
            assert_eq!(fault(&error), Some(expected));
        }
        assert_eq!(fs::read(&anchor).unwrap(), remembered);
    };
    copy(&kept, &index);
    refused(&IndexFault::RolledBack { found: 1, known: 2 });
    // Another second generation, then a third one that follows it.
    IndexWriter::begin(&tree, &format, b"", Replacing::Opened, None).unwrap().finish().unwrap();
    refused(&IndexFault::Forked(2));
    IndexWriter::begin(&tree, &format, b"", Replacing::Opened, None).unwrap().finish().unwrap();
    refused(&IndexFault::Forked(2));
    fs::remove_dir_all(&index).unwrap();
    refused(&IndexFault::Removed(2));
    IndexWriter::begin(&tree, &format, b"", Replacing::Opened, None).unwrap().finish().unwrap();
    refused(&IndexFault::OtherTree);
    fs::write(&anchor, "{}").unwrap();
    assert_eq!(fault(&check().unwrap_err()), Some(&IndexFault::NotAnAnchor));
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_else_in_an_indexs_place_is_followed_or_waited_for() {
    use std::os::unix::fs::symlink;
    let (folder, outside, format) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tink());
    write(outside.path(), &format, &[entry("a".to_owned(), 1)]);
    let listing = || fs::read_dir(outside.path().join(".cipherloom/index")).unwrap().count();
    let before = listing();
    for place in [".cipherloom", ".cipherloom/index", ".cipherloom/index/root", ".cipherloom/index/lock"] {
        let make_fifo = |path: &Path| {
            let made = rustix::fs::mknodat(
                rustix::fs::CWD,
                path,
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from_raw_mode(0o600),
                0,
            );
            made.unwrap();
        };
        let link = |path: &Path| symlink(outside.path().join(place), path).unwrap();
        let file = |path: &Path| fs::write(path, "text").unwrap();
        let ways = [("fifo", &make_fifo as &dyn Fn(&Path)), ("link", &link), ("file", &file)];
        for (what, make) in ways {
            if what == "file" && place.ends_with(['t', 'k']) {
                continue;
            }
            let tree = folder.path().join(what).join(place.replace('/', "-"));
            fs::create_dir_all(tree.join(place).parent().unwrap()).unwrap();
            make(&tree.join(place));
            if place.ends_with("lock") {
                fs::write(tree.join(".cipherloom/index/root"), "").unwrap();
            }
            assert!(has_index(&tree), "{what} {place}");
            for error in [Index::open(&tree, &format).unwrap_err(), begin(&tree, &format).unwrap_err()] {
                assert!(error.path().unwrap().starts_with(&tree), "{what} {place}: {error}");
                let is_named = fault(&error) == Some(&IndexFault::NotAFile)
                    || matches!(error.without_path(), Error::Io { .. });
                assert!(is_named, "{what} {place}: {error}");
            }
        }
    }
    assert_eq!(listing(), before);
}

#[test]
#[cfg(unix)]
fn a_tree_whose_root_is_read_only_gets_an_index_and_stays_read_only() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    write(folder.path(), &format, &[]);
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o500);
    mode(0o700);
    assert!(has_index(folder.path()));
}

#[test]
fn an_anchor_knows_even_the_last_generation() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let (tree, path) = (folder.path(), folder.path().join("anchor"));
    let root = Root { generation: u64::MAX, ..write(tree, &format, &[]) };
    let file = sealed::seal(&format, sealed::ROOT, &mut root.write()).unwrap();
    fs::write(tree.join(".cipherloom/index/root"), &file).unwrap();
    Anchor::read(&path).unwrap().write(&root, &digest(&file)).unwrap();
    let (anchor, index) = (Anchor::read(&path).unwrap(), Index::open(tree, &format).unwrap());
    anchor.check(index.as_ref()).unwrap();
    assert_eq!(fault(&anchor.check(None).unwrap_err()), Some(&IndexFault::Removed(u64::MAX)));
}

#[test]
fn a_writer_takes_only_what_readers_read() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    let entries = ["a", "b", "a/b"].map(|path| entry(path.to_owned(), 1));
    write(tree, &format, &entries);
    for (first, second) in [("b", "a"), ("a", "a"), ("a/b", "b"), ("a", "../b"), ("a", ""), ("a", "b/")] {
        let mut writer = begin(tree, &format).unwrap();
        writer.push(&entry(first.to_owned(), 1)).unwrap();
        assert!(writer.push(&entry(second.to_owned(), 1)).is_err(), "{first} {second}");
        drop(writer);
        assert_eq!(read(tree, &format).unwrap(), entries);
    }
    let refused = IndexWriter::begin(tree, &format, b"", Replacing::Nothing, None).unwrap_err();
    assert_eq!(fault(&refused), Some(&IndexFault::Present));
}

/// The bytes of a part.
fn ended(part: &mut PartBuilder) -> Vec<u8> {
    let mut whole = Vec::new();
    let end = |bytes: &mut Vec<u8>, _| {
        whole.append(bytes);
        Ok::<(), ()>(())
    };
    part.end(end).map(|()| whole).unwrap()
}

/// Sealed with the right key by a writer that is wrong.
#[test]
fn a_reader_takes_only_what_writers_write() {
    let (folder, format) = (tempfile::tempdir().unwrap(), tink());
    let tree = folder.path();
    let root = write(tree, &format, &[]);
    let read_part = |paths: &[&str], entries: u32| {
        let mut part = PartBuilder::new(Defaults { suffix: Vec::new(), key_id: 1, hides_names: false });
        for path in paths {
            part.push(&entry((*path).to_owned(), 1), |_, _| Err("one part")).unwrap();
        }
        let mut bytes = ended(&mut part);
        let file = sealed::seal(&format, sealed::PART, &mut bytes).unwrap();
        let (name, len, parts) = (digest(&file), file.len() as u32, tree.join(".cipherloom/index/parts"));
        fs::create_dir_all(&parts).unwrap();
        fs::write(tree.join(place::part_path(&name)), &file).unwrap();
        let reference = PartReference { name, len, content: name, key_id: 1, entries };
        let root = Root { parts: vec![reference], ..root.clone() };
        let file = sealed::seal(&format, sealed::ROOT, &mut root.write()).unwrap();
        fs::write(tree.join(folder::ROOT), file).unwrap();
        read(tree, &format)
    };
    assert_eq!(read_part(&["a", "b"], 2).unwrap().len(), 2);
    for (paths, entries) in [(&["a", "b"], 1), (&["a", "b"], 3), (&["b", "a"], 2), (&["a", "a"], 2)] {
        let error = read_part(paths, entries).unwrap_err();
        assert_eq!(fault(&error), Some(&IndexFault::Damaged("a part's entries")), "{paths:?} {entries}");
    }
}

#[test]
fn no_file_is_sealed_that_readers_find_too_long() {
    let seal =
        |pages: usize| sealed::seal_for_readers(&tink(), sealed::PART, &mut vec![1; 4096 * pages], 4096);
    assert!(seal(1).is_ok() && seal(3).is_err());
}
