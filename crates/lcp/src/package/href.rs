//! References from one part of a publication to another: URLs (RFC 3986) whose paths are entries' names.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The entry's name that `href` means in a document of the folder `base` (empty: the root; no `/` at its end). `None`
/// if it leads out of the publication.
pub(crate) fn resolve(base: &str, href: &str) -> Option<String> {
    if has_scheme(href) { None } else { in_package(base, href) }
}

/// As [`resolve`], for references that are never to another place, so that a colon is no scheme's.
pub(crate) fn in_package(base: &str, href: &str) -> Option<String> {
    let path = href.split(['#', '?']).next().unwrap_or_default();
    let (base, path) = match path.strip_prefix('/') {
        Some(rooted) => ("", rooted),
        None => (base, path),
    };
    // A `%` that begins no escape is kept, as many real documents write it.
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { None } else { Some(parts.join("/")) }
}

/// The folder that an entry lies in; empty for the root.
pub(crate) fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// RFC 3986, section 3.1.
pub(crate) fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|part| part.is_ascii_alphanumeric() || "+-.".contains(part))
}

/// What is escaped in the path of a URL.
pub(crate) const URL_PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What is escaped in the first segment of an entry's name. What stays is what Go's `url.PathEscape` leaves, since
/// readium-lcp-server compares such strings. A colon would make a scheme of what is before it (RFC 3986, section 4.2).
const FIRST_SEGMENT: &AsciiSet = &URL_PATH.remove(b'$').remove(b'&').remove(b'+').remove(b'=').remove(b'@');

/// What is escaped behind it.
const REST: &AsciiSet = &FIRST_SEGMENT.remove(b':');

/// An entry's name as a reference to it.
pub(crate) fn escape(name: &str) -> String {
    let (first, rest) = name.split_at(name.find('/').unwrap_or(name.len()));
    format!("{}{}", utf8_percent_encode(first, FIRST_SEGMENT), utf8_percent_encode(rest, REST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_lead_to_names() {
        for (base, href, name) in [
            ("OEBPS", "a.xhtml", Some("OEBPS/a.xhtml")),
            ("OEBPS/text", "../img/a%20b.png#top", Some("OEBPS/img/a b.png")),
            ("", "./a.xhtml?x=1", Some("a.xhtml")),
            ("OEBPS", "/a.xhtml", Some("a.xhtml")),
            ("OEBPS", "100%.html", Some("OEBPS/100%.html")),
            ("OEBPS", "../../a", None),
            ("", "https://example.com/a", None),
            ("", "#top", None),
            ("", "%FF", None),
        ] {
            assert_eq!(resolve(base, href).as_deref(), name, "{base} {href}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back(name in "[^/\u{0}]{1,40}") {
            let escaped = escape(&name);
            prop_assert!(escaped.is_ascii());
            prop_assert_eq!(percent_decode_str(&escaped).decode_utf8().unwrap(), name);
        }
    }
}
