//! Whole licenses: made, read back, and spoilt in every way that matters.

mod authority;
mod issuers;

use super::*;
use crate::{ContentKey, Error, FileFacts, KeyRecord};
use authority::{Kind, Provider, Root, root};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

pub(crate) static CONTENT_KEY: LazyLock<ContentKey> = LazyLock::new(|| ContentKey::new([0x5a; 32]));
const SHA256: &str = "abababababababababababababababababababababababababababababababab";
pub(crate) const PASSPHRASE: &str = "correct horse, château";

fn signer(provider: &Provider) -> Result<Signer, LicenseFault> {
    Signer::new(provider.certificate.as_bytes(), provider.key.as_bytes())
}

pub(crate) fn terms() -> Terms {
    Terms {
        provider: "https://provider.example.org".into(),
        hint: "the book's first word, <b>&</b> é 😀".into(),
        hint_url: "https://provider.example.org/hint/{license_id}".into(),
        publication_url: "https://provider.example.org/{publication_id}.epub".into(),
        status_url: Some("https://provider.example.org/status/{license_id}".into()),
        user_id: "u1".into(),
        user_fields: vec![("email".into(), "u1@example.org".into()), ("name".into(), "Ünal".into())],
        encrypted_fields: vec!["email".into()],
        rights: Rights { print: Some(10), copy: Some(0), start: None, end: None },
    }
}

fn record() -> KeyRecord {
    let file = |name: &str| FileFacts { name: name.into(), size: 264_929, sha256: Some(SHA256.into()) };
    KeyRecord {
        id: "b1".into(),
        title: String::new(),
        media_type: "application/epub+zip".into(),
        content_key: CONTENT_KEY.clone(),
        source: file("source.epub"),
        protected: file("book.epub"),
        fingerprint: String::new(),
        alt_id: None,
        output: None,
        notice: None,
    }
}

fn make(terms: &Terms, signer: &Signer) -> Result<License, LicenseFault> {
    match issue(terms, &record(), &UserKey::basic(PASSPHRASE), signer) {
        Ok(license) => Ok(license),
        Err(Error::License(fault)) => Err(fault),
        Err(error) => panic!("{error}"),
    }
}

fn authority() -> (Root, Provider) {
    let root = root("a root", true);
    let provider = root.provider(Kind::P256, (2000, 2100));
    (root, provider)
}

pub(crate) fn sound() -> License {
    of(&terms())
}

/// A license of these terms, from an authority of its own.
pub(crate) fn of(terms: &Terms) -> License {
    make(terms, &signer(&authority().1).unwrap()).unwrap()
}

/// The license with one change to its text, unsigned anew.
fn changed(license: &License, change: impl FnOnce(&mut Value)) -> License {
    let mut value: Value = serde_json::from_str(license.text()).unwrap();
    change(&mut value);
    License::parse(value.to_string().as_bytes()).unwrap()
}

#[test]
fn what_is_made_says_what_was_asked() {
    for kind in [Kind::Rsa, Kind::P256] {
        let root = root("a root", true);
        let license = make(&terms(), &signer(&root.provider(kind, (2000, 2100))).unwrap()).unwrap();
        let document = license.document();
        license.check_completeness().unwrap();
        let certificate = license.check_signature().unwrap();
        Roots::from_file(root.pem.as_bytes()).unwrap().confirm(&certificate, Moment::now()).unwrap();
        license.check_rights(Moment::now()).unwrap();

        let key = UserKey::basic(PASSPHRASE);
        assert_eq!(document.encryption.content_key.encrypted_value.0.len(), 64);
        assert_eq!(key.content_key(document).unwrap(), *CONTENT_KEY);
        let fields = key.user_fields(document).unwrap();
        assert_eq!(fields, [("email".to_owned(), "u1@example.org".to_owned().into())]);
        assert_eq!(document.user.fields["name"], "Ünal");
        assert!(!license.text().contains("u1@example.org"));

        let publication = document.link("publication").unwrap();
        assert_eq!(publication.href, "https://provider.example.org/b1.epub");
        assert_eq!((publication.length, publication.hash.as_deref()), (Some(264_929), Some(SHA256)));
        let status = document.link("status").unwrap();
        assert_eq!(status.href, format!("https://provider.example.org/status/{}", document.id));
        assert_eq!(document.id.len(), 36);
        assert_eq!((document.id.as_bytes()[14], document.id.matches('-').count()), (b'4', 4));
    }
}

