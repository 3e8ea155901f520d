//! Keysets with segments of up to 2 GiB, as Tink allows them: refused unless allowed, and then memory follows the stream.

use allocation_counter::measure;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use cipherloom::format::MAX_SEGMENT_SIZE;
use cipherloom::key::Keyset;
use cipherloom::stream::Decryptor;
use cipherloom::{
    Error, Format,
    error::KeyFault,
    internal::{Pieces, Work, Workspace, translate_stream},
    machine::Backend,
    report::Unobserved,
};
use std::io::Read;

const HUGE: u32 = i32::MAX as u32;

/// Two keys, so that readers try both on the first segment.
fn keyset(segment: u32) -> Keyset {
    let mut varint = Vec::new();
    let mut rest = segment;
    while rest >= 0x80 {
        varint.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    varint.push(rest as u8);
    let key = |id: u32| {
        let parameters = [&[0x08][..], &varint, &[0x10, 16, 0x18, 3]].concat();
        let mut value = vec![0x12, parameters.len() as u8];
        value.extend(&parameters);
        value.extend([0x1a, 16]);
        value.extend([id as u8; 16]);
        let value = BASE64_STANDARD.encode(&value);
        format!(
            r#"{{"keyData":{{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey","value":"{value}","keyMaterialType":"SYMMETRIC"}},"status":"ENABLED","keyId":{id},"outputPrefixType":"RAW"}}"#
        )
    };
    let json = format!(r#"{{"primaryKeyId":2,"key":[{},{}]}}"#, key(1), key(2));
    Keyset::parse(json.as_bytes()).unwrap()
}

#[test]
fn they_must_be_allowed() {
    for (segment, is_taken) in [(MAX_SEGMENT_SIZE, true), (MAX_SEGMENT_SIZE + 1, false), (HUGE, false)] {
        match Format::tink(keyset(segment), Backend::best()) {
            Ok(_) => assert!(is_taken, "{segment}"),
            Err(Error::KeysetKey { fault: KeyFault::SegmentLimit { found, .. }, .. }) => {
                assert!(!is_taken && found == segment);
            }
            Err(error) => panic!("{error}"),
        }
        Format::tink_with_segments_up_to(HUGE, keyset(segment), Backend::best()).unwrap();
    }
}

#[test]
fn memory_follows_the_stream() {
    let format = Format::tink_with_segments_up_to(HUGE, keyset(HUGE), Backend::best()).unwrap();
    let text: Vec<u8> = (0..6_000_000_u32).map(|position| (position % 251) as u8).collect();
    for text in [&text[..4096], &text] {
        let translate = |work: &Work, source: &[u8]| {
            let mut output = Vec::with_capacity(source.len() + 100);
            translate_stream(work, b"", &mut &*source, &mut output, &Unobserved).unwrap();
            output
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let taken = measure(|| {
            let sealed = translate(&Work::Encrypt(format.clone()), text);
            assert!(translate(&Work::Decrypt(format.clone()), &sealed) == text);
            let again = translate(&Work::Rekey { from: format.clone(), to: format.clone() }, &sealed);
            assert!(translate(&Work::Decrypt(format.clone()), &again) == text);
            let mut workspace = Workspace::default();
            let work = Work::Decrypt(format.clone());
            let pieces = Pieces::begin(&work, b"", sealed.len() as u64, &sealed, &mut workspace).unwrap();
            assert!(**pieces.translate(0..1, &sealed, &mut workspace).unwrap() == *text);
            std::fs::write(&path, &sealed).unwrap();
            let file = std::fs::File::open(&path).unwrap();
            let mut file = Decryptor::with_format(file, &format, b"").unwrap();
            assert_eq!(file.len().unwrap(), text.len() as u64);
            let mut read = Vec::with_capacity(text.len() + 1);
            file.read_to_end(&mut read).unwrap();
            assert!(read == *text);
        });
        let most = 40 << 20;
        assert!(taken.bytes_max < most + 12 * text.len() as u64, "{} bytes", taken.bytes_max);
    }
}
