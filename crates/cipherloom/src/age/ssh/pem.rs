//! Private keys as text (RFC 7468): OpenSSH's own format, and those that openssl and `ssh-keygen -m PEM` write, RSA in PKCS#1
//! and both types in PKCS#8. The latter two are read only in the clear.

use super::super::fault::AgeFault;
use super::private::{self, KeyFile, SshSecret};
use super::public::{ED25519, RSA, SshRecipient, unusable};
use super::{der, wire};
use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::PrivateDecryptingKey;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::engine::general_purpose::STANDARD;
use base64::{Engine as _, decoded_len_estimate};
use zeroize::Zeroizing;

/// What a private key file begins with.
pub(super) const MARKER: &str = "-----BEGIN ";

/// Version, algorithm 1.3.101.112, and the tags in front of the seed.
const ED25519_HEAD: &[u8] = b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// What is in a private key file.
pub(super) enum Contents {
    OpenSsh(KeyFile),
    Key(SshRecipient, SshSecret),
}

/// Reads a private key file.
pub(super) fn parse(contents: &[u8]) -> Result<Contents, AgeFault> {
    let (label, encoded) = decode(contents)?;
    match label {
        "OPENSSH PRIVATE KEY" => KeyFile::parse(&encoded).map(Contents::OpenSsh),
        "RSA PRIVATE KEY" => rsa(&der::wrap_rsa(&encoded)),
        "PRIVATE KEY" if der::is_rsa(&encoded) => rsa(&encoded),
        "PRIVATE KEY" => ed25519(&encoded),
        _ => Err(unusable("its file is no private key of SSH")),
    }
}

/// The label and the bytes of the only text.
fn decode(contents: &[u8]) -> Result<(&str, Zeroizing<Vec<u8>>), AgeFault> {
    let text = std::str::from_utf8(contents).map_err(|_| unusable("its file is not text"))?.trim();
    let (label, text) = text
        .strip_prefix(MARKER)
        .and_then(|text| text.split_once("-----"))
        .ok_or(unusable("its file's first line is damaged"))?;
    let text = text
        .strip_suffix("-----")
        .and_then(|text| text.strip_suffix(label))
        .and_then(|text| text.strip_suffix("-----END "))
        .ok_or(unusable("its file ends early"))?;
    // EncryptedPrivateKeyInfo (RFC 5208), or the header line of RFC 1421.
    if label == "ENCRYPTED PRIVATE KEY" || text.contains("Proc-Type") {
        return Err(unusable("its file is encrypted in another way than OpenSSH's own"));
    }
    let mut encoded = Zeroizing::new(Vec::with_capacity(text.len()));
    encoded.extend(text.bytes().filter(|byte| !byte.is_ascii_whitespace()));
    // Wiped even where only the beginning is base64.
    let mut bytes = Zeroizing::new(vec![0; decoded_len_estimate(encoded.len())]);
    let len = STANDARD.decode_slice(&*encoded, &mut bytes).map_err(|_| unusable("its file is not base64"))?;
    bytes.truncate(len);
    Ok((label, bytes))
}

fn rsa(encoded: &[u8]) -> Result<Contents, AgeFault> {
    let damaged = unusable("its numbers do not fit");
    let key = PrivateDecryptingKey::from_pkcs8(encoded).map_err(|_| damaged.clone())?;
    let public: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(|_| damaged.clone())?;
    let (modulus, exponent) = der::public_numbers(public.as_ref()).ok_or(damaged)?;
    let blob = wire::strings(&[RSA.as_bytes(), exponent, modulus]);
    Ok(Contents::Key(SshRecipient::from_blob(&blob, "")?, private::rsa_secret(key)?))
}

/// The only form in use: version 1, without attributes (RFC 8410, section 7).
fn ed25519(encoded: &[u8]) -> Result<Contents, AgeFault> {
    let seed = encoded.strip_prefix(ED25519_HEAD).and_then(|seed| <&[u8; 32]>::try_from(seed).ok());
    let seed = seed.ok_or(unusable("it is neither Ed25519 nor RSA"))?;
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| unusable("its seed is refused"))?;
    let blob = wire::strings(&[ED25519.as_bytes(), pair.public_key().as_ref()]);
    Ok(Contents::Key(SshRecipient::from_blob(&blob, "")?, private::ed25519_secret(seed)))
}
