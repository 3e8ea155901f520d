//! A Cobblestone-128 stream under a public key: header, commitment, chunk frames.
#![no_main]

use cipherloom::Format;
use cipherloom::key::RawKey;
use cipherloom_fuzz::{check_length, open};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMAT: LazyLock<Format> = LazyLock::new(|| {
    let key = RawKey::from_bytes(b"0123456789abcdef").expect("16 bytes");
    Format::cobblestone(&key, b"").expect("a key of the right length")
});

fuzz_target!(|ciphertext: &[u8]| {
    if let Some(plain) = open(&FORMAT, b"", ciphertext) {
        check_length(&FORMAT, ciphertext, &plain);
    }
});
