//! Making a license: terms, keys and links become a signed document.
//!
//! Dates are written to the second in UTC, texts hold no character that the two readings of the canonical form escape
//! differently, and `user` is always there, if only with an `id`: so every program that reads the license into types and
//! writes it again, as license servers do, gets the bytes that were signed.

use super::License;
use super::canonical::{canonical, is_unambiguous};
use super::document::{
    Binary, Document, EncryptedKey, Encryption, Link, Relations, Rights, User, UserKeyHints,
};
use super::fault::LicenseFault;
use super::moment::Moment;
use super::signature::Signer;
use super::user_key::{BASIC_PROFILE, SHA_256, UserKey};
use crate::Error;
use crate::encryption_xml::AES_256_CBC;
use crate::keys::{KeyRecord, random_uuid};
use crate::package::href;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Map;

/// Media type of a status document.
const STATUS_MEDIA_TYPE: &str = "application/vnd.readium.license.status.v1.0+json";
/// The most that license servers hold in a right (a signed 32-bit number).
const MOST_RIGHTS: i64 = i32::MAX as i64;
/// Longer texts are nobody's name or hint.
const LONGEST_TEXT: usize = 4096;

/// What a license shall say, apart from the publication.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// Who gives the license: an absolute URI.
    pub provider: String,
    /// What reminds the reader of the passphrase.
    pub hint: String,
    /// Where more about the passphrase is; `{license_id}` and `{publication_id}` are replaced here and below.
    pub hint_url: String,
    /// Where the publication is.
    pub publication_url: String,
    /// Where the license's status document is, if it has one.
    pub status_url: Option<String>,
    /// Identifies the reader at this provider; may be empty.
    pub user_id: String,
    /// The reader's `email`, `name` and other fields.
    pub user_fields: Vec<(String, String)>,
    /// Names of the fields that are to be encrypted with the user key.
    pub encrypted_fields: Vec<String>,
    /// What the reader may do and when.
    pub rights: Rights,
}

impl Terms {
    /// Terms of this provider, with links to its address and no limits of rights.
    #[must_use]
    pub fn new(provider: &str) -> Terms {
        let base = provider.trim_end_matches('/');
        Terms {
            provider: provider.to_owned(),
            hint_url: provider.to_owned(),
            publication_url: format!("{base}/{{publication_id}}"),
            ..Terms::default()
        }
    }

    /// Sets one of the reader's fields, if there is a value for it.
    pub fn set_user_field(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.user_fields.retain(|(other, _)| other != name);
            self.user_fields.push((name.to_owned(), value));
        }
    }

    /// Encrypts of [`Terms::encrypted_fields`] only those that have a value.
    pub fn encrypt_given_fields(&mut self) {
        let fields = &self.user_fields;
        self.encrypted_fields.retain(|name| fields.iter().any(|(given, _)| given == name));
    }
}

/// Makes and signs a license for the publication of a record, of the basic profile, which is for tests: its user key is no secret function.
///
/// # Errors
/// [`LicenseFault::Term`] for a value that a license cannot hold; [`LicenseFault::Signing`]; no random bytes.
pub(super) fn issue(
    terms: &Terms,
    record: &KeyRecord,
    user_key: &UserKey,
    signer: &Signer,
) -> Result<License, Error> {
    let issued = Moment::now();
    let id = random_uuid()?;
    signer.certificate.check_dates(issued)?;
    let content_key = user_key.seal(record.content_key.bytes())?;
    let mut document = Document {
        provider: uri(&terms.provider, "the provider")?,
        issued,
        updated: None,
        encryption: Encryption {
            profile: BASIC_PROFILE.to_owned(),
            content_key: EncryptedKey {
                algorithm: AES_256_CBC.to_owned(),
                encrypted_value: Binary(content_key),
            },
            user_key: UserKeyHints {
                algorithm: SHA_256.to_owned(),
                text_hint: text(&terms.hint, "the hint")?,
                key_check: Binary(user_key.seal(id.as_bytes())?),
            },
        },
        links: links(terms, record, &id)?,
        user: user(terms, user_key)?,
        rights: rights(terms.rights)?,
        signature: None,
        id,
    };
    let unsigned = serde_json::to_string(&document).map_err(|_| LicenseFault::Signing)?;
    let signed_form = canonical(&unsigned)?;
    document.signature = Some(signer.sign(&signed_form)?);
    let text = serde_json::to_string_pretty(&document).map_err(|_| LicenseFault::Signing)? + "\n";
    let license = License::parse(text.as_bytes())?;
    if license.canonical != signed_form {
        return Err(LicenseFault::Signing.into());
    }
    Ok(license)
}

