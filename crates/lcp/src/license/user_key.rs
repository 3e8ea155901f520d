//! The user key, and what it encrypts inside a license: the content key, the key check, user fields.
//!
//! Only the basic profile's user key is public: the SHA-256 of the passphrase in UTF-8, as typed. It is for tests; the
//! production profiles derive the key in a way that only certified software knows.
//!
//! ```text
//! encrypted value = 16 random bytes (initialisation vector) | AES-256-CBC of (text | filler)
//! filler          = 1 to 16 bytes, the last of which is their number (XML Encryption 1.1, section 5.2)
//! ```

use super::document::Document;
use super::fault::LicenseFault;
use crate::{ContentKey, Error};
use aws_lc_rs::digest;
use cipherloom_kernels::{Aes, Backend};
use serde_json::Value;
use std::fmt;
use zeroize::Zeroizing;

/// URI of the basic profile.
pub(super) const BASIC_PROFILE: &str = "http://readium.org/lcp/basic-profile";
/// URI of the hash that makes the user key.
pub(super) const SHA_256: &str = "http://www.w3.org/2001/04/xmlenc#sha256";

const BLOCK: usize = 16;

/// What opens one reader's licenses: [`UserKey::basic`] derives it, [`UserKey::content_key`] and
/// [`UserKey::user_fields`] open what a license holds.
///
/// ```
/// use cipherloom_lcp::license::UserKey;
///
/// let sealed = UserKey::from_bytes(&[7; 32]).seal(b"reader@example.com")?;
/// let opened = UserKey::from_bytes(&[7; 32]).open(&sealed);
/// assert_eq!(opened.as_deref().map(Vec::as_slice), Some(&b"reader@example.com"[..]));
/// # Ok::<(), cipherloom_lcp::Error>(())
/// ```
pub struct UserKey(Aes);

impl UserKey {
    /// The key of the basic profile: the SHA-256 of the passphrase, no byte of which is altered (section 4.2).
    #[must_use]
    pub fn basic(passphrase: &str) -> UserKey {
        let hash = digest::digest(&digest::SHA256, passphrase.as_bytes());
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(hash.as_ref());
        UserKey::from_bytes(&key)
    }

    /// The key of these bytes, for a provider that keeps hashes instead of passphrases.
    ///
    /// # Panics
    /// Never: 32 bytes are an AES key, and the backend is one that this CPU has.
    #[must_use]
    pub fn from_bytes(key: &[u8; 32]) -> UserKey {
        UserKey(Aes::new(key, Backend::best()).expect("32 bytes are an AES key"))
    }

