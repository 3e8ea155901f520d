//! Signatures of licenses (LCP 1.0, section 5): RSA PKCS#1 v1.5 with SHA-256, as the profiles have it, and ECDSA over
//! P-256 with SHA-256, which the license server can also make. An ECDSA value is r and s, 32 bytes each, big-endian, one
//! after the other (XML Signature 1.1, section 6.4.3), not DER.

use super::certificate::{Certificate, PublicKey};
use super::document::{Binary, Signature};
use super::fault::LicenseFault;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm,
};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// URI of RSA with SHA-256.
pub(super) const RSA_SHA_256: &str = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
/// URI of ECDSA with SHA-256.
pub(super) const ECDSA_SHA_256: &str = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";

impl PublicKey {
    fn verify(&self, text: &[u8], value: &[u8]) -> Result<(), LicenseFault> {
        let algorithm: &'static dyn VerificationAlgorithm = match self.algorithm {
            RSA_SHA_256 => &RSA_PKCS1_2048_8192_SHA256,
            _ => &ECDSA_P256_SHA256_FIXED,
        };
        let key = UnparsedPublicKey::new(algorithm, &self.bytes);
        key.verify(text, value).map_err(|_| LicenseFault::Signature)
    }
}

/// Whether `signature` is the one of `text` (a canonical form) by the certificate it carries; returns the certificate.
///
/// # Errors
/// [`LicenseFault::Certificate`], [`LicenseFault::CertificateKey`], [`LicenseFault::Algorithm`] if the signature's
/// algorithm is not that of the certificate's key, [`LicenseFault::Signature`].
pub(super) fn verify(text: &[u8], signature: &Signature) -> Result<Certificate, LicenseFault> {
    let certificate = Certificate::from_der(&signature.certificate.0)?;
    let known = certificate.key.algorithm;
    if signature.algorithm != known {
        return Err(LicenseFault::Algorithm { what: "signature", found: signature.algorithm.clone(), known });
    }
    certificate.key.verify(text, &signature.value.0)?;
    Ok(certificate)
}

/// A provider's certificate with its private key: what signs licenses.
pub struct Signer {
    pub(super) certificate: Certificate,
    key: PrivateKey,
}

enum PrivateKey {
    Rsa(Box<RsaKeyPair>),
    P256(EcdsaKeyPair),
}

impl Signer {
    /// A signer from the contents of a certificate file and of a private key file, PEM or DER.
    ///
    /// # Errors
    /// As [`Certificate::from_file`]; [`LicenseFault::PrivateKey`] if the key cannot be read;
    /// [`LicenseFault::KeyMismatch`] if it is another certificate's.
    pub fn new(certificate: &[u8], private_key: &[u8]) -> Result<Signer, LicenseFault> {
        let certificate = Certificate::from_file(certificate)?;
        let key = PrivateKey::from_file(private_key)?;
        if key.public() != certificate.key {
            return Err(LicenseFault::KeyMismatch);
        }
        Ok(Signer { certificate, key })
    }

    /// Signs `text` (a canonical form), and verifies the signature before anybody sees it: a fault of the machine
    /// during an RSA signature can reveal the key.
    ///
    /// ```
    /// use cipherloom_lcp::license::{Signer, canonical};
    ///
    /// # let key = rcgen::KeyPair::generate()?;
    /// # let certificate = rcgen::CertificateParams::default().self_signed(&key)?.pem();
    /// # let private_key = key.serialize_pem();
    /// let signer = Signer::new(certificate.as_bytes(), private_key.as_bytes())?;
    /// let signature = signer.sign(&canonical(r#"{ "id": "0d2f" }"#)?)?;
    /// assert_eq!(signature.algorithm, "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LicenseFault::Signing`].
    pub fn sign(&self, text: &[u8]) -> Result<Signature, LicenseFault> {
        let value = self.key.sign(text).ok_or(LicenseFault::Signing)?;
        self.certificate.key.verify(text, &value).map_err(|_| LicenseFault::Signing)?;
        Ok(Signature {
            certificate: Binary(self.certificate.der.clone()),
            value: Binary(value),
            algorithm: self.certificate.key.algorithm.to_owned(),
        })
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Signer").field("certificate", &self.certificate.subject).finish_non_exhaustive()
    }
}

impl PrivateKey {
    fn from_file(contents: &[u8]) -> Result<PrivateKey, LicenseFault> {
        let refused = |problem| LicenseFault::PrivateKey { problem };
        if contents.windows(10).any(|window| window == b" ENCRYPTED" || window == b"-ENCRYPTED") {
            return Err(refused("is encrypted with a passphrase"));
        }
        let is_pem = contents.windows(11).any(|window| window == b"-----BEGIN ");
        let mut key = if is_pem {
            PrivateKeyDer::from_pem_slice(contents).map_err(|_| refused("is not in its file, or damaged"))?
        } else {
            PrivateKeyDer::try_from(Zeroizing::new(contents.to_vec()).to_vec())
                .map_err(|_| refused("cannot be read"))?
        };
        let parsed = PrivateKey::from_der(&key);
        key.zeroize();
        parsed.ok_or(refused("cannot be read, or is of another kind"))
    }

    fn from_der(key: &PrivateKeyDer<'_>) -> Option<PrivateKey> {
        let rsa = |pair: RsaKeyPair| PrivateKey::Rsa(Box::new(pair));
        let p256 = &ECDSA_P256_SHA256_FIXED_SIGNING;
        match key {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()).ok().map(rsa),
            PrivateKeyDer::Sec1(der) => {
                EcdsaKeyPair::from_private_key_der(p256, der.secret_sec1_der()).ok().map(PrivateKey::P256)
            }
            PrivateKeyDer::Pkcs8(der) => {
                let der = der.secret_pkcs8_der();
                let ecdsa = || EcdsaKeyPair::from_pkcs8(p256, der).ok().map(PrivateKey::P256);
                RsaKeyPair::from_pkcs8(der).ok().map(rsa).or_else(ecdsa)
            }
            _ => None,
        }
    }

    fn public(&self) -> PublicKey {
        let (algorithm, bytes) = match self {
            PrivateKey::Rsa(pair) => (RSA_SHA_256, pair.public_key().as_ref()),
            PrivateKey::P256(pair) => (ECDSA_SHA_256, pair.public_key().as_ref()),
        };
        PublicKey { algorithm, bytes: bytes.to_vec() }
    }

    fn sign(&self, text: &[u8]) -> Option<Vec<u8>> {
        let random = SystemRandom::new();
        match self {
            PrivateKey::Rsa(pair) => {
                let mut value = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text, &mut value).ok()?;
                Some(value)
            }
            PrivateKey::P256(pair) => pair.sign(&random, text).ok().map(|value| value.as_ref().to_vec()),
        }
    }
}
