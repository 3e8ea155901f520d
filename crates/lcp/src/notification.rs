//! The notification of a license server of a protected publication (readium-lcp-server 1.14.0: `lcpserver/api`, and
//! edrlab/lcp-server 2.0.0: `pkg/api`). The server keeps the key and makes licenses with it; the profile of the encryption
//! is its own affair.

use crate::keys::{KeyRecord, stem};
use crate::package::href::URL_PATH;
use percent_encoding::utf8_percent_encode;
use serde::{Deserialize, Serialize};
use std::path::Path;
use zeroize::Zeroizing;

/// The generation of the license server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// `PUT /contents/{id}`
    V1,
    /// `POST /publications`, for an update `PUT /publications/{id}`
    V2,
}

/// The most bytes of a publication that a server of the second generation takes: it keeps the size in 32 bits.
pub(crate) const MOST_BYTES_V2: u64 = u32::MAX as u64;

/// The license server that a run notifies.
#[derive(Debug, Clone)]
pub struct Recipient {
    /// Its generation.
    pub generation: Generation,
    /// Its URL; `None` if notifications are only written down.
    pub url: Option<String>,
    /// The provider's URI, for the second generation.
    pub provider: String,
    /// What an output's path below the output folder is appended to: a URL, or the folder's path.
    pub base: String,
}

impl Recipient {
    /// Where the server or a reader finds an output, of which `relative` is the path below the output folder.
    pub(crate) fn location(&self, relative: &Path) -> String {
        let parts = relative.iter().map(|part| part.to_string_lossy());
        let joined = parts.collect::<Vec<_>>().join("/");
        let base = self.base.trim_end_matches('/');
        if base.contains("://") {
            format!("{base}/{}", utf8_percent_encode(&joined, URL_PATH))
        } else {
            format!("{base}/{joined}")
        }
    }
}

/// What a key record keeps for notifying a license server, now or later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The server's generation.
    pub version: Generation,
    /// Its URL; `None` if the notification was only written down.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
    /// The provider's URI.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub provider: String,
    /// Where the server finds the publication: a URL, or a path that it can read.
    pub location: String,
    /// The publication's authors.
    pub authors: Vec<String>,
    /// Its publishers.
    pub publishers: Vec<String>,
    /// Its description.
    pub description: String,
    /// Whether the server is expected to know the publication.
    pub update: bool,
    /// Whether the server was notified; without a server, whether this was written to the notification file.
    pub sent: bool,
}

/// A request to a license server.
#[derive(Debug)]
pub struct Notification {
    /// The method of the request.
    pub method: &'static str,
    /// The path below the server's URL.
    pub path: String,
    /// The body: JSON, with the key in it.
    pub body: Zeroizing<String>,
}

