//! Streams made by `openssl enc`, both with a key and with a passphrase. See `vectors/openssl/README.md`.

mod support;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cipherloom::Error;
use cipherloom::format::{Cipher, Format, IvPolicy, Mode};
use cipherloom::key::{Passphrase, RawKey};
use cipherloom_kernels::Backend;
use serde_json::Value;
use support::{open, pattern, seal, unhex};

fn vectors(section: &str) -> Vec<Value> {
    let text = std::fs::read(support::vectors("openssl").join("vectors.json")).unwrap();
    let mut content: Value = serde_json::from_slice(&text).unwrap();
    serde_json::from_value(content[section].take()).unwrap()
}

fn cipher(vector: &Value) -> Cipher {
    vector["cipher"].as_str().unwrap().parse().unwrap()
}

fn plaintext(vector: &Value) -> Vec<u8> {
    pattern(vector["plaintext_len"].as_u64().unwrap() as usize)
}

fn ciphertext(vector: &Value) -> Vec<u8> {
    STANDARD.decode(vector["ciphertext"].as_str().unwrap()).unwrap()
}

#[test]
fn a_given_key_and_iv_give_openssl_bytes() {
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        for vector in vectors("raw") {
            let key = RawKey::parse(vector["key"].as_str().unwrap().as_bytes()).unwrap();
            let iv: [u8; 16] = unhex(vector["iv"].as_str().unwrap()).try_into().unwrap();
            let fixed = Format::raw(cipher(&vector), &key, IvPolicy::Fixed(iv), backend).unwrap();
            assert_eq!(seal(&fixed, b"", &plaintext(&vector)).unwrap(), ciphertext(&vector), "{vector}");
            assert_eq!(open(&fixed, b"", &ciphertext(&vector)).unwrap(), plaintext(&vector), "{vector}");
            // The IV in front is the same stream behind 16 bytes.
            let prefixed = Format::raw(cipher(&vector), &key, IvPolicy::Prefixed, backend).unwrap();
            let stream = [&iv[..], &ciphertext(&vector)].concat();
            assert_eq!(open(&prefixed, b"", &stream).unwrap(), plaintext(&vector), "{vector}");
        }
    }
}

#[test]
fn passphrases_open_openssl_streams() {
    let vectors = vectors("passphrase");
    assert!(vectors.len() >= 25);
    for vector in vectors {
        let passphrase = match vector["passphrase_file"].as_str() {
            Some(file) => Passphrase::from_file(file.as_bytes()),
            None => Passphrase::new(vector["passphrase"].as_str().unwrap().as_bytes()),
        };
        let iterations = vector["iterations"].as_u64().unwrap() as u32;
        let format =
            Format::openssl(cipher(&vector), passphrase.unwrap(), iterations, Backend::best()).unwrap();
        assert_eq!(open(&format, b"", &ciphertext(&vector)).unwrap(), plaintext(&vector), "{vector}");
    }
}

#[test]
fn spoiled_streams_are_refused_as_far_as_the_format_can_tell() {
    let all = vectors("passphrase");
    let vector = all.iter().find(|vector| cipher(vector).mode() == Mode::Cbc).unwrap();
    let passphrase = || Passphrase::new(vector["passphrase"].as_str().unwrap().as_bytes()).unwrap();
    let format = Format::openssl(cipher(vector), passphrase(), 10_000, Backend::best()).unwrap();
    let whole = ciphertext(vector);
    for length in 0..whole.len() {
        let error = open(&format, b"", &whole[..length]).unwrap_err();
        assert!(error.is_authentication(), "cut to {length}: {error:?}");
    }
    let mut flipped = whole.clone();
    flipped[0] ^= 1;
    assert!(matches!(open(&format, b"", &flipped), Err(Error::NotThisFormat { .. })));
    // The empty plaintext is one block of padding, and one more or one fewer iteration makes noise of it.
    let other = Format::openssl(cipher(vector), passphrase(), 10_001, Backend::best()).unwrap();
    match open(&other, b"", &whole) {
        Err(error) => assert!(matches!(error, Error::Padding), "{error:?}"),
        Ok(text) => assert_ne!(text, plaintext(vector)),
    }
}
