//! Untrusted text on its way to a terminal or a log: file names, titles, algorithm names, answers of servers.
//!
//! A control character could move the cursor, colour the screen or forge a line; a bidirectional control or another
//! invisible character could show a name as something that it is not. All of them are replaced by visible escapes.
//! Text without such characters stays as it is.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

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
#[must_use]
pub fn is_unsafe(character: char) -> bool {
    let code = character as u32;
    character.is_control() || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&code))
}

/// Untrusted text in one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, is_unsafe)
}

/// Text of several lines, whose untrusted parts went through [`line()`] already: all the same but line ends and tabs.
#[must_use]
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
#[must_use]
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

    #[cfg(unix)]
    #[test]
    fn bytes_of_a_name_that_are_no_text_are_shown() {
        use std::os::unix::ffi::OsStrExt;
        assert_eq!(path(Path::new(std::ffi::OsStr::from_bytes(b"a\xff\nb"))), "a\\xff\\nb");
    }
}
