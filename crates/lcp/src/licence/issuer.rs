//! Whether a root certificate confirms a certificate: RFC 5280, section 6.1, for a path of one certificate. Names, the
//! issuer's right to issue, both certificates' purposes, the issuer's dates, and a signature by an algorithm that is still
//! worth something.

use super::fault::LicenceFault;
use super::moment::Moment;
use aws_lc_rs::signature::{self, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521, OID_NIST_HASH_SHA256,
    OID_NIST_HASH_SHA384, OID_NIST_HASH_SHA512, OID_PKCS1_RSAENCRYPTION, OID_PKCS1_RSASSAPSS,
    OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA, OID_SIG_ECDSA_WITH_SHA256,
    OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512, OID_SIG_ED25519, Oid,
};
use x509_parser::prelude::X509Certificate;
use x509_parser::signature_algorithm::RsaSsaPssParams;

/// Why a root does not confirm a certificate.
pub(super) enum Refusal {
    /// It is another authority, or did not sign it.
    Other,
    /// It may be the issuer, but for this.
    Issuer(LicenceFault),
}

/// Whether `root` issued `leaf`, and could at `moment`.
pub(super) fn check(
    root: &X509Certificate<'_>,
    leaf: &X509Certificate<'_>,
    moment: Moment,
) -> Result<(), Refusal> {
    // Certificates before version 3 have no constraints to say it with; naming one as a root says it.
    let may_issue = match root.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca,
        Ok(None) => root.version().0 < 2,
        Err(_) => false,
    };
    let signs_certificates = match root.key_usage() {
        Ok(Some(usage)) => usage.value.key_cert_sign(),
        Ok(None) => true,
        Err(_) => false,
    };
    if leaf.issuer().as_raw() != root.subject().as_raw() || !may_issue || !signs_certificates {
        return Err(Refusal::Other);
    }
    let refused = |problem: String| {
        Err(Refusal::Issuer(LicenceFault::Issuer { issuer: root.subject().to_string(), problem }))
    };
    let Some(algorithm) = algorithm(root, leaf) else {
        let found = &leaf.signature_algorithm.algorithm;
        return refused(format!(
            "signed it with a key or algorithm that proves nothing ({}); RSA of 2048 bits or more, ECDSA over P-256, P-384 or P-521, both with SHA-2, and Ed25519 do",
            name_of(found)
        ));
    };
    let key = UnparsedPublicKey::new(algorithm, &root.public_key().subject_public_key.data);
    if key.verify(leaf.tbs_certificate.as_ref(), &leaf.signature_value.data).is_err() {
        return Err(Refusal::Other);
    }
    let validity = root.validity();
    let dates = [validity.not_before, validity.not_after].map(|time| Moment::from_unix(time.timestamp()));
    match dates {
        [Some(from), Some(to)] if (from..=to).contains(&moment) => {}
        [Some(from), Some(to)] => {
            return refused(format!(
                "is valid from {from} to {to}, and the licence was made or updated at {moment}"
            ));
        }
        _ => return refused("is valid at an impossible time".to_owned()),
    }
    if !signs_documents(leaf) || !is_for_documents(leaf) || !is_for_documents(root) {
        return refused("issued it for other purposes than signing documents".to_owned());
    }
    Ok(())
}

fn signs_documents(certificate: &X509Certificate<'_>) -> bool {
    match certificate.key_usage() {
        Ok(Some(usage)) => usage.value.digital_signature(),
        Ok(None) => true,
        Err(_) => false,
    }
}

/// LCP has no extended purpose of its own, and the authority's certificates name TLS servers. What is for code, time
/// stamps or OCSP alone signs no licence.
fn is_for_documents(certificate: &X509Certificate<'_>) -> bool {
    const DOCUMENT_SIGNING: &str = "1.3.6.1.5.5.7.3.36";
    match certificate.extended_key_usage() {
        Ok(Some(usage)) => {
            let usage = usage.value;
            usage.any
                || usage.server_auth
                || usage.client_auth
                || usage.email_protection
                || usage.other.iter().any(|purpose| purpose.to_id_string() == DOCUMENT_SIGNING)
        }
        Ok(None) => true,
        Err(_) => false,
    }
}

