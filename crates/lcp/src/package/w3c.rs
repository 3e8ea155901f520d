//! W3C packages (.lpf, Lightweight Packaging Format): their `publication.json` (W3C Publication Manifest, Audiobooks) as
//! a Readium manifest. As readium-lcp-server does, names, languages, people, dates, durations and links are carried
//! over; the table of contents in the entry page is not.

use super::{epub, media, readium};
use crate::Error;
use crate::container::Archive;
use serde_json::{Map, Value, json};

/// The W3C manifest's entry.
pub(crate) const MANIFEST: &str = "publication.json";
/// The page that a browser would show; it stays readable.
pub(crate) const ENTRY_PAGE: &str = "index.html";

const MOST_MANIFEST: u64 = 4 << 20;

/// Members of both manifests: (W3C's name, Readium's name).
const AS_THEY_ARE: [(&str, &str); 6] = [
    ("inLanguage", "language"),
    ("datePublished", "published"),
    ("dateModified", "modified"),
    ("readingProgression", "readingProgression"),
    ("description", "description"),
    ("subject", "subject"),
];
const PEOPLE: [(&str, &str); 11] = [
    ("author", "author"),
    ("publisher", "publisher"),
    ("artist", "artist"),
    ("colorist", "colorist"),
    ("contributor", "contributor"),
    ("editor", "editor"),
    ("illustrator", "illustrator"),
    ("inker", "inker"),
    ("letterer", "letterer"),
    ("readBy", "narrator"),
    ("translator", "translator"),
];

/// Reads the W3C manifest and makes it a Readium one.
pub(crate) fn manifest(archive: &Archive) -> Result<Value, Error> {
    let bytes = epub::document(archive, MANIFEST, MOST_MANIFEST)?;
    Ok(converted(&readium::parse(MANIFEST, &bytes)?))
}

fn converted(w3c: &Value) -> Value {
    let mut metadata = Map::new();
    let is_audiobook = conforms_to(w3c, "https://www.w3.org/TR/audiobooks/");
    metadata.insert(
        "@type".into(),
        if is_audiobook { "http://schema.org/Audiobook" } else { "http://schema.org/CreativeWork" }.into(),
    );
    if is_audiobook {
        let profile = "https://readium.org/webpub-manifest/profiles/audiobook";
        metadata.insert("conformsTo".into(), profile.into());
    }
    if let Some(identifier) = ["id", "url"].iter().find_map(|key| w3c.get(key)) {
        metadata.insert("identifier".into(), identifier.clone());
    }
    if let Some(name) = w3c.get("name") {
        metadata.insert("title".into(), text(name));
    }
    for (from, to) in AS_THEY_ARE {
        if let Some(value) = w3c.get(from) {
            metadata.insert(to.into(), value.clone());
        }
    }
    for (from, to) in PEOPLE {
        if let Some(people) = w3c.get(from) {
            metadata.insert(to.into(), list(people).iter().map(person).collect());
        }
    }
    if let Some(seconds) = w3c.get("duration").and_then(Value::as_str).and_then(seconds) {
        metadata.insert("duration".into(), json!(seconds));
    }
    let mut manifest = json!({
        "@context": "https://readium.org/webpub-manifest/context.jsonld",
        "metadata": metadata,
        "links": links(w3c.get("links")),
        "readingOrder": links(w3c.get("readingOrder")),
    });
    if let Some(resources) = w3c.get("resources") {
        manifest["resources"] = links(Some(resources));
    }
    manifest
}

fn conforms_to(w3c: &Value, uri: &str) -> bool {
    w3c.get("conformsTo").is_some_and(|value| list(value).iter().any(|one| **one == *uri))
}

/// One value or a list of them.
fn list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    }
}

/// A localisable string, or several: one text, or a text for each language.
fn text(value: &Value) -> Value {
    let all = list(value);
    if let [one] = all.as_slice() {
        return one.get("value").unwrap_or(one).clone();
    }
    let by_language = all.iter().map(|one| {
        let language = one.get("language").and_then(Value::as_str).unwrap_or("und").to_owned();
        (language, one.get("value").unwrap_or(one).clone())
    });
    Value::Object(by_language.collect())
}

