//! Ciphertexts of every format under public keys: headers, the search for the right key, segment frames, padding.

use cipherloom::format::{self, Cipher, IvPolicy};
use cipherloom::key::{Keyset, Passphrase, RawKey};
use cipherloom::stream::{self, Decryptor};
use cipherloom::{Format, machine::Backend};
use std::io::Read;
use std::sync::LazyLock;

static TINK: LazyLock<Format> = LazyLock::new(|| {
    let keyset = Keyset::parse(include_bytes!("../seeds/keyset_json/two-keys.json")).expect("a keyset");
    Format::tink(keyset, Backend::best()).expect("this processor's best backend")
});

static COBBLESTONE: LazyLock<Format> =
    LazyLock::new(|| Format::cobblestone(&public_key(), b"").expect("a key of the right length"));

static OPENSSL: LazyLock<[Format; 2]> = LazyLock::new(|| {
    [Cipher::Aes256Cbc, Cipher::Aes128Ctr].map(|cipher| {
        let passphrase = Passphrase::new(b"public").expect("a passphrase");
        Format::openssl(cipher, passphrase, 1, Backend::best()).expect("one iteration")
    })
});

static RAW: LazyLock<Vec<Format>> = LazyLock::new(|| {
    let mut formats = Vec::new();
    for cipher in [Cipher::Aes128Cbc, Cipher::Aes128Ctr] {
        for iv in [IvPolicy::Prefixed, IvPolicy::Fixed([7; 16])] {
            formats.push(Format::raw(cipher, &public_key(), iv, Backend::best()).expect("a key that fits"));
        }
    }
    formats
});

fn public_key() -> RawKey {
    RawKey::from_bytes(b"0123456789abcdef").expect("16 bytes")
}

/// A Tink stream, opened with a keyset of two keys (AES-GCM-HKDF and AES-CTR-HMAC).
pub fn tink_stream(ciphertext: &[u8]) {
    if let Some(plain) = open(&TINK, b"", ciphertext) {
        assert!(plain.len() < ciphertext.len());
        assert_eq!(open(&TINK, b"another", ciphertext), None, "the associated data is bound");
    }
}

/// A Cobblestone-128 stream: header, commitment, chunk frames.
pub fn cobblestone_stream(ciphertext: &[u8]) {
    if let Some(plain) = open(&COBBLESTONE, b"", ciphertext) {
        check_length(&COBBLESTONE, ciphertext, &plain);
    }
}

/// What `openssl enc -pbkdf2` writes, in both modes. One iteration, for speed.
pub fn openssl_stream(ciphertext: &[u8]) {
    for format in &*OPENSSL {
        if let Some(plain) = open(format, b"", ciphertext) {
            check_length(format, ciphertext, &plain);
        }
    }
}

/// Bare AES in both modes, with the initialisation vector in front and with a fixed one.
pub fn raw_stream(ciphertext: &[u8]) {
    for format in &*RAW {
        if let Some(plain) = open(format, b"", ciphertext) {
            check_length(format, ciphertext, &plain);
        }
    }
}

/// What a file may be, judged by its first bytes and its length: any of both gives a list.
pub fn recognise(input: &[u8]) {
    // The length is the input's own, or one that its last bytes claim.
    let _ = format::recognise(input, input.len() as u64);
    if let Some((head, claim)) = input.split_last_chunk::<8>() {
        let claimed = u64::from_le_bytes(*claim);
        let _ = format::recognise(head, claimed.max(head.len() as u64));
    }
}

/// Opens `ciphertext` as a whole and as a stream of unknown length, which must come to the same. `Some` is the plaintext; `None`
/// stands for any error.
fn open(format: &Format, associated_data: &[u8], ciphertext: &[u8]) -> Option<Vec<u8>> {
    let whole = stream::decrypt_with_format(ciphertext, format, associated_data);
    let whole = whole.ok().map(|plaintext| plaintext.to_vec());
    let mut read = Vec::new();
    let decryptor = Decryptor::with_format(ciphertext, format, associated_data).ok();
    let is_read = decryptor.is_some_and(|mut decryptor| decryptor.read_to_end(&mut read).is_ok());
    assert_eq!(whole, is_read.then_some(read));
    whole
}

/// An authenticated format opens nothing but what it sealed: what opens must have the length that the layout says.
fn check_length(format: &Format, ciphertext: &[u8], plaintext: &[u8]) {
    let layout = format.layout();
    assert_eq!(layout.ciphertext_len(plaintext.len() as u64), ciphertext.len() as u64);
}
