//! Untrusted text in JSON: the same meaning, without a character on which a terminal would act ([`cipherloom::internal::escape`]).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cipherloom::internal::escape;
pub use cipherloom::internal::escape::{line, lines, path};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// JSON text with the same meaning, in ASCII wherever [`escape::is_unsafe`] is true.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(escape::is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if escape::is_unsafe(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// A path in JSON: a string, or `{"bytes": BASE64}` where it is not UTF-8, as ripgrep has it.
#[derive(Debug, Clone, Copy)]
pub struct JsonPath<P>(pub P);

impl<P: AsRef<Path>> Serialize for JsonPath<P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let path = self.0.as_ref();
        if let Some(text) = path.to_str() {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("bytes", &STANDARD.encode(path.as_os_str().as_encoded_bytes()))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_means_the_same() {
        let text = serde_json::to_string("x\u{9b}\u{202e}\u{e0041}\u{7f}\ny").unwrap();
        let escaped = json(&text);
        assert_eq!(escaped, r#""x\u009b\u202e\udb40\udc41\u007f\ny""#);
        assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), "x\u{9b}\u{202e}\u{e0041}\u{7f}\ny");
    }

    #[test]
    fn names_in_json_lose_nothing() {
        assert_eq!(serde_json::to_string(&JsonPath(Path::new("ü\n"))).unwrap(), r#""ü\n""#);
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            let name = Path::new(std::ffi::OsStr::from_bytes(b"a\xff\nb"));
            assert_eq!(serde_json::to_string(&JsonPath(name)).unwrap(), r#"{"bytes":"Yf8KYg=="}"#);
        }
    }
}
