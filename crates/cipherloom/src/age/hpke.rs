//! HPKE (RFC 9180) in base mode, for one message, as age's post-quantum stanzas use it: HKDF-SHA256 and ChaCha20-Poly1305
//! behind the encapsulation MLKEM768-X25519 (0x647a).

use crate::Error;
use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

/// "HPKE", the encapsulation, HKDF-SHA256, ChaCha20-Poly1305.
const SUITE: &[u8] = b"HPKE\x64\x7a\x00\x01\x00\x03";
const VERSION: &[u8] = b"HPKE-v1";
const INFO: &[u8] = b"age-encryption.org/mlkem768x25519";

/// Seals the only message under this shared secret.
pub(super) fn seal(secret: &[u8; 32], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
    let (key, nonce) = schedule(secret)?;
    let mut message = plaintext.to_vec();
    key.seal_in_place_append_tag(nonce, Aad::empty(), &mut message).map_err(|_| refused())?;
    Ok(message)
}

/// Opens the only message; `None` if it was sealed under another secret.
pub(super) fn open(secret: &[u8; 32], message: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let (key, nonce) = schedule(secret)?;
    let mut opened = Zeroizing::new(message.to_vec());
    let len = key.open_in_place(nonce, Aad::empty(), &mut opened).map(|plaintext| plaintext.len());
    Ok(len.ok().map(|len| {
        opened.truncate(len);
        opened
    }))
}

/// RFC 9180, section 5.1, mode 0.
fn schedule(secret: &[u8; 32]) -> Result<(LessSafeKey, Nonce), Error> {
    let (no_key, info) = (extract(b"", b"psk_id_hash", b""), extract(b"", b"info_hash", INFO));
    let context = [&[0], no_key.as_ref(), info.as_ref()].concat();
    let secret = extract(secret, b"secret", b"");
    let (mut key, mut nonce) = (Zeroizing::new([0; 32]), [0; 12]);
    expand(secret.as_ref(), b"key", &context, key.as_mut_slice())?;
    expand(secret.as_ref(), b"base_nonce", &context, &mut nonce)?;
    let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_slice()).map_err(|_| refused())?;
    // The first message's nonce is the base nonce itself.
    Ok((LessSafeKey::new(key), Nonce::assume_unique_for_key(nonce)))
}

fn extract(salt: &[u8], label: &[u8], input: &[u8]) -> hmac::Tag {
    let input = Zeroizing::new([VERSION, SUITE, label, input].concat());
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), &input)
}

fn expand(secret: &[u8], label: &[u8], context: &[u8], output: &mut [u8]) -> Result<(), Error> {
    let len = u16::try_from(output.len()).expect("a key's length").to_be_bytes();
    let info = [&len, VERSION, SUITE, label, context];
    let key = Prk::new_less_safe(HKDF_SHA256, secret);
    key.expand(&info, Length(output.len())).and_then(|okm| okm.fill(output)).map_err(|_| refused())
}

/// How many bytes to derive.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn refused() -> Error {
    Error::internal("HPKE refused a key")
}
