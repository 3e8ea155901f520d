//! A Tink stream, opened with a keyset of two keys (AES-GCM-HKDF and AES-CTR-HMAC, both public): header, the search
//! for the right key, segment frames.
#![no_main]

use cipherloom::key::Keyset;
use cipherloom::{Backend, Format};
use cipherloom_fuzz::open;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMAT: LazyLock<Format> = LazyLock::new(|| {
    let keyset = Keyset::parse(include_bytes!("../seeds/keyset_json/two-keys.json")).expect("a keyset");
    Format::tink(keyset, Backend::best()).expect("this processor's best backend")
});

fuzz_target!(|ciphertext: &[u8]| {
    let plain = open(&FORMAT, b"", ciphertext);
    if let Some(plain) = plain {
        assert!(plain.len() < ciphertext.len());
        assert_eq!(open(&FORMAT, b"another", ciphertext), None, "the associated data is bound");
    }
});
