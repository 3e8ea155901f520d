//! Wycheproof's vectors of C2SP chunked encryption: reordered chunks, truncation, other keys and contexts, counters.

mod support;

use cipherloom::format::Format;
use cipherloom::key::RawKey;
use wycheproof::{TestResult, chunked_encryption as chunked};

#[test]
fn chunked_encryption() {
    let (mut opened, mut refused) = (0, 0);
    for name in [chunked::TestName::Cobblestone128, chunked::TestName::Cobblestone256] {
        let set = chunked::TestSet::load(name).unwrap();
        for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
            // Their ciphertexts are deflated, for some are large and regular.
            let ciphertext = miniz_oxide::inflate::decompress_to_vec_zlib(&test.ct).unwrap();
            let result = RawKey::from_bytes(&test.key)
                .and_then(|key| Format::cobblestone(&key, &test.ctx))
                .and_then(|format| {
                    assert!(test.key.len() == format_key_len(name) || test.result == TestResult::Invalid);
                    support::open(&format, b"", &ciphertext)
                });
            match result {
                Ok(plaintext) if test.key.len() == format_key_len(name) => {
                    assert_ne!(test.result, TestResult::Invalid, "{name:?} {}: {}", test.tc_id, test.comment);
                    assert_eq!(Some(plaintext.len()), test.msg_length, "{name:?} {}", test.tc_id);
                    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &plaintext);
                    assert_eq!(Some(digest.as_ref()), test.msg_sha512.as_ref().map(|bytes| bytes.as_slice()));
                    opened += 1;
                }
                Ok(_) => panic!("{name:?} {}: a key of the other variant opened it", test.tc_id),
                Err(error) => {
                    assert_eq!(test.result, TestResult::Invalid, "{name:?} {}: {error}", test.tc_id);
                    refused += 1;
                }
            }
        }
    }
    assert!(opened > 10 && refused > 30, "{opened} opened, {refused} refused");
}

fn format_key_len(name: chunked::TestName) -> usize {
    match name {
        chunked::TestName::Cobblestone128 => 16,
        chunked::TestName::Cobblestone256 => 32,
    }
}
