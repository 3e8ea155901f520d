//! Readium packages: a zip with `manifest.json`, a Readium Web Publication Manifest (readium/webpub-manifest), in which
//! each protected resource says so itself (Readium LCP, section 5.2):
//!
//! ```json
//! { "href": "track%201.mp3", "type": "audio/mpeg",
//!   "properties": { "encrypted": { "scheme": "http://readium.org/2014/01/lcp",
//!     "algorithm": "http://www.w3.org/2001/04/xmlenc#aes256-cbc", "originalLength": 1234, "compression": "deflate" } } }
//! ```
//!
//! The manifest is kept as the JSON it is, so keys that nobody here knows survive.

use super::{Metadata, href, media};
use crate::Error;
use crate::container::Archive;
use crate::encryption_xml::AES_256_CBC;
use serde_json::{Map, Value, json};

/// The manifest's entry.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The entry that holds a Readium package's license.
pub(crate) const LICENSE: &str = "license.lcpl";
/// The protection scheme's URI.
pub(crate) const LCP: &str = "http://readium.org/2014/01/lcp";

/// What the members of a manifest mean.
pub(crate) const CONTEXT: &str = "https://readium.org/webpub-manifest/context.jsonld";

const MOST_MANIFEST: u64 = 4 << 20;

/// The lists of links whose targets may be encrypted.
const CONTENT: [&str; 2] = ["readingOrder", "resources"];

/// The kind of Readium package, which decides names and media types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Profile {
    /// No profile, or an unknown one.
    WebPublication,
    /// Audiobook.
    Audiobook,
    /// Digital visual narrative (comics).
    Divina,
    /// A wrapped PDF.
    Pdf,
}

/// A link of the manifest and the entry that it leads to.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) entry: usize,
    pub(crate) is_compressible: bool,
    pub(crate) encrypted: Option<Encrypted>,
    pub(crate) is_cover: bool,
}

/// `properties.encrypted`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Encrypted {
    pub(crate) scheme: String,
    pub(crate) algorithm: String,
    pub(crate) original_len: Option<u64>,
    pub(crate) is_deflated: bool,
}

/// Reads and parses the manifest.
pub(crate) fn manifest(archive: &Archive) -> Result<Value, Error> {
    let bytes = super::epub::document(archive, MANIFEST, MOST_MANIFEST)?;
    parse(MANIFEST, &bytes)
}

/// A JSON object.
pub(crate) fn parse(part: &str, bytes: &[u8]) -> Result<Value, Error> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let what = match error.classify() {
            serde_json::error::Category::Eof => "it ends too early",
            _ => "it is not JSON",
        };
        Error::json(part, format!("{what} at line {}, column {}", error.line(), error.column()))
    })?;
    if !value.is_object() {
        return Err(Error::json(part, "it is not a JSON object"));
    }
    Ok(value)
}

/// The links to entries whose content may be encrypted, in the manifest's order. Links to what is not in the package
/// are left out.
pub(crate) fn links(manifest: &Value, archive: &Archive) -> Result<Vec<Link>, Error> {
    let mut found = Vec::new();
    for list in CONTENT {
        visit(manifest.get(list), &mut |link| {
            if let Some(entry) = target(link, archive) {
                let typed = link.get("type").and_then(Value::as_str);
                let media_type = typed.unwrap_or_else(|| media::of_name(&archive.entries()[entry].name));
                found.push(Link {
                    entry,
                    is_compressible: media::is_compressible(media_type),
                    encrypted: encrypted(link),
                    is_cover: has_relation(link, "cover"),
                });
            }
        })
        .map_err(|problem| Error::json(MANIFEST, format!("{list} {problem}")))?;
    }
    if manifest.get(CONTENT[0]).is_none() {
        return Err(Error::json(MANIFEST, "it has no readingOrder"));
    }
    Ok(found)
}

/// Says of every link to one of these entries that it is encrypted. `protected` gives an entry's original length and
/// whether it is deflated, if it is protected.
pub(crate) fn mark(
    manifest: &mut Value,
    archive: &Archive,
    protected: &dyn Fn(usize) -> Option<(u64, bool)>,
) {
    each_link(manifest, &mut |link| {
        let Some((original_len, is_deflated)) = target(link, archive).and_then(protected) else { return };
        let mut encrypted =
            json!({ "scheme": LCP, "algorithm": AES_256_CBC, "originalLength": original_len });
        if is_deflated {
            encrypted["compression"] = "deflate".into();
        }
        member(link, "properties").insert("encrypted".into(), encrypted);
    });
}

