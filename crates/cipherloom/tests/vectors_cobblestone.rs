//! Streams made by pyca/cryptography, and streams that it refuses. See `vectors/cobblestone/README.md`.

mod support;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use cipherloom::Error;
use cipherloom::format::Format;
use cipherloom::key::RawKey;
use serde_json::Value;
use support::unhex;

#[test]
fn every_vector_is_opened_or_refused() {
    let text = std::fs::read(support::vectors("cobblestone").join("vectors.json")).unwrap();
    let content: Value = serde_json::from_slice(&text).unwrap();
    let (mut opened, mut refused) = (0, 0);
    for vector in content["vectors"].as_array().unwrap() {
        let name = vector["name"].as_str().unwrap();
        let key = RawKey::from_bytes(&unhex(vector["key"].as_str().unwrap())).unwrap();
        let format = Format::cobblestone(&key, &unhex(vector["context"].as_str().unwrap())).unwrap();
        let ciphertext = STANDARD.decode(vector["ciphertext"].as_str().unwrap()).unwrap();
        match support::open(&format, b"", &ciphertext) {
            Ok(plaintext) => {
                assert_eq!(vector["valid"], true, "{name} was opened");
                let expected = support::pattern(vector["plaintext_len"].as_u64().unwrap() as usize);
                assert!(plaintext == expected, "{name} opened to another text");
                opened += 1;
            }
            Err(error) => {
                assert_eq!(vector["valid"], false, "{name}: {error}");
                assert!(error.is_authentication(), "{name}: {error:?}");
                let is_key_or_context = ["wrong", "no context given", "salt", "commitment"];
                if is_key_or_context.iter().any(|word| name.contains(word)) {
                    assert!(matches!(error, Error::WrongKey { .. }), "{name}: {error:?}");
                }
                refused += 1;
            }
        }
    }
    assert!(opened > 10 && refused > 40, "{opened} opened, {refused} refused");
}