/// Servers read a license into types, write it again and compare.
#[test]
fn what_is_made_survives_a_server() {
    let license = sound();
    let again = serde_json::to_string(license.document()).unwrap();
    assert_eq!(canonical(&again).unwrap(), license.canonical());
}

#[test]
fn another_passphrase_is_told_with_the_hint() {
    let refused = UserKey::basic("Correct horse").content_key(sound().document());
    assert_eq!(refused, Err(LicenseFault::WrongPassphrase { hint: terms().hint }));
}

#[test]
fn other_profiles_are_verified_but_not_opened() {
    let profile = "http://readium.org/lcp/profile-1.0";
    let license = changed(&sound(), |value| value["encryption"]["profile"] = profile.into());
    license.check_completeness().unwrap();
    let refused = UserKey::basic(PASSPHRASE).content_key(license.document());
    assert_eq!(refused, Err(LicenseFault::ProfileSecret { profile: profile.into() }));
}

#[test]
fn every_member_is_signed() {
    let license = sound();
    license.check_signature().unwrap();
    let changes: [fn(&mut Value); 9] = [
        |value| value["id"] = "other".into(),
        |value| value["issued"] = "2026-01-01T00:00:00Z".into(),
        |value| value["provider"] = "https://other.example.org".into(),
        |value| value["encryption"]["user_key"]["text_hint"] = "another".into(),
        |value| value["links"].as_array_mut().unwrap().reverse(),
        |value| value["rights"]["print"] = 11.into(),
        |value| drop(value.as_object_mut().unwrap().remove("rights")),
        |value| value["user"]["name"] = "other".into(),
        |value| value["unknown"] = json!({ "added": true }),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        assert_eq!(
            changed(&license, change).check_signature(),
            Err(LicenseFault::Signature),
            "change {number}"
        );
    }
    // Order and white space are not.
    let text = license.text().replace("\n", "\r\n\t ");
    License::parse(text.as_bytes()).unwrap().check_signature().unwrap();
}

#[test]
fn a_spoilt_signature_is_told_apart() {
    let license = sound();
    let spoilt = |change: fn(&mut Value)| changed(&license, change).check_signature().unwrap_err();
    let unsigned = spoilt(|value| drop(value.as_object_mut().unwrap().remove("signature")));
    assert_eq!(unsigned, LicenseFault::Unsigned);
    assert_eq!(spoilt(|value| value["signature"]["value"] = "AAAA".into()), LicenseFault::Signature);
    let algorithm = spoilt(|value| value["signature"]["algorithm"] = RSA_SHA_256.into());
    assert!(matches!(algorithm, LicenseFault::Algorithm { what: "signature", .. }));
    let certificate = spoilt(|value| value["signature"]["certificate"] = "AAAA".into());
    assert!(matches!(certificate, LicenseFault::Certificate { .. }));
}

#[test]
fn another_certificate_of_the_same_provider_does_not_verify() {
    let (root, _) = authority();
    let (one, other) = (root.provider(Kind::Rsa, (2000, 2100)), root.provider(Kind::Rsa, (2000, 2100)));
    let license = make(&terms(), &signer(&one).unwrap()).unwrap();
    let der = Certificate::from_file(other.certificate.as_bytes()).unwrap().der;
    let swapped = changed(&license, |value| {
        value["signature"]["certificate"] = serde_json::to_value(Binary(der)).unwrap();
    });
    assert_eq!(swapped.check_signature(), Err(LicenseFault::Signature));
}

