//! What a licence server is told of a protected publication (readium-lcp-server 1.14.0: `lcpserver/api`, and the server
//! of the second generation). The server keeps the key and makes licences with it; the profile of the encryption is its
//! own affair.

use crate::keys::KeyRecord;
use crate::package::Metadata;
use serde::Serialize;
use zeroize::Zeroizing;

/// Which generation of licence server is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// `PUT /contents/{id}`
    V1,
    /// `POST /publications`
    V2,
}

/// What is told, and how.
#[derive(Debug)]
pub struct Notification {
    /// The method of the request.
    pub method: &'static str,
    /// The path below the server's URL.
    pub path: String,
    /// The body: JSON, with the key in it.
    pub body: Zeroizing<String>,
}

/// Storage modes: the server is to store the file that it finds under a path; or it stands under its URL already.
const NOT_STORED: u8 = 0;
const STORED: u8 = 2;

#[derive(Serialize)]
struct V1<'n> {
    #[serde(rename = "content-id")]
    id: &'n str,
    #[serde(rename = "content-encryption-key")]
    key: &'n str,
    #[serde(rename = "storage-mode")]
    storage_mode: u8,
    #[serde(rename = "protected-content-location")]
    location: &'n str,
    #[serde(rename = "protected-content-disposition")]
    file_name: &'n str,
    #[serde(rename = "protected-content-type")]
    media_type: &'n str,
    #[serde(rename = "protected-content-length")]
    size: u64,
    #[serde(rename = "protected-content-sha256")]
    sha256: &'n str,
}

#[derive(Serialize)]
struct V2<'n> {
    #[serde(skip_serializing_if = "str::is_empty")]
    provider: &'n str,
    uuid: &'n str,
    alt_id: &'n str,
    title: &'n str,
    #[serde(skip_serializing_if = "String::is_empty")]
    authors: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    publishers: String,
    description: &'n str,
    encryption_key: &'n str,
    href: &'n str,
    content_type: &'n str,
    size: u64,
    checksum: &'n str,
}

impl Notification {
    /// Of a publication whose server finds it at `location` (a URL, or a path that it can read); `provider`: the
    /// provider's URI, for the second generation.
    #[must_use]
    pub fn new(
        generation: Generation,
        record: &KeyRecord,
        metadata: &Metadata,
        location: &str,
        provider: &str,
    ) -> Notification {
        let key = record.content_key.to_base64();
        let sha256 = record.protected.sha256.as_deref().unwrap_or_default();
        match generation {
            Generation::V1 => Notification {
                method: "PUT",
                path: format!("contents/{}", record.id),
                body: json(&V1 {
                    id: &record.id,
                    key: &key,
                    storage_mode: if location.contains("://") { STORED } else { NOT_STORED },
                    location,
                    file_name: &record.protected.name,
                    media_type: &record.media_type,
                    size: record.protected.size,
                    sha256,
                }),
            },
            Generation::V2 => Notification {
                method: "POST",
                path: "publications".into(),
                body: json(&V2 {
                    provider,
                    uuid: &record.id,
                    alt_id: stem(&record.source.name),
                    title: &record.title,
                    authors: metadata.authors.join(", "),
                    publishers: metadata.publishers.join(", "),
                    description: &metadata.description,
                    encryption_key: &key,
                    href: location,
                    content_type: &record.media_type,
                    size: record.protected.size,
                    checksum: sha256,
                }),
            },
        }
    }
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn json(value: &impl Serialize) -> Zeroizing<String> {
    Zeroizing::new(serde_json::to_string(value).expect("texts and numbers always serialise"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ContentKey, FileFacts};
    use serde_json::{Value, json};

    #[test]
    fn both_generations_get_what_lcpencrypt_tells_them() {
        let record = KeyRecord {
            id: "0d2f…".into(),
            title: "Flatland".into(),
            media_type: "application/epub+zip".into(),
            content_key: ContentKey::new([7; 32]),
            source: FileFacts { name: "flat.land.epub".into(), size: 1, sha256: None },
            protected: FileFacts { name: "flat.land.epub".into(), size: 2, sha256: Some("ab".into()) },
            fingerprint: String::new(),
        };
        let metadata = Metadata { authors: vec!["A".into(), "B".into()], ..Metadata::default() };
        let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
        let first = Notification::new(Generation::V1, &record, &metadata, "/out/a.epub", "");
        assert_eq!((first.method, first.path.as_str()), ("PUT", "contents/0d2f…"));
        assert_eq!(
            serde_json::from_str::<Value>(&first.body).unwrap(),
            json!({
                "content-id": "0d2f…", "content-encryption-key": key, "storage-mode": 0,
                "protected-content-location": "/out/a.epub", "protected-content-disposition": "flat.land.epub",
                "protected-content-type": "application/epub+zip", "protected-content-length": 2,
                "protected-content-sha256": "ab",
            })
        );
        let second = Notification::new(Generation::V2, &record, &metadata, "https://x/a.epub", "https://p");
        assert_eq!((second.method, second.path.as_str()), ("POST", "publications"));
        assert_eq!(
            serde_json::from_str::<Value>(&second.body).unwrap(),
            json!({
                "provider": "https://p", "uuid": "0d2f…", "alt_id": "flat.land", "title": "Flatland",
                "authors": "A, B", "description": "", "encryption_key": key, "href": "https://x/a.epub",
                "content_type": "application/epub+zip", "size": 2, "checksum": "ab",
            })
        );
    }
}
