//! References from one part of a publication to another: URLs (RFC 3986) whose paths are entries' names.

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
    let path = unescape(path)?;
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
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|part| part.is_ascii_alphanumeric() || "+-.".contains(part))
}

/// `%20` and the like as the characters they stand for; `None` if that is no text. A `%` that begins no such thing
/// stands for itself, as many real documents write it.
pub(crate) fn unescape(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|&digit| (digit as char).to_digit(16));
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok()
}

/// Appends an entry's name with what may not stand in a path segment escaped (RFC 3986, section 3.3). The characters
/// that stay are those that Go's `url.PathEscape` leaves, since readium-lcp-server compares such strings.
pub(crate) fn escape_into(to: &mut String, name: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut has_folder = false;
    for byte in name.bytes() {
        has_folder |= byte == b'/';
        // A colon in the first segment would make a scheme of what stands before it (section 4.2).
        let is_kept = b"/-_.~$&+=@".contains(&byte) || (byte == b':' && has_folder);
        if byte.is_ascii_alphanumeric() || is_kept {
            to.push(byte as char);
        } else {
            to.push('%');
            to.push(HEX[usize::from(byte >> 4)] as char);
            to.push(HEX[usize::from(byte & 15)] as char);
        }
    }
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
            let mut escaped = String::new();
            escape_into(&mut escaped, &name);
            prop_assert!(escaped.is_ascii());
            prop_assert_eq!(unescape(&escaped), Some(name));
        }
    }
}
