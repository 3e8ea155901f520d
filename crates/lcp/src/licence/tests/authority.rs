//! A licence authority for tests: root certificates, provider certificates, keys.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// RSA of 2048 bits, ECDSA over P-256, and a curve that licences do not use.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Rsa,
    P256,
    P384,
}

pub(super) struct Root {
    issuer: Issuer<'static, KeyPair>,
    pub(super) pem: String,
}

pub(super) struct Provider {
    pub(super) certificate: String,
    pub(super) key: String,
}

pub(super) fn root(name: &str, is_ca: bool) -> Root {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = if is_ca { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
    let key = key(Kind::P256);
    let pem = parameters.self_signed(&key).unwrap().pem();
    Root { issuer: Issuer::new(parameters, key), pem }
}

impl Root {
    /// A provider's certificate, valid from the beginning of one year to the beginning of another.
    pub(super) fn provider(&self, kind: Kind, years: (i32, i32)) -> Provider {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "a provider");
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, 1, 1);
        let key = key(kind);
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap().pem();
        Provider { certificate, key: key.serialize_pem() }
    }
}

fn key(kind: Kind) -> KeyPair {
    match kind {
        Kind::Rsa => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, rcgen::RsaKeySize::_2048),
        Kind::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        Kind::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
    }
    .unwrap()
}
