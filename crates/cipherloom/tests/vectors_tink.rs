//! Streams made by tink-go, and streams that Tink refuses: the same must hold here. See `vectors/tink/README.md`.

mod support;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cipherloom::Error;
use cipherloom::format::Format;
use cipherloom::key::Keyset;
use cipherloom_kernels::Backend;
use serde_json::Value;
use std::collections::HashMap;

struct Vectors {
    keysets: HashMap<String, Value>,
    vectors: Vec<Value>,
}

fn vectors() -> Vectors {
    let text = std::fs::read(support::vectors("tink").join("vectors.json")).unwrap();
    let mut content: Value = serde_json::from_slice(&text).unwrap();
    Vectors {
        keysets: serde_json::from_value(content["keysets"].take()).unwrap(),
        vectors: serde_json::from_value(content["vectors"].take()).unwrap(),
    }
}

impl Vectors {
    fn format(&self, name: &str, backend: Backend) -> Format {
        let keyset = Keyset::parse(self.keysets[name].to_string().as_bytes()).unwrap();
        Format::tink(keyset, backend).unwrap()
    }
}

/// A `[]byte` of Go's: base64, or null if it is empty.
fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_default()).unwrap()
}

#[test]
fn every_vector_is_opened_or_refused() {
    let all = vectors();
    let (mut opened, mut refused) = (0, 0);
    for backend in Backend::ALL.into_iter().filter(|backend| backend.is_available()) {
        let formats: HashMap<&String, Format> =
            all.keysets.keys().map(|name| (name, all.format(name, backend))).collect();
        for vector in &all.vectors {
            let name = vector["name"].as_str().unwrap();
            let format = &formats[&vector["keyset"].as_str().unwrap().to_owned()];
            let result =
                support::open(format, &bytes(&vector["associated_data"]), &bytes(&vector["ciphertext"]));
            match result {
                Ok(plaintext) => {
                    assert_eq!(vector["valid"], true, "{name} was opened");
                    let expected = support::pattern(vector["plaintext_len"].as_u64().unwrap() as usize);
                    assert!(plaintext == expected, "{name} opened to another text");
                    opened += 1;
                }
                Err(error) => {
                    assert_eq!(vector["valid"], false, "{name}: {error}");
                    assert!(error.is_authentication(), "{name}: {error:?}");
                    refused += 1;
                }
            }
        }
    }
    assert!(opened > 200 && refused > 70, "{opened} opened, {refused} refused");
}

#[test]
fn failures_say_what_happened() {
    let all = vectors();
    let error = |name: &str| {
        let vector = all.vectors.iter().find(|vector| vector["name"] == name).expect(name);
        let format = all.format(vector["keyset"].as_str().unwrap(), Backend::best());
        support::open(&format, &bytes(&vector["associated_data"]), &bytes(&vector["ciphertext"])).unwrap_err()
    };
    for family in ["gcm", "ctr-hmac"] {
        let of = |how: &str| error(&format!("{family}, {how}"));
        assert!(matches!(of("flipped header length"), Error::NotThisFormat { .. }));
        assert!(matches!(of("header cut"), Error::HeaderTruncated { .. }));
        assert!(matches!(of("header only"), Error::ImpossibleLength { .. }));
        assert!(matches!(of("only the first segment"), Error::Truncated { index: 0 }));
        assert!(matches!(of("last segment missing"), Error::Truncated { index: 2 }));
        assert!(matches!(of("flipped middle tag"), Error::DamagedSegment { index: 1, .. }));
        assert!(matches!(of("another key"), Error::FirstSegment));
        assert!(matches!(of("wrong associated data"), Error::FirstSegment));
    }
    let error_behind = error("ctr-hmac, segment behind a full last segment");
    assert!(matches!(error_behind, Error::TrailingData { index: 1 }), "{error_behind:?}");
    assert!(matches!(error("crafted, only segment without its flag"), Error::FirstSegment));
}

/// Keysets are read and written as tink-go writes them, but for white space.
#[test]
fn keysets_are_written_as_they_were_read() {
    let all = vectors();
    for (name, json) in &all.keysets {
        let written = Keyset::parse(json.to_string().as_bytes()).unwrap().to_json();
        assert_eq!(&serde_json::from_str::<Value>(&written).unwrap(), json, "{name}");
    }
}
