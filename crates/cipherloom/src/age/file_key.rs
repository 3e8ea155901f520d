//! The key of one file, and what is derived from it: HKDF-SHA256, HMAC-SHA256 and ChaCha20-Poly1305 as
//! <https://c2sp.org/age> uses them.

use super::fault::AgeFault;
use super::stanza::malformed;
use crate::Error;
use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

/// Bytes of a file key, and of one that is wrapped.
pub(crate) const FILE_KEY: usize = 16;
pub(crate) const WRAPPED: usize = FILE_KEY + 16;

/// The key that every stanza of one header wraps.
pub(crate) struct FileKey(Zeroizing<[u8; FILE_KEY]>);

impl FileKey {
    /// A fresh one.
    pub(crate) fn generate() -> Result<FileKey, Error> {
        let mut key = Zeroizing::new([0; FILE_KEY]);
        getrandom::fill(key.as_mut_slice()).map_err(Error::Random)?;
        Ok(FileKey(key))
    }

    /// What was unwrapped; `None` if it has another length.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<FileKey> {
        Some(FileKey(Zeroizing::new(bytes.try_into().ok()?)))
    }

    pub(crate) fn bytes(&self) -> &[u8; FILE_KEY] {
        &self.0
    }

    /// Wraps it with a key that is used once.
    pub(crate) fn wrap(&self, key: &[u8; 32]) -> Result<Vec<u8>, Error> {
        let mut body = self.0.to_vec();
        let sealed = chacha(key)?.seal_in_place_append_tag(zero_nonce(), Aad::empty(), &mut body);
        sealed.map_err(|_| Error::internal("ChaCha20-Poly1305 refused to wrap a file key"))?;
        Ok(body)
    }

    /// Unwraps a stanza's body; `None` if this is not its key.
    ///
    /// # Errors
    /// If the body has another length: shorter and longer ones are never tried, so that no body opens under many keys.
    pub(crate) fn unwrap(key: &[u8; 32], body: &[u8]) -> Result<Option<FileKey>, Error> {
        if body.len() != WRAPPED {
            return Err(malformed("a stanza does not wrap 16 bytes").into());
        }
        let mut opened = Zeroizing::new(body.to_vec());
        let plaintext = chacha(key)?.open_in_place(zero_nonce(), Aad::empty(), &mut opened);
        Ok(plaintext.ok().and_then(|bytes| FileKey::from_bytes(bytes)))
    }

    /// The code of a header.
    pub(super) fn authenticate(&self, header: &[u8]) -> Result<hmac::Tag, Error> {
        Ok(hmac::sign(&self.header_key()?, header))
    }

    pub(super) fn is_authentic(&self, header: &[u8], code: &[u8]) -> Result<bool, Error> {
        Ok(hmac::verify(&self.header_key()?, header, code).is_ok())
    }

    fn header_key(&self) -> Result<hmac::Key, Error> {
        let key = derive(self.0.as_slice(), &[], b"header")?;
        Ok(hmac::Key::new(hmac::HMAC_SHA256, key.as_slice()))
    }

    /// The key of the payload behind this nonce.
    pub(crate) fn payload_key(&self, nonce: &[u8; 16]) -> Result<Zeroizing<[u8; 32]>, Error> {
        derive(self.0.as_slice(), nonce, b"payload")
    }
}

impl std::fmt::Debug for FileKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("FileKey")
    }
}

/// HKDF-SHA256 to 32 bytes.
pub(super) fn derive(key: &[u8], salt: &[u8], info: &[u8]) -> Result<Zeroizing<[u8; 32]>, Error> {
    let mut output = Zeroizing::new([0; 32]);
    let extracted = Salt::new(HKDF_SHA256, salt).extract(key);
    let expanded = extracted.expand(&[info], HKDF_SHA256).and_then(|okm| okm.fill(output.as_mut_slice()));
    expanded.map_err(|_| Error::internal("HKDF refused to derive a key"))?;
    Ok(output)
}

fn chacha(key: &[u8; 32]) -> Result<LessSafeKey, Error> {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key);
    key.map(LessSafeKey::new).map_err(|_| Error::internal("ChaCha20-Poly1305 refused its key"))
}

fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

impl From<AgeFault> for Error {
    fn from(fault: AgeFault) -> Error {
        Error::Age(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_and_unwraps_only_with_its_key_and_length() {
        let key = FileKey::generate().unwrap();
        let body = key.wrap(&[1; 32]).unwrap();
        assert_eq!(body.len(), WRAPPED);
        assert_eq!(FileKey::unwrap(&[1; 32], &body).unwrap().unwrap().bytes(), key.bytes());
        assert!(FileKey::unwrap(&[2; 32], &body).unwrap().is_none());
        for len in [0, 16, 31, 33] {
            let mut other = body.clone();
            other.resize(len, 0);
            assert!(FileKey::unwrap(&[1; 32], &other).is_err(), "{len}");
        }
    }
}