    /// Encrypts `text` for a license, with a random initialisation vector.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub fn seal(&self, text: &[u8]) -> Result<Vec<u8>, Error> {
        let mut chain = [0; BLOCK];
        getrandom::fill(&mut chain).map_err(cipherloom::Error::Random)?;
        let filler = BLOCK - text.len() % BLOCK;
        let mut sealed = Vec::with_capacity(BLOCK + text.len() + filler);
        sealed.extend_from_slice(&chain);
        sealed.extend_from_slice(text);
        sealed.resize(sealed.len() + filler, filler as u8);
        self.0.cbc_encrypt(&mut chain, &mut sealed[BLOCK..]);
        Ok(sealed)
    }

    /// Decrypts a value of a license; `None` if it cannot have been made with this key.
    #[must_use]
    pub fn open(&self, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (chain, rest) = sealed.split_first_chunk::<BLOCK>()?;
        if rest.is_empty() || !rest.len().is_multiple_of(BLOCK) {
            return None;
        }
        let (mut chain, mut text) = (*chain, Zeroizing::new(rest.to_vec()));
        self.0.cbc_decrypt(&mut chain, &mut text);
        let filler = usize::from(*text.last()?);
        if !(1..=BLOCK).contains(&filler) {
            return None;
        }
        let length = text.len() - filler;
        text.truncate(length);
        Some(text)
    }

    /// Whether this is the license's key: its key check opens to its identifier.
    fn fits(&self, document: &Document) -> bool {
        self.open(&document.encryption.user_key.key_check.0).is_some_and(|id| *id == document.id.as_bytes())
    }

    /// The key of the license's publication.
    ///
    /// # Errors
    /// [`LicenseFault::ProfileSecret`], [`LicenseFault::Algorithm`], [`LicenseFault::WrongPassphrase`],
    /// [`LicenseFault::ContentKey`].
    pub fn content_key(&self, document: &Document) -> Result<ContentKey, LicenseFault> {
        let encryption = &document.encryption;
        if encryption.profile != BASIC_PROFILE {
            return Err(LicenseFault::ProfileSecret { profile: encryption.profile.clone() });
        }
        encryption.check_algorithms()?;
        if !self.fits(document) {
            return Err(LicenseFault::WrongPassphrase { hint: encryption.user_key.text_hint.clone() });
        }
        let opened = self.open(&encryption.content_key.encrypted_value.0).ok_or(LicenseFault::ContentKey)?;
        let key: &[u8; 32] = opened.as_slice().try_into().map_err(|_| LicenseFault::ContentKey)?;
        Ok(ContentKey::new(*key))
    }

    /// The user's encrypted fields, by name, decrypted.
    ///
    /// # Errors
    /// [`LicenseFault::UserField`] for the first that is missing or does not open.
    pub fn user_fields(&self, document: &Document) -> Result<Vec<(String, Zeroizing<String>)>, LicenseFault> {
        let user = &document.user;
        let open = |name: &String| {
            let value = if name == "id" {
                Some(user.id.as_str())
            } else {
                user.fields.get(name).and_then(Value::as_str)
            };
            let sealed = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, value?).ok()?;
            let text = self.open(&sealed)?;
            std::str::from_utf8(&text).ok().map(|text| Zeroizing::new(text.to_owned()))
        };
        user.encrypted
            .iter()
            .map(|name| match open(name) {
                Some(value) => Ok((name.clone(), value)),
                None => Err(LicenseFault::UserField { field: name.clone() }),
            })
            .collect()
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("UserKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", UserKey::basic("hush")), "UserKey");
    }

    #[test]
    fn the_passphrase_is_hashed_as_it_is() {
        // SHA-256 of "abc" (FIPS 180-4's example); white space and normal form count.
        let key = b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad";
        let sealed = UserKey::from_bytes(key).seal(b"text").unwrap();
        assert_eq!(UserKey::basic("abc").open(&sealed).unwrap().as_slice(), b"text");
        for other in ["abc ", "Abc", "abc\n", ""] {
            let opened = UserKey::basic(other).open(&sealed);
            assert!(opened.is_none_or(|text| text.as_slice() != b"text"), "{other:?}");
        }
    }

    #[test]
    fn any_filler_with_a_valid_last_byte_opens() {
        let key = UserKey::from_bytes(&[7; 32]);
        for filler in 1..=16_u8 {
            let mut text = [0x55; 16];
            text[15] = filler;
            let mut sealed = vec![0; 32];
            sealed[16..].copy_from_slice(&text);
            key.0.cbc_encrypt(&mut [0; 16], &mut sealed[16..]);
            assert_eq!(key.open(&sealed).unwrap().len(), 16 - usize::from(filler));
        }
        for last in [0, 17, 255] {
            let mut sealed = vec![0; 32];
            sealed[31] = last;
            key.0.cbc_encrypt(&mut [0; 16], &mut sealed[16..]);
            assert!(key.open(&sealed).is_none(), "{last}");
        }
        for length in [0, 15, 16, 17, 31, 33] {
            assert!(key.open(&vec![0; length]).is_none(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens(text in proptest::collection::vec(any::<u8>(), 0..100), key in any::<[u8; 32]>()) {
            let key = UserKey::from_bytes(&key);
            let sealed = key.seal(&text).unwrap();
            prop_assert_eq!(sealed.len(), 16 + (text.len() / 16 + 1) * 16);
            prop_assert_eq!(key.open(&sealed).unwrap().to_vec(), text);
        }
    }
}
