//! The canonical form of a license: the bytes that are signed (LCP 1.0, section 5.3).
//!
//! Members sorted by code point, no white space, numbers as they are written, strings escaped anew. The specification wants
//! control characters as `\u001F` in upper case and fractions in scientific notation; the license servers in use write
//! what Go's `encoding/json` does (readium-lcp-server 1.14.0, `sign/canon.go`), and a signature fits only if the bytes
//! do, so this follows the servers:
//!
//! ```text
//! "  \  U+0008  U+0009  U+000A  U+000C  U+000D  other below U+0020  U+2028  U+2029  anything else
//! \" \\ \b      \t      \n      \f      \r      \u00xx (lower case) \u2028  \u2029  itself, in UTF-8
//! ```
//!
//! Both readings are one where a text has none of these characters and no fraction; what this library writes has none.

use super::fault::LicenseFault;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Deeper nesting than any license needs; each level is read once more than the one around it.
const DEEPEST: usize = 32;

/// The member that holds the signature and is not signed.
const SIGNATURE: &str = "signature";

/// The canonical form of the license in `text`, without its signature.
///
/// ```
/// let text = r#"{ "signature": {}, "b": [1.0], "a": "\u00e9" }"#;
/// assert_eq!(cipherloom_lcp::license::canonical(text)?, r#"{"a":"é","b":[1.0]}"#.as_bytes());
/// # Ok::<(), cipherloom_lcp::license::LicenseFault>(())
/// ```
///
/// # Errors
/// If `text` is not one JSON object, has a member twice in one object, or is nested more than 32 levels deep.
pub fn canonical(text: &str) -> Result<Vec<u8>, LicenseFault> {
    let mut out = Vec::with_capacity(text.len());
    let mut members: Members<'_> = parse(text)?;
    members.0.retain(|(name, _)| name != SIGNATURE);
    write_members(members, 1, &mut out)?;
    Ok(out)
}

/// An object's members in the order of the text, each value unread.
struct Members<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, LicenseFault> {
    serde_json::from_str(text).map_err(|error| LicenseFault::Malformed { problem: error.to_string() })
}

fn write_members(members: Members<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), LicenseFault> {
    let mut members = members.0;
    // UTF-8 sorts by bytes as it does by code points.
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(twice) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(LicenseFault::DuplicateMember { name: twice[0].0.clone() });
    }
    out.push(b'{');
    for (position, (name, value)) in members.into_iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_string(&name, out);
        out.push(b':');
        write_value(value.get(), depth, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_value(text: &str, depth: usize, out: &mut Vec<u8>) -> Result<(), LicenseFault> {
    match text.as_bytes().first() {
        Some(b'{' | b'[') if depth == DEEPEST => Err(LicenseFault::TooDeep { most: DEEPEST }),
        Some(b'{') => write_members(parse(text)?, depth + 1, out),
        Some(b'[') => {
            out.push(b'[');
            for (position, element) in parse::<Vec<&RawValue>>(text)?.into_iter().enumerate() {
                if position > 0 {
                    out.push(b',');
                }
                write_value(element.get(), depth + 1, out)?;
            }
            out.push(b']');
            Ok(())
        }
        Some(b'"') => {
            write_string(&parse::<String>(text)?, out);
            Ok(())
        }
        // Numbers and the three words stay as they are written.
        _ => {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    let escaped = serde_json::to_string(text).expect("a text is JSON");
    // serde_json escapes all others as Go does.
    let escaped = match escaped.contains(['\u{2028}', '\u{2029}']) {
        true => escaped.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"),
        false => escaped,
    };
    out.extend_from_slice(escaped.as_bytes());
}

/// Whether `text` is the same under every reading of the canonical form.
pub(super) fn is_unambiguous(text: &str) -> bool {
    !text.chars().any(|character| character < ' ' || matches!(character, '\u{2028}' | '\u{2029}'))
}

#[cfg(test)]
#[path = "canonical_tests.rs"]
mod tests;
