//! What a license says, as types (LCP 1.0, section 3, and its JSON schema).
//!
//! This is a view: members that are not known here are passed over, and survive because a license that was read is only
//! ever copied as the text it came as.

use super::fault::LicenseFault;
use super::moment::Moment;
use super::user_key::SHA_256;
use crate::encryption_xml::AES_256_CBC;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A whole license.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Who gives the license: a URI.
    pub provider: String,
    /// The license's identifier, usually a UUID.
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
    ///
    /// ```
    /// use cipherloom_lcp::license::License;
    ///
    /// let license = License::parse(
    ///     br#"{
    ///         "provider": "https://provider.example.com", "id": "0d2f", "issued": "2026-11-04T01:08:15Z",
    ///         "encryption": {
    ///             "profile": "http://readium.org/lcp/basic-profile",
    ///             "content_key": { "algorithm": "http://www.w3.org/2001/04/xmlenc#aes256-cbc", "encrypted_value": "" },
    ///             "user_key": { "algorithm": "http://www.w3.org/2001/04/xmlenc#sha256", "text_hint": "", "key_check": "" }
    ///         },
    ///         "links": [{ "rel": "publication", "href": "https://cdn.example.com/flatland.epub" }]
    ///     }"#,
    /// )?;
    /// let link = license.document().link("publication");
    /// assert_eq!(link.map(|link| link.href.as_str()), Some("https://cdn.example.com/flatland.epub"));
    /// assert!(license.document().link("status").is_none());
    /// # Ok::<(), cipherloom_lcp::license::LicenseFault>(())
    /// ```
    #[must_use]
    pub fn link(&self, rel: &str) -> Option<&Link> {
        self.links.iter().find(|link| link.rel.all().iter().any(|own| own == rel))
    }

    /// When the text was last signed.
    pub(crate) fn last_changed(&self) -> Moment {
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

impl Encryption {
    /// Whether the algorithms of both keys are those that every profile uses.
    pub(super) fn check_algorithms(&self) -> Result<(), LicenseFault> {
        for (what, found, known) in [
            ("content key", &self.content_key.algorithm, AES_256_CBC),
            ("user key", &self.user_key.algorithm, SHA_256),
        ] {
            if found != known {
                return Err(LicenseFault::Algorithm { what, found: found.clone(), known });
            }
        }
        Ok(())
    }
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
    /// The license's `id`, encrypted with the user key.
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
    /// SHA-256: in hexadecimal as license servers write it, or in base64 as the schema has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// One relation in the licenses that servers write; the schema allows a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Relations {
    /// One relation.
    One(String),
    /// A list of relations.
    Several(Vec<String>),
}

impl Relations {
    /// All relations, in their order.
    ///
    /// ```
    /// use cipherloom_lcp::license::Relations;
    ///
    /// assert_eq!(Relations::One("hint".into()).all(), ["hint"]);
    /// assert_eq!(Relations::Several(vec!["hint".into(), "alternate".into()]).all(), ["hint", "alternate"]);
    /// ```
    #[must_use]
    pub fn all(&self) -> &[String] {
        match self {
            Relations::One(one) => std::slice::from_ref(one),
            Relations::Several(several) => several,
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
        let link = |text: &str| serde_json::from_str::<Link>(text);
        let digits = link(r#"{"rel":"publication","href":"x","length":"264929"}"#).unwrap();
        let number = link(r#"{"rel":["a","publication"],"href":"x","length":264929}"#).unwrap();
        assert_eq!((digits.length, number.length), (Some(264_929), Some(264_929)));
        assert_eq!(number.rel.all(), ["a", "publication"]);
        assert!(link(r#"{"rel":"a","href":"x","length":-1}"#).is_err());
    }

    #[test]
    fn relations_are_written_as_they_were_read() {
        for text in [r#""hint""#, r#"["a","b"]"#] {
            let relations: Relations = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&relations).unwrap(), text);
        }
    }
}
