//! The JSON form of a keyset: protobuf's JSON mapping of Tink's `Keyset` message.
//!
//! ```text
//! {"primaryKeyId": 1, "key": [{"keyData": {"typeUrl": "…", "value": "base64", "keyMaterialType": "SYMMETRIC"},
//!                              "status": "ENABLED", "keyId": 1, "outputPrefixType": "RAW"}]}
//! ```
//!
//! The mapping (<https://protobuf.dev/programming-guides/json/>) lets writers choose: snake_case names, numbers as
//! strings, enums as numbers, base64 of either alphabet with or without padding, `null` for a default. All of these
//! are read; fields that Tink does not have are refused, as Tink for Go and Python do. Written is what Tink writes.

use super::keyset::{Entry, KeyStatus, Keyset};
use crate::Error;
use crate::error::KeyFault;
use base64::{
    Engine as _, alphabet,
    engine::{
        DecodePaddingMode,
        general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD},
    },
};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use zeroize::Zeroizing;

/// `OutputPrefixType`: kept to be written back, without meaning for streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputPrefix {
    Tink,
    Legacy,
    Raw,
    Crunchy,
    WithIdRequirement,
}

/// `KeyMaterialType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MaterialType {
    Unknown,
    Symmetric,
    AsymmetricPrivate,
    AsymmetricPublic,
    Remote,
}

/// Names and numbers of an enum; the position in `ALL` is its order of declaration, not its number.
trait ProtoEnum: Copy + PartialEq + 'static {
    const ALL: &'static [(&'static str, u64, Self)];

    fn find(name: &Name) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(text, number, _)| match name {
                Name::Null(()) => *number == 0,
                Name::Number(given) => given == number,
                Name::Text(given) => given == text,
            })
            .map(|entry| entry.2)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|entry| entry.2 == self).map_or("", |entry| entry.0)
    }
}

impl ProtoEnum for KeyStatus {
    const ALL: &'static [(&'static str, u64, Self)] =
        &[("ENABLED", 1, Self::Enabled), ("DISABLED", 2, Self::Disabled), ("DESTROYED", 3, Self::Destroyed)];
}

impl ProtoEnum for OutputPrefix {
    const ALL: &'static [(&'static str, u64, Self)] = &[
        ("TINK", 1, Self::Tink),
        ("LEGACY", 2, Self::Legacy),
        ("RAW", 3, Self::Raw),
        ("CRUNCHY", 4, Self::Crunchy),
        ("WITH_ID_REQUIREMENT", 5, Self::WithIdRequirement),
    ];
}

impl ProtoEnum for MaterialType {
    const ALL: &'static [(&'static str, u64, Self)] = &[
        ("UNKNOWN_KEYMATERIAL", 0, Self::Unknown),
        ("SYMMETRIC", 1, Self::Symmetric),
        ("ASYMMETRIC_PRIVATE", 2, Self::AsymmetricPrivate),
        ("ASYMMETRIC_PUBLIC", 3, Self::AsymmetricPublic),
        ("REMOTE", 4, Self::Remote),
    ];
}

/// Reads the JSON; whether the keys fit together is for the caller to check.
pub(super) fn read(json: &[u8]) -> Result<Keyset, Error> {
    if is_binary(json) {
        return Err(Error::KeysetBinary);
    }
    let file: KeysetJson = serde_json::from_slice(json).map_err(|error| Error::KeysetSyntax {
        // Serde's own words may quote the value it stumbled over, and that may be the secret.
        problem: match error.classify() {
            serde_json::error::Category::Eof => "the text ends too early",
            serde_json::error::Category::Data => "a field is unknown, repeated or of the wrong type",
            _ => "the text is not JSON",
        },
        line: error.line(),
        column: error.column(),
    })?;
    if file.encrypted_keyset.is_some() || file.keyset_info.is_some() {
        return Err(Error::KeysetEncrypted);
    }
    let keys = file.key.unwrap_or_default().into_iter().map(KeyJson::into_entry).collect::<Result<_, _>>()?;
    Ok(Keyset { primary_id: file.primary_key_id.0, keys })
}

/// Whether this is a `Keyset` message, which begins with the field `primary_key_id` and names its keys' types.
fn is_binary(keyset: &[u8]) -> bool {
    let name = b"type.googleapis.com/google.crypto.tink.";
    keyset.first() == Some(&0x08) && keyset.windows(name.len()).any(|window| window == name)
}

