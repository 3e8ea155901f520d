//! Who may confirm a provider's certificate, and by what signature. Weak keys and digests, which the library that makes
//! certificates here does not know, are in `interop/test_lcp_licenses.py`.

use super::authority::{Kind, Provider, Root, root, root_with};
use crate::license::{Certificate, LicenseFault, Moment, Roots};
use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use x509_parser::prelude::{FromDer, X509Certificate};

fn confirm(root: &Root, provider: &Provider, at: &str) -> Result<(), LicenseFault> {
    let certificate = Certificate::from_file(provider.certificate.as_bytes()).unwrap();
    let roots = Roots::from_file(root.pem.as_bytes()).unwrap();
    roots.confirm(&certificate, Moment::parse(at, "x").unwrap())
}

#[test]
fn roots_of_every_strong_kind_confirm() {
    for kind in [Kind::Rsa, Kind::P256, Kind::P384, Kind::P521, Kind::Ed25519] {
        let root = root_with(kind, |_| {});
        let confirmed = confirm(&root, &root.provider(Kind::P256, (2000, 2100)), "2026-01-01");
        assert!(confirmed.is_ok(), "{kind:?}: {confirmed:?}");
    }
}

#[test]
fn a_root_must_be_valid_when_the_license_was_signed() {
    let root = root_with(Kind::P256, |parameters| {
        parameters.not_before = date_time_ymd(2010, 1, 1);
        parameters.not_after = date_time_ymd(2020, 1, 1);
    });
    let provider = root.provider(Kind::P256, (2000, 2100));
    confirm(&root, &provider, "2015-01-01").unwrap();
    for at in ["2009-12-31", "2020-01-02"] {
        let refused = confirm(&root, &provider, at).unwrap_err();
        assert!(matches!(refused, LicenseFault::Issuer { .. }), "{refused}");
        assert!(refused.to_string().contains("2020-01-01"), "{refused}");
    }
}

#[test]
fn a_certificate_for_another_purpose_signs_no_license() {
    let purposes = |purpose: &ExtendedKeyUsagePurpose| {
        let root = root("a root", true);
        let provider = root.provider_with(Kind::P256, (2000, 2100), |parameters| {
            parameters.extended_key_usages = vec![purpose.clone()];
        });
        confirm(&root, &provider, "2026-01-01")
    };
    // The license authority's own certificates name TLS servers.
    for purpose in [ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::Any] {
        purposes(&purpose).unwrap();
    }
    for purpose in [
        ExtendedKeyUsagePurpose::CodeSigning,
        ExtendedKeyUsagePurpose::TimeStamping,
        ExtendedKeyUsagePurpose::OcspSigning,
    ] {
        let refused = purposes(&purpose).unwrap_err();
        assert!(refused.to_string().contains("purposes"), "{refused}");
    }
}

#[test]
fn what_the_issuer_did_not_sign_is_looked_at_too() {
    let root = root("a root", true);
    let provider = root.provider(Kind::P256, (2000, 2100));
    let der = Certificate::from_file(provider.certificate.as_bytes()).unwrap().der;
    // ECDSA with SHA-256, as it stands in front of the signature.
    let name = [0x30, 0x0A, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2];
    let at = der.windows(name.len()).rposition(|window| window == name).unwrap();
    let mut other = der.clone();
    other[at + name.len() - 1] = 3;
    let refused = Certificate::from_der(&other).unwrap_err().to_string();
    assert!(refused.contains("two signature algorithms"), "{refused}");
    // The signature: a bit string, its length, the number of bits that are left out.
    let mut cut = der;
    assert_eq!((cut[at + name.len()], cut[at + name.len() + 2]), (3, 0));
    cut[at + name.len() + 2] = 1;
    assert!(matches!(Certificate::from_der(&cut), Err(LicenseFault::Certificate { .. })));
}

/// The signature covers the inner part alone, so the bytes around it must be refused in every other spelling.
#[test]
fn a_certificate_with_one_byte_changed_outside_its_signed_part_is_refused() {
    for kind in [Kind::P256, Kind::Rsa] {
        let root = root_with(kind, |_| {});
        let roots = Roots::from_file(root.pem.as_bytes()).unwrap();
        let provider = root.provider(Kind::P256, (2000, 2100));
        let der = Certificate::from_file(provider.certificate.as_bytes()).unwrap().der;
        let confirms = |der: &[u8]| {
            let certificate = Certificate::from_der(der);
            certificate.is_ok_and(|certificate| roots.confirm(&certificate, Moment::now()).is_ok())
        };
        assert!(confirms(&der));
        let parsed = X509Certificate::from_der(&der).unwrap().1;
        let signed = 4..4 + parsed.tbs_certificate.as_ref().len();
        assert_eq!(der[signed.clone()], *parsed.tbs_certificate.as_ref());
        for at in (0..der.len()).filter(|at| !signed.contains(at)) {
            for change in (1..=u8::MAX).filter(|change| kind == Kind::P256 || change.is_power_of_two()) {
                let mut spoilt = der.clone();
                spoilt[at] ^= change;
                assert!(!confirms(&spoilt), "{kind:?}: byte {at} as {:#04x}", spoilt[at]);
            }
        }
        for tail in [&b"\0"[..], b"\x05\0", &der] {
            assert!(!confirms(&[&der, tail].concat()));
        }
    }
}