/// How `leaf` is signed, if the algorithm is one of those that are taken and fits the root's key.
fn algorithm(
    root: &X509Certificate<'_>,
    leaf: &X509Certificate<'_>,
) -> Option<&'static dyn VerificationAlgorithm> {
    let key = &root.public_key().algorithm;
    let curve = key.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
    let signed = &leaf.signature_algorithm;
    let is = |oid: &Oid<'_>| signed.algorithm == *oid;
    if key.algorithm == OID_PKCS1_RSAENCRYPTION {
        // These refuse keys of less than 2048 bits, with a word that says nothing: it is looked at here.
        if super::certificate::rsa_bits(root.public_key()).is_none_or(|bits| bits < 2048) {
            return None;
        }
        return if is(&OID_PKCS1_SHA256WITHRSA) {
            Some(&signature::RSA_PKCS1_2048_8192_SHA256)
        } else if is(&OID_PKCS1_SHA384WITHRSA) {
            Some(&signature::RSA_PKCS1_2048_8192_SHA384)
        } else if is(&OID_PKCS1_SHA512WITHRSA) {
            Some(&signature::RSA_PKCS1_2048_8192_SHA512)
        } else if is(&OID_PKCS1_RSASSAPSS) {
            let parameters = RsaSsaPssParams::try_from(signed.parameters.as_ref()?).ok()?;
            pss(parameters.hash_algorithm_oid())
        } else {
            None
        };
    }
    if key.algorithm == OID_SIG_ED25519 && is(&OID_SIG_ED25519) {
        return Some(&signature::ED25519);
    }
    if key.algorithm != OID_KEY_TYPE_EC_PUBLIC_KEY {
        return None;
    }
    let curve = curve?;
    let curves: [(_, [&'static dyn VerificationAlgorithm; 3]); 3] = [
        (
            OID_EC_P256,
            [
                &signature::ECDSA_P256_SHA256_ASN1,
                &signature::ECDSA_P256_SHA384_ASN1,
                &signature::ECDSA_P256_SHA512_ASN1,
            ],
        ),
        (
            OID_NIST_EC_P384,
            [
                &signature::ECDSA_P384_SHA256_ASN1,
                &signature::ECDSA_P384_SHA384_ASN1,
                &signature::ECDSA_P384_SHA512_ASN1,
            ],
        ),
        (
            OID_NIST_EC_P521,
            [
                &signature::ECDSA_P521_SHA256_ASN1,
                &signature::ECDSA_P521_SHA384_ASN1,
                &signature::ECDSA_P521_SHA512_ASN1,
            ],
        ),
    ];
    let (_, by_digest) = curves.into_iter().find(|(known, _)| *known == curve)?;
    let digests = [OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384, OID_SIG_ECDSA_WITH_SHA512];
    digests.iter().zip(by_digest).find(|(digest, _)| is(digest)).map(|(_, algorithm)| algorithm)
}

fn pss(hash: &Oid<'_>) -> Option<&'static dyn VerificationAlgorithm> {
    if *hash == OID_NIST_HASH_SHA256 {
        Some(&signature::RSA_PSS_2048_8192_SHA256)
    } else if *hash == OID_NIST_HASH_SHA384 {
        Some(&signature::RSA_PSS_2048_8192_SHA384)
    } else if *hash == OID_NIST_HASH_SHA512 {
        Some(&signature::RSA_PSS_2048_8192_SHA512)
    } else {
        None
    }
}

fn name_of(algorithm: &Oid<'_>) -> String {
    let identifier = algorithm.to_id_string();
    match identifier.as_str() {
        "1.2.840.113549.1.1.4" => "RSA with MD5".to_owned(),
        "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => "RSA with SHA-1".to_owned(),
        "1.2.840.113549.1.1.11" => "RSA with SHA-256".to_owned(),
        "1.2.840.10045.4.1" => "ECDSA with SHA-1".to_owned(),
        _ => identifier,
    }
}