/// Says of no link any more that it is protected with LCP.
pub(crate) fn unmark(manifest: &mut Value) {
    each_link(manifest, &mut |link| {
        let is_protected = encrypted(link).is_some_and(|encrypted| encrypted.scheme == LCP);
        let properties = link.get_mut("properties").filter(|_| is_protected);
        let Some(properties) = properties.and_then(Value::as_object_mut) else { return };
        properties.remove("encrypted");
        if properties.is_empty() {
            link.remove("properties");
        }
    });
}

/// Visits the links to content, and their alternates.
fn each_link(manifest: &mut Value, visitor: &mut dyn FnMut(&mut Map<String, Value>)) {
    for list in CONTENT {
        if let Some(links) = manifest.get_mut(list) {
            visit_mut(links, visitor);
        }
    }
}

/// What the manifest says of the publication.
pub(crate) fn metadata(manifest: &Value) -> (Metadata, Option<Profile>) {
    let Some(said) = manifest.get("metadata") else { return (Metadata::default(), None) };
    let text = |key: &str| said.get(key).map(localised).unwrap_or_default();
    let many = |key: &str| match said.get(key) {
        None => Vec::new(),
        Some(Value::Array(list)) => list.iter().map(named).filter(|name| !name.is_empty()).collect(),
        Some(one) => vec![named(one)],
    };
    let metadata = Metadata {
        title: text("title"),
        authors: many("author"),
        publishers: many("publisher"),
        description: text("description"),
    };
    let conforms = said.get("conformsTo").map(one_or_many).unwrap_or_default();
    let profile = conforms.iter().find_map(|uri| {
        match uri.as_str()?.strip_prefix("https://readium.org/webpub-manifest/profiles/")? {
            "audiobook" => Some(Profile::Audiobook),
            "divina" => Some(Profile::Divina),
            "pdf" => Some(Profile::Pdf),
            _ => None,
        }
    });
    (metadata, profile)
}

/// The manifest of a package that wraps one PDF.
pub(crate) fn of_pdf(name: &str, metadata: &Metadata, len: u64) -> Value {
    json!({
        "@context": CONTEXT,
        "metadata": {
            "@type": "http://schema.org/Book",
            "conformsTo": "https://readium.org/webpub-manifest/profiles/pdf",
            "title": metadata.title,
        },
        "links": [],
        "readingOrder": [{
            "href": name,
            "title": "publication",
            "type": "application/pdf",
            "properties": {
                "encrypted": { "scheme": LCP, "algorithm": AES_256_CBC, "originalLength": len },
            },
        }],
    })
}

/// One value, or the values of a list.
pub(super) fn one_or_many(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    }
}

/// A text, or the first of a text in several languages.
fn localised(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(languages) => {
            languages.values().next().and_then(Value::as_str).unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// A name, or a contributor's name.
fn named(value: &Value) -> String {
    localised(value.get("name").unwrap_or(value))
}

fn target(link: &Map<String, Value>, archive: &Archive) -> Option<usize> {
    let href = link.get("href")?.as_str()?;
    // Some producers write names as they are; most escape them.
    let resolved = href::resolve("", href);
    resolved.and_then(|name| archive.find(&name)).or_else(|| archive.find(href))
}

fn encrypted(link: &Map<String, Value>) -> Option<Encrypted> {
    let encrypted = link.get("properties")?.get("encrypted")?;
    let text = |key: &str| encrypted.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    // The older name is that of the first Readium servers.
    let length = encrypted.get("originalLength").or_else(|| encrypted.get("original-length"));
    Some(Encrypted {
        scheme: text("scheme"),
        algorithm: text("algorithm"),
        original_len: length.and_then(Value::as_u64),
        is_deflated: text("compression") == "deflate",
    })
}

fn has_relation(link: &Map<String, Value>, relation: &str) -> bool {
    link.get("rel").is_some_and(|relations| one_or_many(relations).iter().any(|one| *one == relation))
}

/// The object under a key, made if it is not there.
fn member<'m>(object: &'m mut Map<String, Value>, key: &str) -> &'m mut Map<String, Value> {
    let value = object.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("made above")
}

/// Visits the links of a list, and their alternates.
fn visit(links: Option<&Value>, visitor: &mut dyn FnMut(&Map<String, Value>)) -> Result<(), &'static str> {
    let Some(links) = links else { return Ok(()) };
    for link in links.as_array().ok_or("is not a list")? {
        let link = link.as_object().ok_or("holds something that is not a link")?;
        visitor(link);
        visit(link.get("alternate"), visitor)?;
    }
    Ok(())
}

fn visit_mut(links: &mut Value, visitor: &mut dyn FnMut(&mut Map<String, Value>)) {
    for link in links.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        visitor(link);
        if let Some(alternate) = link.get_mut("alternate") {
            visit_mut(alternate, visitor);
        }
    }
}
