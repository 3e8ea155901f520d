//! W3C packages (.lpf, Lightweight Packaging Format): their `publication.json` (W3C Publication Manifest, Audiobooks) as
//! a Readium manifest. As readium-lcp-server does, names, languages, people, dates, durations and links are carried
//! over; the table of contents in the entry page is not.

use super::readium::one_or_many;
use super::{epub, media, readium};
use crate::Error;
use crate::container::Archive;
use serde_json::{Value, json};

/// The W3C manifest's entry.
pub(crate) const MANIFEST: &str = "publication.json";
/// The page that a browser would show; it stays readable.
pub(crate) const ENTRY_PAGE: &str = "index.html";

const MOST_MANIFEST: u64 = 4 << 20;

/// Members that are carried over as they are, and those that are people.
const KEPT: &str = "inLanguage datePublished dateModified readingProgression description subject";
const PEOPLE: &str =
    "author publisher artist colorist contributor editor illustrator inker letterer readBy translator";

/// The Readium manifest's name of a member.
fn readium_name(w3c: &str) -> &str {
    match w3c {
        "inLanguage" => "language",
        "datePublished" => "published",
        "dateModified" => "modified",
        "readBy" => "narrator",
        same => same,
    }
}

/// Reads the W3C manifest and makes it a Readium one.
pub(crate) fn manifest(archive: &Archive) -> Result<Value, Error> {
    let bytes = epub::document(archive, MANIFEST, MOST_MANIFEST)?;
    Ok(converted(&readium::parse(MANIFEST, &bytes)?))
}

fn converted(w3c: &Value) -> Value {
    let mut metadata = match conforms_to(w3c, "https://www.w3.org/TR/audiobooks/") {
        true => json!({
            "@type": "http://schema.org/Audiobook",
            "conformsTo": "https://readium.org/webpub-manifest/profiles/audiobook",
        }),
        false => json!({ "@type": "http://schema.org/CreativeWork" }),
    };
    if let Some(identifier) = ["id", "url"].iter().find_map(|key| w3c.get(key)) {
        metadata["identifier"] = identifier.clone();
    }
    if let Some(name) = w3c.get("name") {
        metadata["title"] = text(name);
    }
    for (name, value) in KEPT.split(' ').filter_map(|name| Some((name, w3c.get(name)?))) {
        metadata[readium_name(name)] = value.clone();
    }
    for (name, people) in PEOPLE.split(' ').filter_map(|name| Some((name, w3c.get(name)?))) {
        metadata[readium_name(name)] = one_or_many(people).iter().map(person).collect();
    }
    if let Some(seconds) = duration(w3c) {
        metadata["duration"] = seconds.into();
    }
    let mut manifest = json!({
        "@context": readium::CONTEXT,
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
    w3c.get("conformsTo").is_some_and(|value| one_or_many(value).iter().any(|one| **one == *uri))
}

/// A localisable string, or several: one text, or a text for each language.
fn text(value: &Value) -> Value {
    let all = one_or_many(value);
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
    value.map(one_or_many).unwrap_or_default().into_iter().filter_map(link).collect()
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
    if let Some(seconds) = duration(value) {
        link["duration"] = seconds.into();
    }
    if let Some(alternate) = value.get("alternate") {
        link["alternate"] = links(Some(alternate));
    }
    Some(link)
}

/// The member `duration` of a manifest or link, in seconds.
fn duration(value: &Value) -> Option<f64> {
    seconds(value.get("duration")?.as_str()?)
}

/// A duration of ISO 8601 in days, hours, minutes and seconds (`PT1H30M5.5S`).
fn seconds(iso: &str) -> Option<f64> {
    let iso = iso.strip_prefix('P')?;
    let (days, time) = iso.split_once('T').unwrap_or((iso, ""));
    let sum = |text: &str, units: &[(char, f64)]| {
        let parts = text.split_inclusive(|character: char| !matches!(character, '0'..='9' | '.'));
        let seconds = parts.map(|part| {
            let (unit, seconds) = units.iter().find(|(unit, _)| part.ends_with(*unit))?;
            Some(part.trim_end_matches(*unit).parse::<f64>().ok()? * seconds)
        });
        seconds.sum::<Option<f64>>()
    };
    Some(sum(days, &[('D', 86400.0)])? + sum(time, &[('H', 3600.0), ('M', 60.0), ('S', 1.0)])?)
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