#[test]
fn only_a_certificate_with_its_own_key_of_a_known_kind_signs() {
    let (root, provider) = authority();
    let other = root.provider(Kind::P256, (2000, 2100));
    let mixed = Provider { certificate: provider.certificate.clone(), key: other.key };
    assert_eq!(signer(&mixed).unwrap_err(), LicenseFault::KeyMismatch);
    let rsa = root.provider(Kind::Rsa, (2000, 2100));
    let mixed = Provider { certificate: rsa.certificate, key: provider.key.clone() };
    assert_eq!(signer(&mixed).unwrap_err(), LicenseFault::KeyMismatch);
    let curve = signer(&root.provider(Kind::P384, (2000, 2100))).unwrap_err();
    assert!(curve.to_string().contains("1.3.132.0.34"), "{curve}");
    for (certificate, key) in
        [("", provider.key.as_str()), ("x", &provider.key), (&provider.key, &provider.key)]
    {
        let refused = Signer::new(certificate.as_bytes(), key.as_bytes()).unwrap_err();
        assert!(matches!(refused, LicenseFault::Certificate { .. }), "{refused}");
    }
    let encrypted = provider.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for key in ["", "x", &provider.certificate, &encrypted] {
        let refused = Signer::new(provider.certificate.as_bytes(), key.as_bytes()).unwrap_err();
        assert!(matches!(refused, LicenseFault::PrivateKey { .. }), "{refused}");
        assert!(!refused.to_string().contains("MII"));
    }
}

#[test]
fn a_root_confirms_only_what_it_issued_and_may_issue() {
    let (root, provider) = authority();
    let certificate = Certificate::from_file(provider.certificate.as_bytes()).unwrap();
    let confirm = |pem: &str| Roots::from_file(pem.as_bytes()).unwrap().confirm(&certificate, Moment::now());
    let stranger = authority::root("a root", true);
    confirm(&root.pem).unwrap();
    confirm(&format!("{}{}", stranger.pem, root.pem)).unwrap();
    confirm(&provider.certificate).unwrap();
    // The same name with another key, and another name.
    assert!(matches!(confirm(&stranger.pem), Err(LicenseFault::Untrusted { .. })));
    assert!(matches!(confirm(&authority::root("other", true).pem), Err(LicenseFault::Untrusted { .. })));

    let no_authority = authority::root("no authority", false);
    let issued = no_authority.provider(Kind::P256, (2000, 2100));
    let issued = Certificate::from_file(issued.certificate.as_bytes()).unwrap();
    let refused = Roots::from_file(no_authority.pem.as_bytes()).unwrap().confirm(&issued, Moment::now());
    assert!(matches!(refused, Err(LicenseFault::Untrusted { .. })));
    assert!(Roots::from_file(b"").is_err());
    assert!(Roots::from_file(provider.key.as_bytes()).is_err());
}

#[test]
fn a_certificate_must_be_valid_when_the_license_is_made() {
    let (root, provider) = authority();
    let expired = signer(&root.provider(Kind::P256, (2000, 2010))).unwrap();
    assert!(matches!(make(&terms(), &expired), Err(LicenseFault::CertificateDates { .. })));
    // What counts is when the license was last changed.
    let license = make(&terms(), &signer(&provider).unwrap()).unwrap();
    let mut document = license.document().clone();
    document.updated = Some(Moment::parse("2100-06-01", "x").unwrap());
    let key = signer(&provider).unwrap();
    document.signature = None;
    let form = canonical(&serde_json::to_string(&document).unwrap()).unwrap();
    document.signature = Some(key.sign(&form).unwrap());
    let late = License::parse(serde_json::to_string(&document).unwrap().as_bytes()).unwrap();
    assert!(matches!(late.check_signature(), Err(LicenseFault::CertificateDates { .. })));
}

#[test]
fn rights_have_a_beginning_and_an_end() {
    let moment = |text| Moment::parse(text, "x").unwrap();
    let mut terms = terms();
    terms.rights =
        Rights { start: Some(moment("2026-01-01")), end: Some(moment("2026-02-01")), ..Rights::default() };
    let license = make(&terms, &signer(&authority().1).unwrap()).unwrap();
    license.check_rights(moment("2026-01-15")).unwrap();
    assert!(matches!(license.check_rights(moment("2025-12-31")), Err(LicenseFault::NotYet { .. })));
    assert!(matches!(license.check_rights(moment("2026-02-02")), Err(LicenseFault::Expired { .. })));
    sound().check_rights(moment("0001-01-01")).unwrap();
}