/// Storage modes: the server is to store the file at a path, or the file is at its URL already.
const NOT_STORED: u8 = 0;
const STORED: u8 = 2;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct V1<'n> {
    content_id: &'n str,
    content_encryption_key: &'n str,
    storage_mode: u8,
    protected_content_location: &'n str,
    protected_content_disposition: &'n str,
    protected_content_type: &'n str,
    protected_content_length: u64,
    protected_content_sha256: &'n str,
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
    /// The notification that `notice` describes, of the publication that `record` is about.
    #[must_use]
    pub fn new(record: &KeyRecord, notice: &Notice) -> Notification {
        let key = record.content_key.to_base64();
        let sha256 = record.protected.sha256.as_deref().unwrap_or_default();
        let location = notice.location.as_str();
        match notice.version {
            Generation::V1 => Notification {
                method: "PUT",
                path: format!("contents/{}", utf8_percent_encode(&record.id, URL_PATH)),
                body: json(&V1 {
                    content_id: &record.id,
                    content_encryption_key: &key,
                    storage_mode: if location.contains("://") { STORED } else { NOT_STORED },
                    protected_content_location: location,
                    protected_content_disposition: &record.protected.name,
                    protected_content_type: &record.media_type,
                    protected_content_length: record.protected.size,
                    protected_content_sha256: sha256,
                }),
            },
            Generation::V2 => Notification {
                method: if notice.update { "PUT" } else { "POST" },
                path: match notice.update {
                    true => format!("publications/{}", utf8_percent_encode(&record.id, URL_PATH)),
                    false => "publications".into(),
                },
                body: json(&V2 {
                    provider: &notice.provider,
                    uuid: &record.id,
                    alt_id: record.alt_id(),
                    // The server refuses a publication without a title.
                    title: if record.title.is_empty() { stem(&record.source.name) } else { &record.title },
                    authors: notice.authors.join(", "),
                    publishers: notice.publishers.join(", "),
                    description: &notice.description,
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

fn json(value: &impl Serialize) -> Zeroizing<String> {
    Zeroizing::new(serde_json::to_string(value).expect("texts and numbers always serialise"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{ContentKey, FileFacts};
    use serde_json::{Value, json};

    fn record() -> KeyRecord {
        KeyRecord {
            id: "0d2f".into(),
            title: "Flatland".into(),
            media_type: "application/epub+zip".into(),
            content_key: ContentKey::new([7; 32]),
            source: FileFacts { name: "flat.land.epub".into(), size: 1, sha256: None },
            protected: FileFacts { name: "flat.land.epub".into(), size: 2, sha256: Some("ab".into()) },
            fingerprint: String::new(),
            alt_id: None,
            output: None,
            notice: None,
        }
    }

    fn notice(version: Generation, location: &str, provider: &str) -> Notice {
        Notice {
            version,
            server: None,
            provider: provider.into(),
            location: location.into(),
            authors: vec!["A".into(), "B".into()],
            publishers: Vec::new(),
            description: String::new(),
            update: false,
            sent: false,
        }
    }

    #[test]
    fn both_generations_get_what_lcpencrypt_tells_them() {
        let key = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
        let first = Notification::new(&record(), &notice(Generation::V1, "/out/a.epub", ""));
        assert_eq!((first.method, first.path.as_str()), ("PUT", "contents/0d2f"));
        assert_eq!(
            serde_json::from_str::<Value>(&first.body).unwrap(),
            json!({
                "content-id": "0d2f", "content-encryption-key": key, "storage-mode": 0,
                "protected-content-location": "/out/a.epub", "protected-content-disposition": "flat.land.epub",
                "protected-content-type": "application/epub+zip", "protected-content-length": 2,
                "protected-content-sha256": "ab",
            })
        );
        let v2 = notice(Generation::V2, "https://x/a.epub", "https://p");
        let second = Notification::new(&record(), &v2);
        assert_eq!((second.method, second.path.as_str()), ("POST", "publications"));
        assert_eq!(
            serde_json::from_str::<Value>(&second.body).unwrap(),
            json!({
                "provider": "https://p", "uuid": "0d2f", "alt_id": "flat.land", "title": "Flatland",
                "authors": "A, B", "description": "", "encryption_key": key, "href": "https://x/a.epub",
                "content_type": "application/epub+zip", "size": 2, "checksum": "ab",
            })
        );
        let update = Notification::new(&record(), &Notice { update: true, ..v2 });
        assert_eq!((update.method, update.path.as_str()), ("PUT", "publications/0d2f"));
        assert_eq!(update.body, second.body);
    }

    #[test]
    fn the_shops_identifier_and_a_title_are_always_there() {
        let record = KeyRecord { alt_id: Some("978".into()), title: String::new(), ..record() };
        let told = Notification::new(&record, &notice(Generation::V2, "https://x/a.epub", ""));
        let body: Value = serde_json::from_str(&told.body).unwrap();
        assert_eq!((&body["alt_id"], &body["title"]), (&json!("978"), &json!("flat.land")));
    }

    #[test]
    fn a_location_below_a_url_is_escaped_and_one_below_a_folder_is_not() {
        let recipient = |base: &str| Recipient {
            generation: Generation::V2,
            url: None,
            provider: String::new(),
            base: base.into(),
        };
        let relative = Path::new("a shelf/é.epub");
        assert_eq!(recipient("https://x/y/").location(relative), "https://x/y/a%20shelf/%C3%A9.epub");
        assert_eq!(recipient("/out").location(relative), "/out/a shelf/é.epub");
    }
}
