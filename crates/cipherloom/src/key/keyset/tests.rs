//! Keysets as Tink and as others write them, and each way in which one can be wrong.

use super::*;
use serde_json::{Value, json};

/// A keyset with an AES-256-GCM key 1 (primary), an AES-128-CTR key 2, a disabled key 3 and a destroyed key 4.
fn sample() -> Value {
    let gcm = Template::Aes256GcmHkdf4Kb.generate().unwrap();
    let ctr = Template::Aes128CtrHmacSha256Of1Mb.generate().unwrap();
    let key = |id: u32, status: &str, key: &StreamingKey| {
        json!({"keyData": {"typeUrl": key.type_url(), "value": base64(&key.serialize()), "keyMaterialType": "SYMMETRIC"},
               "status": status, "keyId": id, "outputPrefixType": "RAW"})
    };
    json!({"primaryKeyId": 1, "key": [
        key(2, "ENABLED", &ctr),
        key(1, "ENABLED", &gcm),
        key(3, "DISABLED", &gcm),
        {"keyData": {"typeUrl": "x", "value": "", "keyMaterialType": "REMOTE"},
         "status": "DESTROYED", "keyId": 4, "outputPrefixType": "TINK"},
    ]})
}

fn base64(bytes: &[u8]) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(bytes)
}

fn parse(keyset: &Value) -> Result<Keyset, Error> {
    Keyset::parse(keyset.to_string().as_bytes())
}

/// The sample with one value replaced, by JSON pointer.
fn bent(pointer: &str, value: Value) -> Result<Keyset, Error> {
    let mut keyset = sample();
    *keyset.pointer_mut(pointer).unwrap() = value;
    parse(&keyset)
}

#[test]
fn generated_keysets_round_trip() {
    for template in Template::ALL {
        let keyset = Keyset::generate(template).unwrap();
        let json = keyset.to_json();
        let again = Keyset::parse(json.as_bytes()).unwrap();
        assert_eq!(again.to_json(), json);
        assert_eq!(again.primary_id(), keyset.primary_id());
        assert_eq!(again.primary().key_value, keyset.primary().key_value);
        assert_eq!(again.primary().protection, keyset.primary().protection);
    }
}

#[test]
fn the_json_has_the_shape_that_tink_writes() {
    let keyset = Keyset::generate(Template::Aes128GcmHkdf4Kb).unwrap();
    let id = keyset.primary_id();
    let value = base64(&keyset.primary().serialize());
    assert_eq!(
        keyset.to_json().as_str(),
        format!(
            "{{\"primaryKeyId\":{id},\"key\":[{{\"keyData\":{{\"typeUrl\":\
             \"type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey\",\"value\":\"{value}\",\
             \"keyMaterialType\":\"SYMMETRIC\"}},\"status\":\"ENABLED\",\"keyId\":{id},\
             \"outputPrefixType\":\"RAW\"}}]}}\n"
        )
    );
}

#[test]
fn the_primary_comes_first_and_only_enabled_keys_open() {
    let keyset = parse(&sample()).unwrap();
    let protections: Vec<_> = keyset.enabled().map(|(_, key)| key.protection).collect();
    assert_eq!(protections.len(), 2);
    assert_eq!(protections[0], Protection::Gcm);
    assert_eq!(keyset.primary().segment_size, 4096);
    let statuses: Vec<_> = keyset.keys().map(|key| (key.id, key.status, key.is_primary)).collect();
    assert_eq!(
        statuses,
        [
            (2, KeyStatus::Enabled, false),
            (1, KeyStatus::Enabled, true),
            (3, KeyStatus::Disabled, false),
            (4, KeyStatus::Destroyed, false)
        ]
    );
    // What is not used is still written back.
    assert_eq!(serde_json::from_str::<Value>(&keyset.to_json()).unwrap(), sample_with_values_of(&keyset));
}

fn sample_with_values_of(keyset: &Keyset) -> Value {
    let mut expected = sample();
    for (position, entry) in keyset.keys.iter().enumerate() {
        expected["key"][position]["keyData"]["value"] = base64(&entry.value).into();
    }
    expected
}

