//! A license authority for tests: root certificates, provider certificates, keys.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// RSA of 2048 bits, ECDSA over P-256, and kinds that authorities may use and licenses do not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Rsa,
    P256,
    P384,
    P521,
    Ed25519,
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
    root_with(Kind::P256, |parameters| {
        parameters.distinguished_name.push(DnType::CommonName, name);
        parameters.is_ca = if is_ca { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
    })
}

/// A root certificate with a key of this kind.
pub(super) fn root_with(kind: Kind, change: impl FnOnce(&mut CertificateParams)) -> Root {
    let mut parameters = CertificateParams::default();
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut parameters);
    let key = key(kind);
    let pem = parameters.self_signed(&key).unwrap().pem();
    Root { issuer: Issuer::new(parameters, key), pem }
}

impl Root {
    /// A provider's certificate, valid from the beginning of one year to the beginning of another.
    pub(super) fn provider(&self, kind: Kind, years: (i32, i32)) -> Provider {
        self.provider_with(kind, years, |_| {})
    }

    /// The same with a change.
    pub(super) fn provider_with(
        &self,
        kind: Kind,
        years: (i32, i32),
        change: impl FnOnce(&mut CertificateParams),
    ) -> Provider {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "a provider");
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.not_before = date_time_ymd(years.0, 1, 1);
        parameters.not_after = date_time_ymd(years.1, 1, 1);
        change(&mut parameters);
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
        Kind::P521 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512),
        Kind::Ed25519 => KeyPair::generate_for(&rcgen::PKCS_ED25519),
    }
    .unwrap()
}
