//! Content keys, and the key file that keeps them: without its key a protected publication is lost, so the record of a
//! key is on stable storage before the publication gets its name. A record also identifies the publication it is about.

mod file;

pub use file::{KeyFile, make_private, open_private};

use crate::Error;
use crate::notification::Notice;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// The AES-256 key under which a publication's resources are encrypted; wiped when dropped.
///
/// ```
/// use cipherloom_lcp::ContentKey;
///
/// let key = ContentKey::from_base64("WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=");
/// assert_eq!(key, Some(ContentKey::new([0x5a; 32])));
/// ```
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct ContentKey([u8; 32]);

impl ContentKey {
    /// A new random key.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub(crate) fn generate() -> Result<ContentKey, Error> {
        let mut key = ContentKey([0; 32]);
        getrandom::fill(&mut key.0).map_err(cipherloom::Error::Random)?;
        Ok(key)
    }

    /// The key that `text` holds in base64; `None` if it holds no key.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<ContentKey> {
        let bytes = STANDARD.decode(text).map(Zeroizing::new).ok()?;
        <[u8; 32]>::try_from(bytes.as_slice()).ok().map(ContentKey)
    }

    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> ContentKey {
        ContentKey(bytes)
    }

    /// The key's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key in base64, as license servers take it.
    pub(crate) fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(self.0))
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ContentKey(…)")
    }
}

impl Serialize for ContentKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for ContentKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContentKey, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        ContentKey::from_base64(&text)
            .ok_or_else(|| serde::de::Error::custom("a content key is 32 bytes in base64"))
    }
}

/// A file as the record remembers it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// The file's name without its folder.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// SHA-256 in hexadecimal digits; absent with `--no-checksum`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
}

/// One line of a key file. A publication that was updated, or of which a license server was notified, has several lines
/// with the same identifier and key; the last one counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The publication's identifier, by which a license server knows it: a random UUID unless one was given.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The protected publication's media type.
    pub media_type: String,
    /// The key.
    pub content_key: ContentKey,
    /// What was protected.
    pub source: FileFacts,
    /// What came of it.
    pub protected: FileFacts,
    /// Identifies the protected publication, with or without a license in it: see
    /// [`crate::Protection::fingerprint`].
    pub fingerprint: String,
    /// The identifier by which a shop knows the publication.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alt_id: Option<String>,
    /// The output's absolute path.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output: Option<PathBuf>,
    /// What a license server is notified of, and whether it was.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub notice: Option<Notice>,
}

impl KeyRecord {
    /// The shop's identifier; in records that hold none it is the source's name without its extension.
    #[must_use]
    pub fn alt_id(&self) -> &str {
        self.alt_id.as_deref().unwrap_or_else(|| stem(&self.source.name))
    }

    /// The record among `records` that belongs to the protected publication in the file at `path`.
    ///
    /// # Errors
    /// [`Error::NotProtected`], [`Error::KeyMissing`], and those of reading an archive.
    pub fn of_publication<'r>(records: &'r [KeyRecord], path: &Path) -> Result<&'r KeyRecord, Error> {
        let fingerprint = fingerprint_of(path)?;
        records.iter().rfind(|record| record.fingerprint == fingerprint).ok_or(Error::KeyMissing)
    }
}

/// The fingerprint of the protected publication in the file at `path`.
pub(crate) fn fingerprint_of(path: &Path) -> Result<String, Error> {
    let (archive, protection) = crate::embed::open(path)?;
    Ok(protection.fingerprint(&archive))
}

/// A file's name without its extension.
pub(crate) fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// A random UUID (RFC 9562, version 4).
///
/// # Errors
/// If the operating system gives no random bytes.
pub(crate) fn random_uuid() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(cipherloom::Error::Random)?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let digits = crate::package::hex(&bytes);
    Ok([&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_itself_nowhere_but_in_its_file() {
        let key = ContentKey::generate().unwrap();
        assert_eq!(format!("{key:?}"), "ContentKey(…)");
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(serde_json::from_str::<ContentKey>(&json).unwrap(), key);
        for bad in ["\"\"", "\"AAAA\"", "\"!\"", "7"] {
            assert!(serde_json::from_str::<ContentKey>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn identifiers_are_of_version_4() {
        let id = random_uuid().unwrap();
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&id.as_bytes()[19]), "{id}");
    }
}