#[test]
fn reads_the_freedoms_of_protobuf_json() {
    let key = Template::Aes256GcmHkdf1Mb.generate().unwrap();
    let url_safe =
        base64(&key.serialize()).replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
    let keyset = json!({"primary_key_id": "4294967295", "key": [{
        "key_data": {"type_url": key.type_url(), "value": url_safe, "key_material_type": 1},
        "status": 1, "key_id": 4_294_967_295_u32, "output_prefix_type": 4}]});
    let keyset = parse(&keyset).unwrap();
    assert_eq!(keyset.primary_id(), u32::MAX);
    assert_eq!(keyset.primary().key_value, key.key_value);
    for prefix in ["TINK", "LEGACY", "RAW", "CRUNCHY", "WITH_ID_REQUIREMENT"] {
        bent("/key/0/outputPrefixType", prefix.into()).unwrap();
    }
}

#[test]
fn refuses_keysets_that_do_not_fit_together() {
    let empty = json!({"primaryKeyId": 1, "key": []});
    assert!(matches!(parse(&empty), Err(Error::KeysetEmpty)));
    assert!(matches!(parse(&json!({})), Err(Error::KeysetEmpty)));
    assert!(matches!(
        bent("/primaryKeyId", 9.into()),
        Err(Error::KeysetPrimary { id: 9, problem: "is missing" })
    ));
    for id in [3, 4] {
        let result = bent("/primaryKeyId", id.into());
        assert!(matches!(result, Err(Error::KeysetPrimary { problem: "is not enabled", .. })), "{result:?}");
    }
    assert!(matches!(bent("/key/0/keyId", 1.into()), Err(Error::KeysetDuplicate(1))));
    let encrypted = json!({"encryptedKeyset": "AAAA", "keysetInfo": {"primaryKeyId": 1}});
    assert!(matches!(parse(&encrypted), Err(Error::KeysetEncrypted)));
}

#[test]
fn refuses_unusable_keys_by_name() {
    let fault = |pointer: &str, value: Value| match bent(pointer, value) {
        Err(Error::KeysetKey { fault, .. }) => fault,
        other => panic!("{pointer}: {other:?}"),
    };
    assert_eq!(fault("/key/1/status", "ON".into()), KeyFault::Status);
    assert_eq!(fault("/key/1/status", Value::Null), KeyFault::Status);
    assert_eq!(fault("/key/1/status", 0.into()), KeyFault::Status);
    assert_eq!(fault("/key/1/outputPrefixType", "UNKNOWN_PREFIX".into()), KeyFault::Prefix);
    assert_eq!(fault("/key/1/keyData/keyMaterialType", "ASYMMETRIC_PRIVATE".into()), KeyFault::Material);
    assert_eq!(fault("/key/1/keyData/keyMaterialType", "SYMETRIC".into()), KeyFault::Material);
    assert_eq!(fault("/key/1/keyData/value", "no base64!".into()), KeyFault::Base64);
    assert_eq!(fault("/key/1/keyData/value", "CP//".into()), KeyFault::Protobuf);
    assert_eq!(fault("/key/1/keyData", Value::Null), KeyFault::Material);
    assert!(matches!(fault("/key/1/keyData/typeUrl", "x".into()), KeyFault::Type { .. }));
}

#[test]
fn a_binary_keyset_is_called_by_its_name() {
    let key = Template::Aes128GcmHkdf4Kb.generate().unwrap();
    let binary =
        [&[0x08, 0x07, 0x12, 0x60, 0x0a, 0x50, 0x0a, 0x3d], key.type_url().as_bytes(), &[0x12, 0x1b]]
            .concat();
    assert!(matches!(Keyset::parse(&[binary, key.serialize().to_vec()].concat()), Err(Error::KeysetBinary)));
    assert!(matches!(Keyset::parse(b"\x08\x07"), Err(Error::KeysetSyntax { .. })));
}

