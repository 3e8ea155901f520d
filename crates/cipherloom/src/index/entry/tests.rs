use super::*;
use proptest::prelude::*;

fn defaults() -> Defaults {
    Defaults { suffix: b".enc".to_vec(), key_id: 7 }
}

fn file(path: &[u8]) -> IndexEntry {
    let plaintext = path.strip_suffix(b".enc").unwrap_or(b"other").to_vec();
    let kind = IndexKind::File(IndexFile {
        plaintext,
        size: 300,
        ciphertext_len: 356,
        mode: 0o644,
        modified: Some((1_795_000_000, 999_999_999)),
        identity: [9; 16],
        key_id: 7,
        inode: Some(Inode { device: 0x10302, number: 12_345_678 }),
        digest: None,
        version: None,
    });
    IndexEntry { path: path.to_vec(), kind }
}

fn written(entries: &[IndexEntry]) -> Vec<u8> {
    let (mut bytes, mut last) = (Vec::new(), Vec::new());
    for entry in entries {
        entry.write(&last, &defaults(), &mut bytes);
        last.clone_from(&entry.path);
    }
    bytes
}

fn read(mut bytes: &[u8]) -> Result<Vec<IndexEntry>, Malformed> {
    let (mut entries, mut last) = (Vec::new(), Vec::new());
    while let Some(entry) = IndexEntry::read(&mut bytes, &last, &defaults())? {
        last.clone_from(&entry.path);
        entries.push(entry);
    }
    Ok(entries)
}

#[test]
fn the_order_is_by_folder_and_then_by_name() {
    let paths = ["a", "a.b", "b", "a/z", "a/z.enc", "a-b/c", "a/z/y"];
    let mut entries: Vec<IndexEntry> = paths.iter().map(|path| file(path.as_bytes())).collect();
    entries.sort_by(IndexEntry::order);
    let sorted: Vec<&[u8]> = entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(sorted, [&b"a"[..], b"a.b", b"b", b"a/z", b"a/z.enc", b"a-b/c", b"a/z/y"]);
}

#[test]
fn a_usual_file_takes_few_bytes() {
    let (first, second) =
        (file(b"library/shelf/0001 a book.epub.enc"), file(b"library/shelf/0002 a book.epub.enc"));
    let len = written(&[first.clone(), second]).len() - written(&[first]).len();
    assert!(len <= 60, "{len}");
}

#[test]
fn what_no_writer_makes_is_refused() {
    let refused = |path: &[u8]| read(&written(&[file(path)])).is_err();
    for path in [&b"/a"[..], b"a/", b"a//b", b".", b"a/../b", b"", b"a\0b"] {
        assert!(refused(path), "{path:?}");
    }
    assert!(!refused(b"a/...") && !refused(&[0xff; 255]));
    let mut bytes = written(&[file(b"a")]);
    bytes.extend([0, 0, 1]);
    assert_eq!(read(&bytes), Err(Malformed), "something behind the end");
    // A number that is longer than it needs to be, and one beyond 64 bits.
    for number in [&[0x80, 0][..], &[0xff; 10], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]] {
        assert_eq!(take_number(&mut &number[..]), Err(Malformed));
    }
}

#[test]
fn any_cut_and_any_damage_is_survived() {
    let link = IndexEntry { path: b"c".to_vec(), kind: IndexKind::Link { target: b"../x".to_vec() } };
    let kind = IndexKind::Folder { mode: 0o755, modified: None };
    let bytes = written(&[file(b"a"), IndexEntry { path: b"b".to_vec(), kind }, link, file(b"d.enc")]);
    assert_eq!(read(&bytes).unwrap().len(), 4);
    for len in 0..bytes.len() {
        let _ = read(&bytes[..len]);
    }
    for at in 0..bytes.len() {
        for value in 0..=255 {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let _ = read(&damaged);
        }
    }
}

fn any_entry() -> impl Strategy<Value = IndexEntry> {
    let path = "[a-c]{1,3}(/[a-c]{1,9}){0,2}(\\.enc)?".prop_map(String::into_bytes);
    let time = proptest::option::of((any::<i64>(), 0..1_000_000_000_u32));
    let numbers = (0..1_u64 << 62, 0..1_u64 << 62, 0..=0o7777_u32, any::<u32>());
    let inode = any::<(u64, u64)>().prop_map(|(device, number)| Inode { device, number });
    let version = any::<[u8; 8]>().prop_map(ObjectVersion);
    let more =
        (proptest::option::of(inode), proptest::option::of(any::<[u8; 16]>()), proptest::option::of(version));
    (path.clone(), path, numbers, time, any::<[u8; 16]>(), 0..4, more).prop_map(
        |(
            path,
            plaintext,
            (size, more, mode, key_id),
            modified,
            identity,
            kind,
            (inode, digest, version),
        )| {
            let kind = match kind {
                0 => IndexKind::Folder { mode, modified },
                1 => IndexKind::Link { target: identity.to_vec() },
                _ => IndexKind::File(IndexFile {
                    plaintext,
                    size,
                    ciphertext_len: size + more,
                    mode,
                    modified,
                    identity,
                    key_id: if kind == 2 { 7 } else { key_id },
                    inode,
                    digest,
                    version,
                }),
            };
            IndexEntry { path, kind }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(entries in proptest::collection::vec(any_entry(), 0..20)) {
        prop_assert_eq!(read(&written(&entries)).unwrap(), entries);
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }
}