fn links(terms: &Terms, record: &KeyRecord, id: &str) -> Result<Vec<Link>, LicenseFault> {
    let link = |rel: &str, url: &str, what, media_type: &str| {
        let href = url.replace("{license_id}", id).replace("{publication_id}", &record.id);
        Ok::<Link, LicenseFault>(Link {
            rel: Relations::One(rel.to_owned()),
            href: uri(&href, what)?,
            media_type: Some(media_type.to_owned()),
            title: None,
            length: None,
            hash: None,
        })
    };
    let file = &record.protected;
    let mut links = vec![
        Link {
            title: Some(file.name.clone()).filter(|title| !title.is_empty() && is_unambiguous(title)),
            length: Some(file.size).filter(|length| *length > 0),
            hash: file.sha256.clone(),
            ..link("publication", &terms.publication_url, "the publication's URL", &record.media_type)?
        },
        link("hint", &terms.hint_url, "the hint's URL", "text/html")?,
    ];
    if let Some(url) = &terms.status_url {
        links.push(link("status", url, "the status document's URL", STATUS_MEDIA_TYPE)?);
    }
    Ok(links)
}

fn user(terms: &Terms, key: &UserKey) -> Result<User, Error> {
    let mut fields = Map::new();
    for (name, value) in &terms.user_fields {
        let name = text(name, "the name of a user field")?;
        if name.is_empty() || name == "id" || name == "encrypted" || fields.contains_key(&name) {
            let problem = format!(
                "is {name:?}, which is taken; a field is named email, name or with a URI of your own"
            );
            return Err(LicenseFault::Term { what: "the name of a user field", problem }.into());
        }
        let value = text(value, "a user field")?;
        let is_encrypted = terms.encrypted_fields.contains(&name);
        let value = if is_encrypted { STANDARD.encode(key.seal(value.as_bytes())?) } else { value };
        fields.insert(name, value.into());
    }
    let mut encrypted: Vec<String> = Vec::new();
    for name in &terms.encrypted_fields {
        if !fields.contains_key(name) {
            let problem = format!("{name:?} has no value; encrypt only fields that are given");
            return Err(LicenseFault::Term { what: "the user field", problem }.into());
        }
        if !encrypted.contains(name) {
            encrypted.push(name.clone());
        }
    }
    Ok(User { id: text(&terms.user_id, "the user's identifier")?, encrypted, fields })
}

fn rights(rights: Rights) -> Result<Option<Rights>, LicenseFault> {
    for (what, number) in [("the pages to print", rights.print), ("the characters to copy", rights.copy)] {
        if number.is_some_and(|number| !(0..=MOST_RIGHTS).contains(&number)) {
            let problem = format!("are a whole number from 0 to {MOST_RIGHTS}; leave it out for no limit");
            return Err(LicenseFault::Term { what, problem });
        }
    }
    if let (Some(start), Some(end)) = (rights.start, rights.end)
        && start >= end
    {
        let problem = format!("({start}) is not before their end ({end})");
        return Err(LicenseFault::Term { what: "the start of the rights", problem });
    }
    Ok(Some(rights).filter(|rights| *rights != Rights::default()))
}

/// `value`, if every program writes it as this one does.
fn text(value: &str, what: &'static str) -> Result<String, LicenseFault> {
    let problem = if !is_unambiguous(value) {
        "has a control character or line separator, which programs sign differently; leave it out".to_owned()
    } else if value.len() > LONGEST_TEXT {
        format!("is longer than {LONGEST_TEXT} bytes; shorten it")
    } else {
        return Ok(value.to_owned());
    };
    Err(LicenseFault::Term { what, problem })
}

/// `value`, if it looks like an absolute URI (RFC 3986, section 4.3).
fn uri(value: &str, what: &'static str) -> Result<String, LicenseFault> {
    let is_part = |rest: &str| {
        !rest.is_empty()
            && rest
                .chars()
                .all(|character| character.is_ascii_graphic() && !"<>\"{}|\\^`".contains(character))
    };
    match value.split_once(':') {
        Some((_, rest)) if href::has_scheme(value) && is_part(rest) => text(value, what),
        _ => {
            let problem =
                format!("is {value:?}, and should be an absolute URI such as https://provider.example.com/x");
            Err(LicenseFault::Term { what, problem })
        }
    }
}