#[test]
fn refuses_other_texts_without_quoting_them() {
    for text in
        ["", "{", "[]", "7", "null", "secret", "{\"primaryKeyId\":-1}", "{\"primaryKeyId\":4294967296}"]
    {
        let error = Keyset::parse(text.as_bytes()).unwrap_err();
        assert!(matches!(error, Error::KeysetSyntax { .. } | Error::KeysetEmpty), "{text}: {error:?}");
    }
    for (pointer, value) in [
        ("/key/0/keyData", "c2VjcmV0".into()),
        ("/key/0/keyId", "c2VjcmV0".into()),
        ("/key", "c2VjcmV0".into()),
        ("/key/0/keyData/value", json!({"c2VjcmV0": "c2VjcmV0"})),
    ] {
        let error = bent(pointer, value).unwrap_err();
        assert!(matches!(error, Error::KeysetSyntax { line: 1, .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("c2VjcmV0"), "{error}");
    }
    let mut trailing = sample().to_string();
    trailing.push_str(" {}");
    assert!(matches!(Keyset::parse(trailing.as_bytes()), Err(Error::KeysetSyntax { .. })));
    let twice = "{\"primaryKeyId\":1,\"primaryKeyId\":1}";
    assert!(matches!(Keyset::parse(twice.as_bytes()), Err(Error::KeysetSyntax { .. })));
}

#[test]
fn debug_shows_no_secret() {
    let keyset = Keyset::generate(Template::Aes256GcmHkdf1Mb).unwrap();
    let shown = format!("{keyset:?}");
    let secret = &keyset.primary().key_value;
    assert!(shown.contains(&keyset.primary_id().to_string()));
    assert!(!shown.contains(&format!("{}, {}", secret[0], secret[1])), "{shown}");
}

fn states(keyset: &Keyset) -> Vec<(u32, KeyStatus, bool)> {
    keyset.keys().map(|key| (key.id, key.status, key.is_primary)).collect()
}

#[test]
fn a_keyset_is_changed_and_never_left_without_an_enabled_primary() {
    use KeyStatus::{Disabled, Enabled};
    let mut keyset = Keyset::generate(Template::default()).unwrap();
    let first = keyset.primary_id();
    let second = keyset.add(Template::Aes128CtrHmacSha256Of4Kb).unwrap();
    assert_eq!(states(&keyset), [(first, Enabled, true), (second, Enabled, false)]);
    let fault = |result: Result<(), Error>| match result {
        Err(Error::KeysetKey { fault, .. }) => fault,
        other => panic!("{other:?}"),
    };
    assert_eq!(fault(keyset.disable(first)), KeyFault::Primary);
    keyset.promote(second).unwrap();
    keyset.disable(first).unwrap();
    assert_eq!(states(&keyset), [(first, Disabled, false), (second, Enabled, true)]);
    assert_eq!(keyset.enabled().count(), 1);
    assert_eq!(fault(keyset.promote(first)), KeyFault::NotEnabled);
    let mut read = Keyset::parse(keyset.to_json().as_bytes()).unwrap();
    assert_eq!(states(&read), states(&keyset));
    // The secret was kept: the key is what it was.
    read.enable(first).unwrap();
    read.promote(first).unwrap();
    assert_eq!(read.enabled().count(), 2);
    let unknown = (1..).find(|id| ![first, second].contains(id)).unwrap();
    for refused in [read.promote(unknown), read.disable(unknown), read.enable(unknown)] {
        assert_eq!(fault(refused), KeyFault::Missing);
    }
    read.keys[1].status = KeyStatus::Destroyed;
    assert_eq!(fault(read.enable(second)), KeyFault::Destroyed);
    assert_eq!(fault(read.disable(second)), KeyFault::Destroyed);
}

/// Computed with Python's hmac module.
#[test]
fn a_known_key_has_a_known_fingerprint() {
    let json = br#"{"primaryKeyId": 7, "key": [{"keyData": {
        "typeUrl": "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey",
        "value": "EgcIgCAQEBgDGhAAAQIDBAUGBwgJCgsMDQ4P", "keyMaterialType": "SYMMETRIC"},
        "status": "ENABLED", "keyId": 7, "outputPrefixType": "RAW"}]}"#;
    let keyset = Keyset::parse(json).unwrap();
    assert_eq!(keyset.fingerprint(), "ecba581dd386ecf22d8c2c85a9336fd2");
}

#[test]
fn it_is_the_keys_and_not_the_files() {
    let keyset = Keyset::generate(Template::default()).unwrap();
    let again = Keyset::parse(keyset.to_json().replace(',', " ,\n").as_bytes()).unwrap();
    assert_eq!(again.fingerprint(), keyset.fingerprint());
    let other = Keyset::generate(Template::default()).unwrap();
    assert_ne!(other.fingerprint(), keyset.fingerprint());
}
