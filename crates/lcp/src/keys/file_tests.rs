//! The key file: what comes back, what is mended, and what is never touched.

use super::super::{ContentKey, FileFacts};
use super::*;
use std::fs;

fn record(id: &str) -> KeyRecord {
    let facts = FileFacts { name: "a.epub".into(), size: 7, sha256: None };
    KeyRecord {
        id: id.into(),
        title: "Ä".into(),
        media_type: "application/epub+zip".into(),
        content_key: ContentKey::generate().unwrap(),
        source: facts.clone(),
        protected: facts,
        fingerprint: "00".into(),
        alt_id: None,
        output: None,
        notice: None,
    }
}

/// A key file of three records, and its content.
fn three(path: &Path) -> ([KeyRecord; 3], Vec<u8>) {
    let records = [record("1"), record("2"), record("3")];
    KeyFile::open(path).unwrap().append(&records).unwrap();
    (records, fs::read(path).unwrap())
}

#[test]
fn records_come_back_and_a_torn_one_does_not_wherever_it_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let (records, content) = three(&path);
    let two = content[..content.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    let more = record("4");
    for cut in two..=content.len() {
        fs::write(&path, &content[..cut]).unwrap();
        // A record that lacks but the end of its line is one.
        let whole = if cut + 1 >= content.len() { 3 } else { 2 };
        assert_eq!(KeyFile::read(&path).unwrap(), records[..whole], "{cut}");
        KeyFile::open(&path).unwrap().append([&more]).unwrap();
        let expected: Vec<_> = records[..whole].iter().chain([&more]).cloned().collect();
        assert_eq!(KeyFile::read(&path).unwrap(), expected, "{cut}");
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), whole + 1);
    }
}

#[test]
fn what_is_no_key_file_is_refused_unquoted_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let keyset = r#"{"primaryKeyId":1,"key":[{"keyData":{"value":"secret"},"keyId":1}]}"#;
    let zip = b"PK\x05\x06".iter().copied().chain([0; 18]).collect::<Vec<u8>>();
    let others: [&[u8]; 13] = [
        b"my only copy",
        b"my only secret\n",
        b"a line\nmy only copy",
        keyset.as_bytes(),
        &[keyset.as_bytes(), b"\n"].concat(),
        &zip,
        b"[]",
        b"{}\n",
        b"{\"content_key\": \"secret\"}\n",
        b"{\"id\":\"7\",\"my\":\"only secret\"}",
        b"{\"id\":\"7\",\"my\":\"only secret\"}\n",
        b"{\"id\":7",
        b"\xFF\xD8",
    ];
    for other in others {
        fs::write(&path, other).unwrap();
        let error = KeyFile::open(&path).unwrap_err();
        let words = error.to_string();
        assert!(
            words.contains("not an LCP key file") && words.contains("line ") && !words.contains("secret"),
            "{words}"
        );
        assert_eq!(error.kind(), crate::ErrorKind::Key);
        assert!(KeyFile::read(&path).is_err());
        assert_eq!(fs::read(&path).unwrap(), other, "it stays as it is");
    }
    // Behind records too, and if it comes while the file is open.
    let keys = folder.path().join("keys.json");
    let (_, content) = three(&keys);
    let mut opened = KeyFile::open(&keys).unwrap();
    let mixed = [&content[..], b"my only copy"].concat();
    fs::write(&keys, &mixed).unwrap();
    assert!(opened.append([&record("4")]).is_err());
    assert!(KeyFile::open(&keys).unwrap_err().to_string().contains("line 4"));
    assert_eq!(fs::read(&keys).unwrap(), mixed);
}

#[test]
fn an_empty_file_becomes_one_and_a_missing_one_is_made_by_the_first_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let record = record("1");
    let mut keys = KeyFile::open(&path).unwrap();
    assert!(!path.exists(), "no leftover of a run that protects nothing");
    keys.append([&record]).unwrap();
    assert_eq!(KeyFile::read(&path).unwrap(), std::slice::from_ref(&record));
    fs::write(&path, "").unwrap();
    assert!(KeyFile::read(&path).unwrap().is_empty());
    KeyFile::open(&path).unwrap().append([&record]).unwrap();
    assert_eq!(KeyFile::read(&path).unwrap(), [record]);
    assert!(KeyFile::open(&folder.path().join("nowhere/keys.json")).is_err());
    assert!(KeyFile::open(folder.path()).is_err());
}

#[cfg(unix)]
#[test]
fn only_its_owner_may_read_it_also_if_others_could_before() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = folder.path().join("keys.json");
    three(&path);
    assert_eq!(mode(&path), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    KeyFile::open(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
    // Another's file, named by mistake, keeps what it had.
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(KeyFile::open(&notes).is_err());
    assert_eq!(mode(&notes), 0o644);
}

#[test]
fn lines_are_written_into_room_that_was_made_before() {
    let mut lines = Zeroizing::new(Vec::new());
    let mut expected = Vec::new();
    for index in 0..100 {
        let record = record(&"9".repeat(index));
        append_line(&mut lines, &record).unwrap();
        expected.extend(serde_json::to_vec(&record).unwrap());
        expected.push(b'\n');
        assert!(*lines == expected, "{index}");
    }
    let mut length = Length(0);
    serde_json::to_writer(&mut length, &record("1")).unwrap();
    let mut lines = Zeroizing::new(Vec::with_capacity(length.0 + 1));
    let place = lines.as_ptr();
    append_line(&mut lines, &record("1")).unwrap();
    assert_eq!(lines.as_ptr(), place, "what fits is not moved");
}