/// Writes the JSON on one line. The text's capacity is counted first: growing would leave copies of keys behind.
pub(super) fn write(keyset: &Keyset) -> Zeroizing<String> {
    let needed: usize =
        keyset.keys.iter().map(|entry| 200 + 2 * entry.type_url.len() + 2 * entry.value.len()).sum();
    let mut json = Zeroizing::new(String::with_capacity(64 + needed));
    json.push_str(&format!("{{\"primaryKeyId\":{},\"key\":[", keyset.primary_id));
    for (position, entry) in keyset.keys.iter().enumerate() {
        if position > 0 {
            json.push(',');
        }
        json.push_str("{\"keyData\":{\"typeUrl\":");
        json.push_str(&serde_json::Value::from(entry.type_url.as_str()).to_string());
        json.push_str(",\"value\":\"");
        STANDARD.encode_string(entry.value.as_slice(), &mut json);
        json.push_str(&format!(
            "\",\"keyMaterialType\":\"{}\"}},\"status\":\"{}\",\"keyId\":{},\"outputPrefixType\":\"{}\"}}",
            entry.material.name(),
            entry.status.name(),
            entry.id,
            entry.prefix.name()
        ));
    }
    json.push_str("]}\n");
    json
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeysetJson {
    #[serde(default, alias = "primary_key_id")]
    primary_key_id: Number,
    #[serde(default)]
    key: Option<Vec<KeyJson>>,
    #[serde(default, alias = "encrypted_keyset")]
    encrypted_keyset: Option<IgnoredAny>,
    #[serde(default, alias = "keyset_info")]
    keyset_info: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyJson {
    #[serde(default, alias = "key_data")]
    key_data: Option<KeyDataJson>,
    #[serde(default)]
    status: Name,
    #[serde(default, alias = "key_id")]
    key_id: Number,
    #[serde(default, alias = "output_prefix_type")]
    output_prefix_type: Name,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyDataJson {
    #[serde(default, alias = "type_url")]
    type_url: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    value: Zeroizing<String>,
    #[serde(default, alias = "key_material_type")]
    key_material_type: Name,
}

impl KeyJson {
    fn into_entry(self) -> Result<Entry, Error> {
        let id = self.key_id.0;
        let refuse = |fault| Error::KeysetKey { id, fault };
        let data = self.key_data.unwrap_or_default();
        let mut entry = Entry {
            id,
            status: KeyStatus::find(&self.status).ok_or(refuse(KeyFault::Status))?,
            prefix: OutputPrefix::find(&self.output_prefix_type).ok_or(refuse(KeyFault::Prefix))?,
            material: MaterialType::find(&data.key_material_type).ok_or(refuse(KeyFault::Material))?,
            type_url: data.type_url.unwrap_or_default(),
            value: decode(&data.value).ok_or(refuse(KeyFault::Base64))?,
            key: None,
        };
        entry.understand()?;
        Ok(entry)
    }
}

/// An enum's value by name or number, or a number as its decimal digits; `null` is the default.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Null(()),
    Number(u64),
    Text(String),
}

impl Default for Name {
    fn default() -> Self {
        Self::Null(())
    }
}

/// A uint32, written as a number or as its decimal digits.
#[derive(Deserialize, Default)]
#[serde(try_from = "Name")]
struct Number(u32);

impl TryFrom<Name> for Number {
    type Error = &'static str;

    fn try_from(name: Name) -> Result<Self, Self::Error> {
        let number = match name {
            Name::Null(()) => Some(0),
            Name::Number(number) => u32::try_from(number).ok(),
            Name::Text(digits) => digits.parse().ok(),
        };
        number.map(Number).ok_or("not a 32-bit number")
    }
}

fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Zeroizing<String>, D::Error> {
    Ok(Zeroizing::new(Option::deserialize(deserializer)?.unwrap_or_default()))
}

/// Decodes base64 of either alphabet into memory that is zeroised.
fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let is_url_safe = text.contains(['-', '_']);
    let letters = if is_url_safe { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    let mut bytes = Zeroizing::new(vec![0; base64::decoded_len_estimate(text.len())]);
    let length = GeneralPurpose::new(letters, LENIENT).decode_slice(text, &mut bytes).ok()?;
    bytes.truncate(length);
    Some(bytes)
}