fn person(value: &&Value) -> Value {
    let Some(name) = value.get("name") else { return json!({ "name": value }) };
    let mut person = json!({ "name": text(name) });
    if let Some(identifier) = value.get("id") {
        person["identifier"] = identifier.clone();
    }
    person
}

fn links(value: Option<&Value>) -> Value {
    value.map(list).unwrap_or_default().into_iter().filter_map(link).collect()
}

fn link(value: &Value) -> Option<Value> {
    let href = value.as_str().or_else(|| value.get("url")?.as_str())?;
    let mut link = json!({ "href": href });
    let named_type = media::of_name(href);
    match value.get("encodingFormat") {
        Some(format) => link["type"] = format.clone(),
        None if !named_type.is_empty() => link["type"] = named_type.into(),
        None => {}
    }
    if let Some(relation) = value.get("rel") {
        link["rel"] = relation.clone();
    }
    if let Some(name) = value.get("name") {
        // A link of the Readium manifest has one title.
        link["title"] = match text(name) {
            Value::Object(languages) => {
                languages.into_iter().next().map(|(_, text)| text).unwrap_or_default()
            }
            one => one,
        };
    }
    if let Some(seconds) = value.get("duration").and_then(Value::as_str).and_then(seconds) {
        link["duration"] = json!(seconds);
    }
    if let Some(alternate) = value.get("alternate") {
        link["alternate"] = links(Some(alternate));
    }
    Some(link)
}

/// A duration of ISO 8601 in days, hours, minutes and seconds (`PT1H30M5.5S`).
fn seconds(iso: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut number = String::new();
    let mut is_time = false;
    for character in iso.strip_prefix('P')?.chars() {
        let unit = match (character, is_time) {
            ('T', false) => {
                is_time = true;
                continue;
            }
            ('0'..='9' | '.', _) => {
                number.push(character);
                continue;
            }
            ('D', false) => 86400.0,
            ('H', true) => 3600.0,
            ('M', true) => 60.0,
            ('S', true) => 1.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * unit;
        number.clear();
    }
    number.is_empty().then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audiobook_becomes_a_readium_manifest() {
        let w3c = json!({
            "@context": ["https://schema.org", "https://www.w3.org/ns/pub-context"],
            "conformsTo": "https://www.w3.org/TR/audiobooks/",
            "id": "urn:x", "name": {"value": "Flatland", "language": "en"},
            "author": ["A Square", {"name": [{"value": "B"}], "id": "urn:b"}], "readBy": "R",
            "duration": "PT1H0M2.5S",
            "resources": {"url": "cover.jpg", "rel": "cover"},
            "readingOrder": [{"url": "1.mp3", "duration": "PT10S", "name": "One"}, "2.mp3"],
        });
        let manifest = converted(&w3c);
        assert_eq!(manifest["metadata"]["title"], "Flatland");
        assert_eq!(
            manifest["metadata"]["author"],
            json!([{"name": "A Square"}, {"name": "B", "identifier": "urn:b"}])
        );
        assert_eq!(manifest["metadata"]["narrator"], json!([{"name": "R"}]));
        assert_eq!(manifest["metadata"]["duration"], 3602.5);
        assert_eq!(
            manifest["resources"],
            json!([{"href": "cover.jpg", "type": "image/jpeg", "rel": "cover"}])
        );
        assert_eq!(
            manifest["readingOrder"][0],
            json!({"href": "1.mp3", "type": "audio/mpeg", "duration": 10.0, "title": "One"})
        );
        assert_eq!(manifest["readingOrder"][1]["href"], "2.mp3");
        assert_eq!(readium::metadata(&manifest).1, Some(super::super::Profile::Audiobook));
    }

    #[test]
    fn durations_in_iso_8601() {
        assert_eq!(seconds("P1DT1M"), Some(86460.0));
        for bad in ["", "1S", "P1Y", "PT1", "PTxS"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
