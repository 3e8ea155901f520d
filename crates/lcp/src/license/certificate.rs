//! Certificates: X.509 (RFC 5280), whose key signed a license, and who confirms that.
//!
//! A license carries one certificate, its provider's, and a reading system has the root certificate of the license
//! authority: the chain is one step (LCP 1.0, sections 5.2 and 5.5). The certificate must have been valid when the
//! license was last signed, not today. Revocation lists have to be fetched, so they are not looked at.

use super::fault::LicenseFault;
use super::issuer::{self, Refusal};
use super::moment::Moment;
use super::signature::{ECDSA_SHA_256, RSA_SHA_256};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::asn1_rs::{Sequence, SerializeResult, ToDer};
use x509_parser::oid_registry::{OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION};
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::x509::SubjectPublicKeyInfo;

/// The most certificates that are taken from one file of roots.
const MOST_ROOTS: usize = 1000;

/// A certificate whose key can sign licenses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub(super) der: Vec<u8>,
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

/// A public key in the form that aws-lc takes: of RSA the `RSAPublicKey` of RFC 8017, of P-256 a point as in SEC 1, section
/// 2.3.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    /// URI of the algorithm that signs licenses with it.
    pub(super) algorithm: &'static str,
    pub(super) bytes: Vec<u8>,
}

impl Certificate {
    /// Reads a certificate's DER.
    ///
    /// # Errors
    /// [`LicenseFault::Certificate`] if it is none; [`LicenseFault::CertificateKey`] if its key cannot sign licenses.
    pub(super) fn from_der(der: &[u8]) -> Result<Certificate, LicenseFault> {
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
    /// [`LicenseFault::Certificate`] if it is none; [`LicenseFault::CertificateKey`] if its key cannot sign licenses.
    pub fn from_file(contents: &[u8]) -> Result<Certificate, LicenseFault> {
        match ders(contents).next() {
            Some(der) => Certificate::from_der(&der?),
            None => Certificate::from_der(contents),
        }
    }

    /// Whether it was valid at `moment`.
    ///
    /// # Errors
    /// [`LicenseFault::CertificateDates`] if not.
    pub(super) fn check_dates(&self, moment: Moment) -> Result<(), LicenseFault> {
        if (self.from..=self.to).contains(&moment) {
            return Ok(());
        }
        Err(LicenseFault::CertificateDates {
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
    /// [`LicenseFault::Certificate`] if there is none, or one cannot be read.
    pub fn from_file(contents: &[u8]) -> Result<Roots, LicenseFault> {
        let mut roots = ders(contents).take(MOST_ROOTS).collect::<Result<Vec<_>, _>>()?;
        if roots.is_empty() {
            roots.push(contents.to_vec());
        }
        for root in &roots {
            parse(root)?;
        }
        Ok(Roots(roots))
    }

    /// Whether one of them issued `certificate` and was valid at `moment`, when the license was last signed; or is it.
    ///
    /// # Errors
    /// [`LicenseFault::Untrusted`] if none did, [`LicenseFault::Issuer`] if one did that must not have.
    pub fn confirm(&self, certificate: &Certificate, moment: Moment) -> Result<(), LicenseFault> {
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
        Err(refusal.unwrap_or_else(|| LicenseFault::Untrusted {
            subject: certificate.subject.clone(),
            issuer: certificate.issuer.clone(),
        }))
    }
}

impl PublicKey {
    fn new(info: &SubjectPublicKeyInfo<'_>) -> Result<PublicKey, LicenseFault> {
        let bytes = info.subject_public_key.data.to_vec();
        let algorithm = &info.algorithm;
        let curve = algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
        if algorithm.algorithm == OID_PKCS1_RSAENCRYPTION {
            match rsa_bits(info) {
                Some(2048..=8192) => Ok(PublicKey { algorithm: RSA_SHA_256, bytes }),
                Some(length) => Err(LicenseFault::CertificateKey { found: format!("RSA of {length} bits") }),
                None => Err(refused("has an RSA key that cannot be read")),
            }
        } else if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY && curve == Some(OID_EC_P256) {
            Ok(PublicKey { algorithm: ECDSA_SHA_256, bytes })
        } else {
            let kind = if algorithm.algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
                "an elliptic curve"
            } else {
                "an algorithm"
            };
            let name = curve.unwrap_or_else(|| algorithm.algorithm.clone());
            Err(LicenseFault::CertificateKey { found: format!("of {kind} with the identifier {name}") })
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

fn parse(der: &[u8]) -> Result<X509Certificate<'_>, LicenseFault> {
    let (rest, certificate) = X509Certificate::from_der(der).map_err(|_| refused("cannot be read"))?;
    let key = &certificate.public_key().subject_public_key;
    let problem = if !rest.is_empty() {
        "is followed by something else"
    } else if certificate.signature_algorithm != certificate.tbs_certificate.signature {
        // Only the inner name is signed (RFC 5280, section 4.1.1.2).
        "names two signature algorithms"
    } else if certificate.signature_value.unused_bits != 0 || key.unused_bits != 0 {
        "has a key or signature that ends within a byte"
    } else if encode(&certificate).ok().as_deref() != Some(der) {
        "is not exact DER"
    } else {
        return Ok(certificate);
    };
    Err(refused(problem))
}

/// Encodes the certificate again from its signed part and its signature. No signature covers the bytes around these two,
/// and the parser accepts several spellings of them, such as a sequence of another tag class.
fn encode(certificate: &X509Certificate<'_>) -> SerializeResult<Vec<u8>> {
    let signed = &certificate.tbs_certificate;
    let mut algorithm = signed.signature.algorithm.to_der_vec()?;
    if let Some(parameters) = &signed.signature.parameters {
        parameters.write_der(&mut algorithm)?;
    }
    let algorithm = Sequence::new(algorithm.into()).to_der_vec()?;
    let signature = certificate.signature_value.to_der_vec()?;
    Sequence::new([signed.as_ref(), &algorithm, &signature].concat().into()).to_der_vec()
}

fn refused(problem: &str) -> LicenseFault {
    LicenseFault::Certificate { problem: problem.to_owned() }
}

fn ders(contents: &[u8]) -> impl Iterator<Item = Result<Vec<u8>, LicenseFault>> {
    CertificateDer::pem_slice_iter(contents).map(|found| match found {
        Ok(der) => Ok(der.to_vec()),
        Err(_) => Err(refused("is damaged PEM")),
    })
}