#[test]
fn terms_that_no_license_can_hold_are_refused() {
    let key = signer(&authority().1).unwrap();
    let changes: [fn(&mut Terms); 14] = [
        |terms| terms.provider = "provider".into(),
        |terms| terms.provider = "https://provider example".into(),
        |terms| terms.hint_url = String::new(),
        |terms| terms.publication_url = "/book.epub".into(),
        |terms| terms.status_url = Some("https://x/{unknown}".into()),
        |terms| terms.hint = "two\nlines".into(),
        |terms| terms.hint = "x\u{2028}y".into(),
        |terms| terms.hint = "x".repeat(5000),
        |terms| terms.user_fields.push(("email".into(), "twice".into())),
        |terms| terms.user_fields.push(("encrypted".into(), "x".into())),
        |terms| terms.encrypted_fields.push("phone".into()),
        |terms| terms.rights.print = Some(-1),
        |terms| terms.rights.copy = Some(1 << 31),
        |terms| {
            terms.rights.start = Some(Moment::now());
            terms.rights.end = terms.rights.start;
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut terms = terms();
        change(&mut terms);
        assert!(matches!(make(&terms, &key), Err(LicenseFault::Term { .. })), "change {number}");
    }
}

#[test]
fn malformed_licenses_are_refused_without_their_words_running_on() {
    let license = sound();
    let without = |name: &str| license.text().replacen(&format!("\"{name}\""), "\"other\"", 1);
    for (bytes, words) in [
        (b"\xff\xfe".to_vec(), "UTF-8"),
        (b"PK\x03\x04".to_vec(), "line 1"),
        (without("provider").into_bytes(), "provider"),
        (without("encrypted_value").into_bytes(), "encrypted_value"),
        (license.text().replace("\"issued\": \"2", "\"issued\": \"x").into_bytes(), "date"),
        (format!("{{\"id\":{{\"{}\":1}}}}", "x".repeat(1000)).into_bytes(), "malformed"),
        (vec![b' '; LARGEST_LICENSE + 1], "1048577 bytes"),
    ] {
        let fault = License::parse(&bytes).unwrap_err().to_string();
        assert!(fault.contains(words) && fault.len() < 400, "{fault}");
    }
    let incomplete = changed(&license, |value| drop(value["links"].as_array_mut().unwrap().remove(1)));
    assert_eq!(incomplete.check_completeness(), Err(LicenseFault::LinkMissing { rel: "hint" }));
    let cipher = changed(&license, |value| value["encryption"]["content_key"]["algorithm"] = "aes128".into());
    assert!(matches!(cipher.check_completeness(), Err(LicenseFault::Algorithm { what: "content key", .. })));
}

proptest! {
    #[test]
    fn any_text_signs_and_reads_back(hint in "[^\\x00-\\x1f\\u{2028}\\u{2029}]{0,40}", name in "[^\\x00-\\x1f\\u{2028}\\u{2029}]{0,40}", passphrase in ".*") {
        let (_, provider) = authority();
        let mut terms = terms();
        (terms.hint, terms.user_fields[1].1) = (hint.clone(), name.clone());
        terms.encrypted_fields.push("name".into());
        let key = UserKey::basic(&passphrase);
        let license = issue(&terms, &record(), &key, &signer(&provider).unwrap()).unwrap();
        license.check_signature().unwrap();
        prop_assert_eq!(&license.document().encryption.user_key.text_hint, &hint);
        prop_assert_eq!(&*key.user_fields(license.document()).unwrap()[1].1, &name);
    }

    /// Nothing that a stranger sends makes the reader panic.
    #[test]
    fn a_license_with_spoilt_bytes_is_an_error_or_does_not_verify(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (root, provider) = authority();
        let roots = Roots::from_file(root.pem.as_bytes()).unwrap();
        let license = make(&terms(), &signer(&provider).unwrap()).unwrap();
        let mut bytes = license.text().as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(spoilt) = License::parse(&bytes) {
            let same = spoilt.canonical() == license.canonical() && spoilt.document().signature == license.document().signature;
            // What spoils the certificate and not its key, its issuer has not signed.
            let accepted = spoilt.check_signature().and_then(|certificate| roots.confirm(&certificate, Moment::now())).is_ok();
            prop_assert_eq!(accepted, same);
            let _ = UserKey::basic(PASSPHRASE).content_key(spoilt.document());
        }
    }
}
