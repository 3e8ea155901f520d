//! The canonical form of a licence: the bytes that are signed (LCP 1.0, section 5.3).
//!
//! Members sorted by code point, no white space, numbers as they stand, strings escaped anew. The specification wants
//! control characters as `\u001F` in upper case and fractions in scientific notation; the licence servers in use write
//! what Go's `encoding/json` does (readium-lcp-server 1.14.0, `sign/canon.go`), and a signature fits only if the bytes
//! do, so this follows the servers:
//!
//! ```text
//! "  \  U+0008  U+0009  U+000A  U+000C  U+000D  other below U+0020  U+2028  U+2029  anything else
//! \" \\ \b      \t      \n      \f      \r      \u00xx (lower case) \u2028  \u2029  itself, in UTF-8
//! ```
//!
//! Both readings are one where a text has none of these characters and no fraction; what this library writes has none.

use super::fault::LicenceFault;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Deeper nesting than any licence needs; each level is read once more than the one around it.
const DEEPEST: usize = 32;

/// The member that holds the signature and is not signed.
const SIGNATURE: &str = "signature";

/// The canonical form of the licence in `text`, without its signature.
///
/// # Errors
/// If `text` is not one JSON object, has a member twice in one object, or is nested more than 32 levels deep.
pub fn canonical(text: &str) -> Result<Vec<u8>, LicenceFault> {
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

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, LicenceFault> {
    serde_json::from_str(text).map_err(|error| LicenceFault::Malformed { problem: error.to_string() })
}

fn write_members(members: Members<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), LicenceFault> {
    let mut members = members.0;
    // UTF-8 sorts by bytes as it does by code points.
    members.sort_by(|(one, _), (other, _)| one.cmp(other));
    if let Some(twice) = members.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(LicenceFault::DuplicateMember { name: twice[0].0.clone() });
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

fn write_value(text: &str, depth: usize, out: &mut Vec<u8>) -> Result<(), LicenceFault> {
    match text.as_bytes().first() {
        Some(b'{' | b'[') if depth == DEEPEST => Err(LicenceFault::TooDeep { most: DEEPEST }),
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
        // Numbers and the three words stay as they stand.
        _ => {
            out.extend_from_slice(text.as_bytes());
            Ok(())
        }
    }
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for character in text.chars() {
        match character {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\0'..'\u{20}' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
            }
            _ => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

/// Whether `text` is the same under every reading of the canonical form.
pub(super) fn is_unambiguous(text: &str) -> bool {
    !text.chars().any(|character| character < ' ' || matches!(character, '\u{2028}' | '\u{2029}'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn form(text: &str) -> String {
        String::from_utf8(canonical(text).unwrap()).unwrap()
    }

    #[test]
    fn members_are_sorted_at_every_level_and_arrays_are_not() {
        assert_eq!(
            form(r#" { "b" : [ 3 , {"z":1,"a":null}, 1 ], "a" : { "\u0062" : true , "a":false } } "#),
            r#"{"a":{"a":false,"b":true},"b":[3,{"a":null,"z":1},1]}"#
        );
    }

    /// In UTF-16 the second would come first.
    #[test]
    fn the_order_is_that_of_code_points() {
        assert_eq!(
            form("{\"\u{1f600}\":1,\"\u{fb01}\":2,\"é\":3}"),
            "{\"é\":3,\"\u{fb01}\":2,\"\u{1f600}\":1}"
        );
    }

    #[test]
    fn the_signature_is_removed_at_the_top_only() {
        assert_eq!(
            form(r#"{"signature":{"value":"x"},"user":{"signature":1}}"#),
            r#"{"user":{"signature":1}}"#
        );
    }

    #[test]
    fn numbers_stay_as_they_stand() {
        let numbers = r#"{"a":[0,-0,1.10,1E5,1e-7,12345678901234567890123,0.1]}"#;
        assert_eq!(form(numbers), numbers);
    }

    #[test]
    fn strings_are_escaped_as_the_servers_do() {
        assert_eq!(
            form(r#"{"a":"\u0000\b\t\n\f\r\u001f\"\\\/\u007f<>&\u2028\u2029\u00e9\ud83d\ude00"}"#),
            "{\"a\":\"\\u0000\\b\\t\\n\\f\\r\\u001f\\\"\\\\/\u{7f}<>&\\u2028\\u2029é😀\"}"
        );
    }

    #[test]
    fn what_is_read_differently_is_refused() {
        let twice = canonical(r#"{"a":{"b":1,"\u0062":2}}"#);
        assert_eq!(twice, Err(LicenceFault::DuplicateMember { name: "b".into() }));
        for malformed in
            ["", "[]", "1", "{", r#"{"a":01}"#, r#"{"a":"\ud800"}"#, r#"{"a":1}x"#, r#"{"a":'1'}"#]
        {
            assert!(matches!(canonical(malformed), Err(LicenceFault::Malformed { .. })), "{malformed}");
        }
        let nested = |depth: usize| format!("{}{{}}{}", r#"{"a":"#.repeat(depth - 1), "}".repeat(depth - 1));
        assert!(canonical(&nested(DEEPEST)).is_ok());
        assert_eq!(canonical(&nested(DEEPEST + 1)), Err(LicenceFault::TooDeep { most: DEEPEST }));
        assert!(canonical(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The form means what the text meant, and is its own form.
        #[test]
        fn the_form_means_the_same(object in proptest::collection::btree_map("[^s].*", json(), 0..5)) {
            let value = serde_json::Value::Object(object.into_iter().collect());
            let once = form(&serde_json::to_string_pretty(&value).unwrap());
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&once).unwrap(), value);
            prop_assert_eq!(form(&once), once.clone());
        }
    }
}
