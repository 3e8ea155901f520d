//! A key's fingerprint: a name that nobody can give to another key, and that reveals nothing of it.
//!
//! ```text
//! fingerprint = the first 16 bytes of HMAC-SHA-256("cipherloom key fingerprint v1", type URL | 0 | key message)
//! ```
//!
//! This is HKDF-Extract (RFC 5869) with a salt of its own, so that it is independent of the keys derived for streams. The
//! key message is the protobuf of [`StreamingKey::serialize`]: wrapping, formatting or renumbering a keyset changes nothing.

use super::keyset::Keyset;
use super::streaming::StreamingKey;
use aws_lc_rs::hmac;

const SALT: &[u8] = b"cipherloom key fingerprint v1";
const LEN: usize = 16;

impl Keyset {
    /// The fingerprint of the key that encrypts, as 32 hexadecimal digits. It is no secret.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.primary().fingerprint()
    }
}

impl StreamingKey {
    /// The key's fingerprint, as 32 hexadecimal digits. It is no secret.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, SALT));
        context.update(self.type_url().as_bytes());
        context.update(&[0]);
        context.update(&self.serialize());
        context.sign().as_ref()[..LEN].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Template;

    /// Computed with Python's hmac module.
    #[test]
    fn a_known_key_has_a_known_fingerprint() {
        let json = br#"{"primaryKeyId": 7, "key": [{"keyData": {
            "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
            "value": "EgcIgCAQEBgDGhAAAQIDBAUGBwgJCgsMDQ4P", "keyMaterialType": "SYMMETRIC"},
            "status": "ENABLED", "keyId": 7, "outputPrefixType": "RAW"}]}"#;
        let keyset = Keyset::parse(json).unwrap();
        assert_eq!(keyset.fingerprint(), "ecba581dd386ecf22d8c2c85a9336fd2");
    }

    #[test]
    fn it_is_the_keys_and_not_the_files() {
        let keyset = Keyset::generate(Template::default()).unwrap();
        let again = Keyset::parse(keyset.to_json().replace(',', " ,\n").as_bytes()).unwrap();
        assert_eq!(again.fingerprint(), keyset.fingerprint());
        let other = Keyset::generate(Template::default()).unwrap();
        assert_ne!(other.fingerprint(), keyset.fingerprint());
    }
}
