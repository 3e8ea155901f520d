//! The testkit of age (`vectors/age/testkit`): hostile files, each with the verdict and the payload that are expected.

use cipherloom::age::{AgeFault, ArmorReader, Identity};
use cipherloom::key::Passphrase;
use cipherloom::stream::{self, Decryptor};
use cipherloom::{Error, Format};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// One file of the testkit.
struct Vector {
    name: String,
    expect: String,
    payload: Option<String>,
    identities: Vec<Identity>,
    armored: bool,
    file: Vec<u8>,
}

fn vectors() -> Vec<Vector> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors/age/testkit");
    let mut vectors: Vec<Vector> =
        fs::read_dir(folder).unwrap().map(|entry| read(&entry.unwrap().path())).collect();
    vectors.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(vectors.len(), 147);
    vectors
}

fn read(path: &Path) -> Vector {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let bytes = fs::read(path).unwrap();
    let end = bytes.windows(2).position(|window| window == b"\n\n").unwrap();
    let mut vector = Vector {
        name,
        expect: String::new(),
        payload: None,
        identities: Vec::new(),
        armored: false,
        file: bytes[end + 2..].to_vec(),
    };
    for line in std::str::from_utf8(&bytes[..end]).unwrap().lines() {
        let (key, value) = line.split_once(": ").unwrap();
        match key {
            "expect" => vector.expect = value.to_owned(),
            "payload" => vector.payload = Some(value.to_owned()),
            "identity" => vector.identities.push(Identity::parse(value).unwrap()),
            "passphrase" => {
                let passphrase = Passphrase::new(value.as_bytes()).unwrap();
                vector.identities.push(Identity::from_passphrase(passphrase, None).unwrap());
            }
            "armored" => vector.armored = value == "yes",
            "compressed" => {
                assert_eq!(value, "zlib");
                vector.file = miniz_oxide::inflate::decompress_to_vec_zlib(&vector.file).unwrap();
            }
            "file key" | "comment" => {}
            other => panic!("an unknown key: {other}"),
        }
    }
    if vector.identities.is_empty() {
        // What fails before an identity is needed has none.
        vector.identities.push(Identity::generate().unwrap());
    }
    vector
}

/// The testkit's word for what went wrong.
fn verdict(error: &Error) -> &'static str {
    match error.without_path() {
        Error::Age(AgeFault::Armor { .. }) => "armor failure",
        Error::Age(AgeFault::HeaderMac) => "HMAC failure",
        Error::Age(AgeFault::NoMatch { .. } | AgeFault::WrongPassphrase | AgeFault::PassphraseNeeded) => {
            "no match"
        }
        Error::Age(AgeFault::Header { .. } | AgeFault::WorkFactor { .. }) | Error::HeaderTruncated { .. } => {
            "header failure"
        }
        Error::ImpossibleLength { .. }
        | Error::Truncated { .. }
        | Error::TrailingData { .. }
        | Error::DamagedSegment { .. } => "payload failure",
        other => panic!("an unexpected error: {other:?}"),
    }
}

fn hash(bytes: &[u8]) -> String {
    let hash = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, bytes);
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn format(vector: &Vector) -> Format {
    Format::age_from(vector.identities.iter().cloned()).unwrap()
}

/// Every byte that a reader gives before its end or its error.
fn release(mut reader: impl Read) -> (Vec<u8>, Option<io::Error>) {
    let mut released = Vec::new();
    let mut buffer = [0; 1000];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return (released, None),
            Ok(count) => released.extend_from_slice(&buffer[..count]),
            Err(error) => return (released, Some(error)),
        }
    }
}

fn read_stream(format: &Format, source: impl Read) -> (Option<Vec<u8>>, Option<Error>) {
    let decryptor = match Decryptor::with_format(source, format, b"") {
        Ok(decryptor) => decryptor,
        Err(error) => return (None, Some(error)),
    };
    let (released, error) = release(decryptor);
    (Some(released), error.map(|error| error.downcast::<Error>().unwrap()))
}

#[test]
fn every_verdict_and_payload_is_the_expected_one() {
    for vector in vectors() {
        let format = format(&vector);
        let (released, error) = match vector.armored {
            true => read_stream(&format, ArmorReader::new(&vector.file[..])),
            false => read_stream(&format, &vector.file[..]),
        };
        let found = error.as_ref().map_or("success", verdict);
        assert_eq!(found, vector.expect, "{}: {error:?}", vector.name);
        if let Some(expected) = &vector.payload {
            assert_eq!(hash(&released.unwrap()), *expected, "{}", vector.name);
        }
    }
}

/// In memory, nothing is released of a file that fails.
#[test]
fn memory_and_streams_agree() {
    for vector in vectors().iter().filter(|vector| !vector.armored) {
        match stream::decrypt_with_format(&vector.file, &format(vector), b"") {
            Ok(plaintext) => {
                assert_eq!(vector.expect, "success", "{}", vector.name);
                assert_eq!(Some(hash(&plaintext)), vector.payload, "{}", vector.name);
            }
            Err(error) => assert_eq!(verdict(&error), vector.expect, "{}: {error}", vector.name),
        }
    }
}

#[test]
fn a_tree_gets_the_outputs_of_the_whole_files_only() {
    for vector in vectors().iter().filter(|vector| !vector.armored) {
        let folder = tempfile::tempdir().unwrap();
        let (source, output) = (folder.path().join("file.age"), folder.path().join("file"));
        fs::write(&source, &vector.file).unwrap();
        let job = cipherloom::decrypt(&source, &output).identities(vector.identities.iter().cloned());
        let report = job.run().unwrap();
        assert_eq!(report.failed == 0, vector.expect == "success", "{}", vector.name);
        assert_eq!(fs::read(&output).ok().map(|plaintext| hash(&plaintext)).is_some(), report.failed == 0);
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, if report.failed == 0 { 2 } else { 1 }, "{}: something is left", vector.name);
    }
}

/// What is read as a header is written again as it was.
#[test]
fn armor_round_trips() {
    for vector in vectors().iter().filter(|vector| vector.armored && vector.expect == "success") {
        let (binary, error) = release(ArmorReader::new(&vector.file[..]));
        assert!(error.is_none(), "{}", vector.name);
        let mut writer = cipherloom::age::ArmorWriter::new(Vec::new());
        io::Write::write_all(&mut writer, &binary).unwrap();
        let again = String::from_utf8(writer.finish().unwrap()).unwrap();
        let text = String::from_utf8(vector.file.clone()).unwrap().replace("\r\n", "\n");
        assert_eq!(again.trim(), text.trim(), "{}", vector.name);
    }
}
