//! Bare AES in both modes, with the initialisation vector in front and with a fixed one: lengths and padding.
#![no_main]

use cipherloom::format::{Cipher, IvPolicy};
use cipherloom::key::RawKey;
use cipherloom::{Backend, Format};
use cipherloom_fuzz::{check_length, open};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMATS: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let key = RawKey::from_bytes(b"0123456789abcdef").expect("16 bytes");
    let mut formats = Vec::new();
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes128Ctr] {
        for iv in [IvPolicy::Prefixed, IvPolicy::Fixed([7; 16])] {
            formats.push(Format::raw(cipher, &key, iv, Backend::best()).expect("a key that fits"));
        }
    }
    formats
});

fuzz_target!(|ciphertext: &[u8]| {
    for format in &*FORMATS {
        if let Some(plain) = open(format, b"", ciphertext) {
            check_length(format, ciphertext, &plain);
        }
    }
});
