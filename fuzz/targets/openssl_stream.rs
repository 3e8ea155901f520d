//! What `openssl enc -pbkdf2` writes, in both modes: header, length, padding. One iteration, for speed.
#![no_main]

use cipherloom::format::Cipher;
use cipherloom::key::Passphrase;
use cipherloom::{Backend, Format};
use cipherloom_fuzz::{check_length, open};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static FORMATS: LazyLock<[Format; 2]> = LazyLock::new(|| {
    [Cipher::Aes256Cbc, Cipher::Aes128Ctr].map(|cipher| {
        let passphrase = Passphrase::new(b"public").expect("a passphrase");
        Format::openssl(cipher, passphrase, 1, Backend::best()).expect("one iteration")
    })
});

fuzz_target!(|ciphertext: &[u8]| {
    for format in &*FORMATS {
        if let Some(plain) = open(format, b"", ciphertext) {
            check_length(format, ciphertext, &plain);
        }
    }
});
