//! Certificates: X.509 (RFC 5280), whose key signed a licence, and who confirms that.
//!
//! A licence carries one certificate, its provider's, and a reading system has the root certificate of the licence
//! authority: the chain is one step (LCP 1.0, sections 5.2 and 5.5). The certificate must have been valid when the
//! licence was last signed, not today. Revocation lists have to be fetched, so they are not looked at.

use super::fault::LicenceFault;
use super::issuer::{self, Refusal};
use super::moment::Moment;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

/// The most certificates that are taken from one file of roots.
const MOST_ROOTS: usize = 1000;

/// A certificate whose key can sign licences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    /// Whose it is.
    pub subject: String,
    /// Who issued it, as it says itself.
    pub issuer: String,
    /// The first moment of its validity.
    pub from: Moment,
    /// The last.
    pub to: Moment,
    pub(super) key: PublicKey,
}

/// A public key in the form that aws-lc takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PublicKey {
    /// The `RSAPublicKey` of RFC 8017, DER.
    Rsa(Vec<u8>),
    /// A point of P-256, as in SEC 1, section 2.3.3.
    P256(Vec<u8>),
}

impl Certificate {
    /// Reads a certificate's DER.
    ///
    /// # Errors
    /// [`LicenceFault::Certificate`] if it is none; [`LicenceFault::CertificateKey`] if its key cannot sign licences.
    pub fn from_der(der: &[u8]) -> Result<Certificate, LicenceFault> {
        let certificate = parse(der)?;
        let moment = |time: x509_parser::time::ASN1Time| {
            Moment::from_unix(time.timestamp()).ok_or_else(|| refused("is valid at an impossible time"))
        };
        Ok(Certificate {
            der: der.to_vec(),
            subject: certificate.subject().to_string(),
            issuer: certificate.issuer().to_string(),
            from: moment(certificate.validity().not_before)?,
            to: moment(certificate.validity().not_after)?,
            key: PublicKey::new(certificate.public_key())?,
        })
    }

    /// Reads a file's certificate: PEM (the first, if there are several) or DER.
    ///
    /// # Errors
    /// As [`Certificate::from_der`].
    pub fn from_file(contents: &[u8]) -> Result<Certificate, LicenceFault> {
        match ders(contents).next() {
            Some(der) => Certificate::from_der(&der?),
            None => Certificate::from_der(contents),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Whether it was valid at `moment`.
    ///
    /// # Errors
    /// [`LicenceFault::CertificateDates`] if not.
    pub fn check_dates(&self, moment: Moment) -> Result<(), LicenceFault> {
        if (self.from..=self.to).contains(&moment) {
            return Ok(());
        }
        Err(LicenceFault::CertificateDates {
            from: self.from.to_string(),
            to: self.to.to_string(),
            at: moment.to_string(),
        })
    }
}

/// The certificates that a reading system trusts.
#[derive(Debug)]
pub struct Roots(Vec<Vec<u8>>);

impl Roots {
    /// Reads a file of root certificates: PEM, one or several, or DER.
    ///
    /// # Errors
    /// [`LicenceFault::Certificate`] if there is none, or one cannot be read.
    pub fn from_file(contents: &[u8]) -> Result<Roots, LicenceFault> {
        let mut roots = ders(contents).take(MOST_ROOTS).collect::<Result<Vec<_>, _>>()?;
        if roots.is_empty() {
            roots.push(contents.to_vec());
        }
        for root in &roots {
            parse(root)?;
        }
        Ok(Roots(roots))
    }

    /// Whether one of them issued `certificate` and was valid at `moment`, when the licence was last signed; or is it.
    ///
    /// # Errors
    /// [`LicenceFault::Untrusted`] if none did, [`LicenceFault::Issuer`] if one did that must not have.
    pub fn confirm(&self, certificate: &Certificate, moment: Moment) -> Result<(), LicenceFault> {
        let leaf = parse(&certificate.der)?;
        let mut refusal = None;
        for root in &self.0 {
            if *root == certificate.der {
                return Ok(());
            }
            match issuer::check(&parse(root)?, &leaf, moment) {
                Ok(()) => return Ok(()),
                Err(Refusal::Issuer(fault)) => refusal = Some(fault),
                Err(Refusal::Other) => {}
            }
        }
        Err(refusal.unwrap_or_else(|| LicenceFault::Untrusted {
            subject: certificate.subject.clone(),
            issuer: certificate.issuer.clone(),
        }))
    }
}

impl PublicKey {
    fn new(info: &SubjectPublicKeyInfo<'_>) -> Result<PublicKey, LicenceFault> {
        let bits = info.subject_public_key.data.to_vec();
        let algorithm = &info.algorithm;
        let curve = algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
        if algorithm.algorithm == OID_PKCS1_RSAENCRYPTION {
            match rsa_bits(info) {
                Some(2048..=8192) => Ok(PublicKey::Rsa(bits)),
                Some(length) => Err(LicenceFault::CertificateKey { found: format!("RSA of {length} bits") }),
                None => Err(refused("has an RSA key that cannot be read")),
            }
        } else if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY && curve == Some(OID_EC_P256) {
            Ok(PublicKey::P256(bits))
        } else {
            let kind = if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
                "an elliptic curve"
            } else {
                "an algorithm"
            };
            let name = curve.unwrap_or_else(|| algorithm.algorithm.clone());
            Err(LicenceFault::CertificateKey { found: format!("of {kind} with the identifier {name}") })
        }
    }
}

/// The length of an RSA key's modulus in bits.
pub(super) fn rsa_bits(info: &SubjectPublicKeyInfo<'_>) -> Option<usize> {
    match info.parsed() {
        Ok(x509_parser::public_key::PublicKey::RSA(key)) => Some(key.key_size()),
        _ => None,
    }
}

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, LicenceFault> {
    match X509Certificate::from_der(der) {
        // The outer name is not signed, the inner one is (RFC 5280, section 4.1.1.2).
        Ok(([], certificate)) if certificate.signature_algorithm != certificate.tbs_certificate.signature => {
            Err(refused("names two signature algorithms"))
        }
        // Nor is the number of bits that are left out.
        Ok(([], certificate))
            if certificate.signature_value.unused_bits != 0
                || certificate.public_key().subject_public_key.unused_bits != 0 =>
        {
            Err(refused("has a key or signature that ends within a byte"))
        }
        Ok(([], certificate)) => Ok(certificate),
        Ok(_) => Err(refused("is followed by something else")),
        Err(_) => Err(refused("cannot be read")),
    }
}

fn refused(problem: &str) -> LicenceFault {
    LicenceFault::Certificate { problem: problem.to_owned() }
}

fn ders(contents: &[u8]) -> impl Iterator<Item = Result<Vec<u8>, LicenceFault>> {
    CertificateDer::pem_slice_iter(contents).map(|found| match found {
        Ok(der) => Ok(der.to_vec()),
        Err(_) => Err(refused("is damaged PEM")),
    })
}
