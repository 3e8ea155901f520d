//! Untrusted text on its way to a terminal or a log: file names, titles, algorithm names, answers of servers.
//!
//! A control character could move the cursor, colour the screen or forge a line; a bidirectional control or another
//! invisible character could show a name as something that it is not. All of them are replaced by visible escapes.
//! Text without such characters stays as it is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::borrow::Cow;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The characters of Unicode's category Cf (format, which has the bidirectional controls and tags), and the line and
/// paragraph separators.
const INVISIBLE: [(u32, u32); 20] = [
    (0xAD, 0xAD),
    (0x600, 0x605),
    (0x61C, 0x61C),
    (0x6DD, 0x6DD),
    (0x70F, 0x70F),
    (0x890, 0x891),
    (0x8E2, 0x8E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
];

/// Whether a terminal would act on this character, or not show it.
fn is_unsafe(character: char) -> bool {
    let code = character as u32;
    character.is_control() || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Untrusted text in one line.
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, is_unsafe)
}

/// Text of several lines, whose untrusted parts went through [`line`] already: all the same but line ends and tabs.
pub fn lines(text: &str) -> Cow<'_, str> {
    replace(text, |character| is_unsafe(character) && !matches!(character, '\n' | '\t'))
}

fn replace(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_replaced(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// A path in one line; bytes that are no UTF-8 as `\xff`.
pub fn path(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&line(chunk.valid()));
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// JSON text with the same meaning, in ASCII wherever [`is_unsafe`] is true.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_unsafe(character) {
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
pub struct JsonPath<'p>(pub &'p Path);

impl Serialize for JsonPath<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.0.to_str() {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("bytes", &STANDARD.encode(self.0.as_os_str().as_encoded_bytes()))?;
        map.end()
    }
}

/// For a field that holds a path.
pub fn json_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    JsonPath(path).serialize(serializer)
}

/// For a field that may hold a path.
pub fn json_paths<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_deref().map(JsonPath).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_comes_through() {
        for (text, escaped) in [
            ("Büch er's \"best\" \\ e\u{301}", "Büch er's \"best\" \\ e\u{301}"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\u{1b}[31m\u{7f}", "\\u{1b}[31m\\u{7f}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("fdp.\u{202e}txt", "fdp.\\u{202e}txt"),
            ("a\u{2066}b\u{200b}c\u{ad}\u{feff}\u{e0041}", "a\\u{2066}b\\u{200b}c\\u{ad}\\u{feff}\\u{e0041}"),
            ("one\u{2028}two", "one\\u{2028}two"),
        ] {
            assert_eq!(line(text), escaped);
        }
        assert_eq!(lines("a\tb\n\u{1b}c\n"), "a\tb\n\\u{1b}c\n");
    }

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
            assert_eq!(path(name), "a\\xff\\nb");
        }
    }
}
