//! Keys for one stream from a long-lived key: HKDF (RFC 5869) with the library's HMAC and expansion.
//!
//! Extraction is HMAC(salt, key), its definition in RFC 5869 section 2.2: the library's own `Salt::extract` would
//! allocate twice per stream. Expansion is the library's; it allocates only for an `info` of more than 80 bytes.

use crate::{Error, key::HashType};
use aws_lc_rs::{
    hkdf::{HKDF_SHA1_FOR_LEGACY_USE_ONLY, HKDF_SHA256, HKDF_SHA512, KeyType, Prk},
    hmac,
};
use zeroize::Zeroizing;

/// Fills `output` with HKDF(hash, key, salt, info).
pub(super) fn hkdf(
    hash: HashType,
    key: &[u8],
    salt: &[u8],
    info: &[u8],
    output: &mut [u8],
) -> Result<(), Error> {
    let algorithm = match hash {
        HashType::Sha1 => HKDF_SHA1_FOR_LEGACY_USE_ONLY,
        HashType::Sha256 => HKDF_SHA256,
        HashType::Sha512 => HKDF_SHA512,
    };
    let mut extracted = Zeroizing::new([0; 64]);
    let salt = hmac::Key::new(algorithm.hmac_algorithm(), salt);
    let extracted = hmac::sign_to_buffer(&salt, key, extracted.as_mut_slice()).map_err(|_| refused())?;
    expand(&Prk::new_less_safe(algorithm, extracted), &[info], output)
}

/// Fills `output` with HKDF-Expand(key, the concatenation of `info`).
pub(super) fn expand(key: &Prk, info: &[&[u8]], output: &mut [u8]) -> Result<(), Error> {
    key.expand(info, Length(output.len())).and_then(|okm| okm.fill(output)).map_err(|_| refused())
}

fn refused() -> Error {
    Error::internal("HKDF refused to derive a stream's keys")
}

/// How many bytes to derive.
struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::hkdf::Salt;

    /// RFC 5869, appendices A.1 (SHA-256) and A.4 (SHA-1).
    #[test]
    fn published_vectors() {
        let (salt, info): (Vec<u8>, Vec<u8>) = ((0..13).collect(), (0xf0..0xfa).collect());
        let mut output = [0; 42];
        hkdf(HashType::Sha256, &[0x0b; 22], &salt, &info, &mut output).unwrap();
        assert_eq!(output[..8], [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a]);
        assert_eq!(output[32..], [0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65]);
        hkdf(HashType::Sha1, &[0x0b; 11], &salt, &info, &mut output).unwrap();
        assert_eq!(output[..8], [0x08, 0x5a, 0x01, 0xea, 0x1b, 0x10, 0xf3, 0x69]);
    }

    #[test]
    fn equals_the_library_from_end_to_end() {
        let algorithms = [
            (HashType::Sha1, HKDF_SHA1_FOR_LEGACY_USE_ONLY),
            (HashType::Sha256, HKDF_SHA256),
            (HashType::Sha512, HKDF_SHA512),
        ];
        for (hash, algorithm) in algorithms {
            for (key_len, salt_len, info_len, output_len) in
                [(16, 16, 0, 16), (32, 32, 7, 32), (32, 16, 79, 64), (64, 32, 200, 48), (200, 32, 80, 76)]
            {
                let (key, salt, info) = (vec![1; key_len], vec![2; salt_len], vec![3; info_len]);
                let (mut ours, mut theirs) = (vec![0; output_len], vec![0; output_len]);
                hkdf(hash, &key, &salt, &info, &mut ours).unwrap();
                let prk = Salt::new(algorithm, &salt).extract(&key);
                prk.expand(&[&info], Length(output_len)).unwrap().fill(&mut theirs).unwrap();
                assert_eq!(ours, theirs, "{hash:?} {key_len} {salt_len} {info_len} {output_len}");
            }
        }
    }
}
