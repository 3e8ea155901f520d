//! What a licence says, as types (LCP 1.0, section 3, and its JSON schema).
//!
//! This is a view: members that are not known here are passed over, and survive because a licence that was read is only
//! ever copied as the text it came as.

use super::moment::Moment;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A whole licence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Who gives the licence: a URI.
    pub provider: String,
    /// The licence's identifier, usually a UUID.
    pub id: String,
    /// When it was made.
    pub issued: Moment,
    /// When it was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated: Option<Moment>,
    /// The keys, encrypted.
    pub encryption: Encryption,
    /// Where related things are.
    pub links: Vec<Link>,
    /// Who may read. Servers always write it, if only with an empty `id`.
    #[serde(default)]
    pub user: User,
    /// What the reader may do and when; nothing is limited without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Rights>,
    /// The signature; `None` only before signing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

impl Document {
    /// The first link of this relation.
    #[must_use]
    pub fn link(&self, rel: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.rel.0.iter().any(|own| own == rel))
    }

    /// When the text was last signed.
    #[must_use]
    pub fn last_changed(&self) -> Moment {
        self.updated.unwrap_or(self.issued)
    }
}

/// `encryption`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Encryption {
    /// The encryption profile's URI.
    pub profile: String,
    /// The publication's key, encrypted with the user key.
    pub content_key: EncryptedKey,
    /// How the user key is made and recognised.
    pub user_key: UserKeyHints,
}

/// `encryption/content_key`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EncryptedKey {
    /// URI of the cipher.
    pub algorithm: String,
    /// 64 bytes: initialisation vector, two blocks of key, one of padding.
    pub encrypted_value: Binary,
}

/// `encryption/user_key`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UserKeyHints {
    /// URI of the hash that makes the user key from the passphrase.
    pub algorithm: String,
    /// What reminds the reader of the passphrase.
    pub text_hint: String,
    /// The licence's `id`, encrypted with the user key.
    pub key_check: Binary,
}

/// One of `links`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// The relation, or several.
    pub rel: Relations,
    /// A URI, or a URI template.
    pub href: String,
    /// Media type.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// A title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Length in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "length")]
    pub length: Option<u64>,
    /// SHA-256: in hexadecimal as licence servers write it, or in base64 as the schema has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Link {
    /// The SHA-256 that the link names, in whichever of the two spellings.
    #[must_use]
    pub fn sha256(&self) -> Option<[u8; 32]> {
        let text = self.hash.as_deref()?;
        if text.len() != 64 {
            return STANDARD.decode(text).ok()?.try_into().ok();
        }
        let mut hash = [0; 32];
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |at: usize| char::from(digits[at]).to_digit(16);
            *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
        }
        Some(hash)
    }
}

/// One relation in the licences that servers write; the schema allows a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "OneOrMore", into = "OneOrMore")]
pub struct Relations(pub Vec<String>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl From<OneOrMore> for Relations {
    fn from(either: OneOrMore) -> Relations {
        match either {
            OneOrMore::One(one) => Relations(vec![one]),
            OneOrMore::More(more) => Relations(more),
        }
    }
}

impl From<Relations> for OneOrMore {
    fn from(relations: Relations) -> OneOrMore {
        match <[String; 1]>::try_from(relations.0) {
            Ok([one]) => OneOrMore::One(one),
            Err(more) => OneOrMore::More(more),
        }
    }
}

/// `user`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// Identifies the reader at this provider.
    #[serde(default)]
    pub id: String,
    /// The names of the members that are encrypted with the user key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encrypted: Vec<String>,
    /// `email`, `name` and whatever else there is.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// `rights`. An absent member limits nothing, and neither does a negative number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Pages that may be printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub print: Option<i64>,
    /// Characters that may be copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<i64>,
    /// When reading may begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Moment>,
    /// When it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Moment>,
}

/// `signature`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The provider's certificate: X.509, DER.
    pub certificate: Binary,
    /// The signature of the canonical form.
    pub value: Binary,
    /// URI of the signature's algorithm.
    pub algorithm: String,
}

/// Bytes that JSON holds in base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary(pub Vec<u8>);

impl Serialize for Binary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Binary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Binary, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD
            .decode(&text)
            .map(Binary)
            .map_err(|error| D::Error::custom(format_args!("not base64: {error}")))
    }
}

/// A number, or the digits of one in quotation marks, as the specification's own example has it.
fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Digits(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(Some(number)),
        Either::Digits(digits) => digits.parse().map(Some).map_err(D::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_read_in_every_spelling() {
        let link = |text: &str| serde_json::from_str::<Link>(text).unwrap();
        let hex = link(&format!(
            r#"{{"rel":"publication","href":"x","length":"264929","hash":"{}"}}"#,
            "Ab".repeat(32)
        ));
        let base64 = link(&format!(
            r#"{{"rel":["a","publication"],"href":"x","length":264929,"hash":"{}"}}"#,
            STANDARD.encode([0xab; 32])
        ));
        assert_eq!((hex.length, hex.sha256()), (Some(264_929), Some([0xab; 32])));
        assert_eq!((base64.length, base64.sha256()), (Some(264_929), Some([0xab; 32])));
        assert_eq!(base64.rel.0, ["a", "publication"]);
        assert_eq!(link(r#"{"rel":"a","href":"x","hash":"abc"}"#).sha256(), None);
        assert_eq!(link(&format!(r#"{{"rel":"a","href":"x","hash":"{}"}}"#, "é".repeat(32))).sha256(), None);
        assert!(serde_json::from_str::<Link>(r#"{"rel":"a","href":"x","length":-1}"#).is_err());
    }

    #[test]
    fn a_single_relation_is_written_without_a_list() {
        let text = |relations: &[&str]| {
            serde_json::to_string(&Relations(relations.iter().map(|&rel| rel.into()).collect())).unwrap()
        };
        assert_eq!([text(&["hint"]), text(&["a", "b"])], [r#""hint""#, r#"["a","b"]"#]);
    }
}
