//! Whether a root certificate confirms a certificate: RFC 5280, section 6.1, for a path of one certificate. Names, the
//! issuer's right to issue, both certificates' purposes, the issuer's dates, and a signature by an algorithm that is still
//! worth something.

use super::fault::LicenseFault;
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
    Issuer(LicenseFault),
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
    let signs_certificates =
        root.key_usage().is_ok_and(|usage| usage.is_none_or(|usage| usage.value.key_cert_sign()));
    if leaf.issuer().as_raw() != root.subject().as_raw() || !may_issue || !signs_certificates {
        return Err(Refusal::Other);
    }
    let refused = |problem: String| {
        Err(Refusal::Issuer(LicenseFault::Issuer { issuer: root.subject().to_string(), problem }))
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
                "is valid from {from} to {to}, and the license was made or updated at {moment}"
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
    certificate.key_usage().is_ok_and(|usage| usage.is_none_or(|usage| usage.value.digital_signature()))
}

/// LCP has no extended purpose of its own, and the authority's certificates name TLS servers. What is for code, time
/// stamps or OCSP alone signs no license.
fn is_for_documents(certificate: &X509Certificate<'_>) -> bool {
    const DOCUMENT_SIGNING: &str = "1.3.6.1.5.5.7.3.36";
    let Ok(usage) = certificate.extended_key_usage() else { return false };
    usage.is_none_or(|usage| {
        let usage = usage.value;
        usage.any
            || usage.server_auth
            || usage.client_auth
            || usage.email_protection
            || usage.other.iter().any(|purpose| purpose.to_id_string() == DOCUMENT_SIGNING)
    })
}

/// How `leaf` is signed, if the algorithm is one of those that are taken and fits the root's key.
fn algorithm(
    root: &X509Certificate<'_>,
    leaf: &X509Certificate<'_>,
) -> Option<&'static dyn VerificationAlgorithm> {
    let key = &root.public_key().algorithm;
    let signed = &leaf.signature_algorithm;
    // Of an elliptic curve the curve, of PSS the digest.
    let key_kind = match &key.algorithm {
        kind if *kind == OID_KEY_TYPE_EC_PUBLIC_KEY => key.parameters.as_ref()?.as_oid().ok()?,
        kind => kind.clone(),
    };
    let pss = match &signed.parameters {
        Some(parameters) if signed.algorithm == OID_PKCS1_RSASSAPSS => {
            Some(RsaSsaPssParams::try_from(parameters).ok()?)
        }
        _ => None,
    };
    let signature_kind = pss.as_ref().map_or(&signed.algorithm, |pss| pss.hash_algorithm_oid());
    // RSA's algorithms refuse keys of less than 2048 bits, with a word that says nothing: it is looked at here.
    let is_short = || super::certificate::rsa_bits(root.public_key()).is_none_or(|bits| bits < 2048);
    if key_kind == OID_PKCS1_RSAENCRYPTION && is_short() {
        return None;
    }
    let known: [(_, _, &'static dyn VerificationAlgorithm); 16] = [
        (OID_PKCS1_RSAENCRYPTION, OID_PKCS1_SHA256WITHRSA, &signature::RSA_PKCS1_2048_8192_SHA256),
        (OID_PKCS1_RSAENCRYPTION, OID_PKCS1_SHA384WITHRSA, &signature::RSA_PKCS1_2048_8192_SHA384),
        (OID_PKCS1_RSAENCRYPTION, OID_PKCS1_SHA512WITHRSA, &signature::RSA_PKCS1_2048_8192_SHA512),
        (OID_PKCS1_RSAENCRYPTION, OID_NIST_HASH_SHA256, &signature::RSA_PSS_2048_8192_SHA256),
        (OID_PKCS1_RSAENCRYPTION, OID_NIST_HASH_SHA384, &signature::RSA_PSS_2048_8192_SHA384),
        (OID_PKCS1_RSAENCRYPTION, OID_NIST_HASH_SHA512, &signature::RSA_PSS_2048_8192_SHA512),
        (OID_EC_P256, OID_SIG_ECDSA_WITH_SHA256, &signature::ECDSA_P256_SHA256_ASN1),
        (OID_EC_P256, OID_SIG_ECDSA_WITH_SHA384, &signature::ECDSA_P256_SHA384_ASN1),
        (OID_EC_P256, OID_SIG_ECDSA_WITH_SHA512, &signature::ECDSA_P256_SHA512_ASN1),
        (OID_NIST_EC_P384, OID_SIG_ECDSA_WITH_SHA256, &signature::ECDSA_P384_SHA256_ASN1),
        (OID_NIST_EC_P384, OID_SIG_ECDSA_WITH_SHA384, &signature::ECDSA_P384_SHA384_ASN1),
        (OID_NIST_EC_P384, OID_SIG_ECDSA_WITH_SHA512, &signature::ECDSA_P384_SHA512_ASN1),
        (OID_NIST_EC_P521, OID_SIG_ECDSA_WITH_SHA256, &signature::ECDSA_P521_SHA256_ASN1),
        (OID_NIST_EC_P521, OID_SIG_ECDSA_WITH_SHA384, &signature::ECDSA_P521_SHA384_ASN1),
        (OID_NIST_EC_P521, OID_SIG_ECDSA_WITH_SHA512, &signature::ECDSA_P521_SHA512_ASN1),
        (OID_SIG_ED25519, OID_SIG_ED25519, &signature::ED25519),
    ];
    // A digest names a signature only within PSS.
    let digests = [OID_NIST_HASH_SHA256, OID_NIST_HASH_SHA384, OID_NIST_HASH_SHA512];
    if pss.is_some() != digests.contains(signature_kind) {
        return None;
    }
    let mut fitting =
        known.into_iter().filter(|(key, signed, _)| *key == key_kind && signed == signature_kind);
    fitting.next().map(|(_, _, algorithm)| algorithm)
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
