//! Keys that cannot be paths, taken out of a listing before the client sees it. The client refuses a whole page for
//! one of them, and anybody who may write to a bucket can put one there.
//!
//! ```text
//! S3, GCS   <Contents><Key>…          <CommonPrefixes><Prefix>…
//! Azure     <Blob><Name>…             <BlobPrefix><Name>…
//! ```

use bytes::Bytes;
use cipherloom::internal::engine::lock;
use object_store::path::Path as Key;
use quick_xml::Reader;
use quick_xml::escape::unescape;
use quick_xml::events::{BytesStart, Event};
use std::sync::{Arc, Mutex};

/// Goes with a request for a page of a listing, and gathers what was taken out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sieve(Arc<Mutex<Vec<Refused>>>);

/// A key that cannot be processed, or a prefix with nothing but such keys below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) key: String,
    pub(crate) is_prefix: bool,
    pub(crate) reason: &'static str,
}

impl Sieve {
    /// The page without the entries that are refused; one that is no listing is left to the client.
    pub(crate) fn pass(&self, page: Bytes) -> Bytes {
        let sieved = std::str::from_utf8(&page).ok().and_then(sieve);
        let Some((kept, mut refused)) = sieved else { return page };
        lock(&self.0).append(&mut refused);
        kept.into()
    }

    /// What was taken out.
    pub(crate) fn refused(&self) -> Vec<Refused> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// `None` if there is nothing to take out.
fn sieve(page: &str) -> Option<(String, Vec<Refused>)> {
    let mut reader = Reader::from_str(page);
    let (mut kept, mut copied, mut refused) = (String::new(), 0, Vec::new());
    loop {
        let start = usize::try_from(reader.buffer_position()).ok()?;
        let tag = match reader.read_event().ok()? {
            Event::Start(tag) => tag,
            Event::Eof => break,
            _ => continue,
        };
        let is_prefix = match tag.local_name().into_inner() {
            "Contents" | "Blob" => false,
            "CommonPrefixes" | "BlobPrefix" => true,
            _ => continue,
        };
        reader.read_to_end(tag.name()).ok()?;
        let end = usize::try_from(reader.buffer_position()).ok()?;
        let entry = Entry::read(&page[start..end])?;
        if let Some(reason) = entry.fault() {
            kept.push_str(&page[copied..start]);
            copied = end;
            refused.push(Refused { key: entry.key, is_prefix, reason });
        }
    }
    kept.push_str(&page[copied..]);
    (!refused.is_empty()).then_some((kept, refused))
}

/// What is asked of one entry.
#[derive(Default)]
struct Entry {
    key: String,
    size: u64,
    /// Azure writes names that XML cannot hold in another way, and the client takes that for the name.
    is_encoded: bool,
}

impl Entry {
    fn read(element: &str) -> Option<Entry> {
        let mut reader = Reader::from_str(element);
        let (mut entry, mut depth) = (Entry::default(), 0);
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) => match (depth, tag.local_name().into_inner()) {
                    (1, "Key" | "Name" | "Prefix") => {
                        entry.is_encoded = is_encoded(&tag);
                        entry.key = text(&mut reader, element, &tag)?;
                    }
                    (_, "Size" | "Content-Length") => {
                        entry.size = text(&mut reader, element, &tag)?.parse().ok()?;
                    }
                    _ => depth += 1,
                },
                Event::End(_) => depth -= 1,
                Event::Eof => return Some(entry),
                _ => {}
            }
        }
    }

    /// Why the key cannot be processed. The client would also take keys with a slash at an end for others, without them.
    fn fault(&self) -> Option<&'static str> {
        let without = self.key.strip_suffix('/').unwrap_or(&self.key);
        match Key::parse(&self.key) {
            _ if self.is_encoded => Some("the key holds characters that XML cannot carry"),
            _ if self.key.starts_with('/') => Some("the key begins with a slash"),
            Err(_) => Some("the key has an empty part, `.`, `..` or a control character between its slashes"),
            Ok(key) if key.as_ref() != without => Some("the key cannot be a path"),
            Ok(_) if self.key.ends_with('/') && self.size > 0 => Some("the key ends in a slash"),
            Ok(_) => None,
        }
    }
}

fn is_encoded(tag: &BytesStart<'_>) -> bool {
    tag.try_get_attribute("Encoded").is_ok_and(|found| found.is_some_and(|found| found.value == "true"))
}

/// The text of the element that `tag` has opened.
fn text(reader: &mut Reader<&[u8]>, element: &str, tag: &BytesStart<'_>) -> Option<String> {
    let span = reader.read_to_end(tag.name()).ok()?;
    let (start, end) = (usize::try_from(span.start).ok()?, usize::try_from(span.end).ok()?);
    Some(unescape(&element[start..end]).ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(page: &str) -> (String, Vec<(String, bool)>) {
        let sieve = Sieve::default();
        let kept = sieve.pass(Bytes::copy_from_slice(page.as_bytes()));
        let refused = sieve.refused().into_iter().map(|refused| (refused.key, refused.is_prefix));
        (String::from_utf8(kept.to_vec()).unwrap(), refused.collect())
    }

    #[test]
    fn only_keys_that_no_path_can_stand_for_are_taken_out() {
        let entry = |key: &str, size| {
            format!("<Contents><Key>{key}</Key><Size>{size}</Size><Owner><ID>a//b</ID></Owner></Contents>")
        };
        let prefix = |key: &str| format!("<CommonPrefixes><Prefix>{key}</Prefix></CommonPrefixes>");
        let list = |entries: &[String]| {
            format!(
                "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><Prefix>h//</Prefix>{}</ListBucketResult>",
                entries.concat()
            )
        };
        let good = [entry("a", 1), entry("b &amp; c/.d/..e", 2), entry("folder/", 0), prefix("f/")];
        let bad = [
            entry("h/../../etc/x", 1),
            entry("h//x", 1),
            entry("/a", 1),
            entry("full/", 3),
            entry("bell&#7;", 3),
            prefix("../"),
            prefix("/"),
        ];
        assert_eq!(refused(&list(&good)), (list(&good), Vec::new()));
        let mixed: Vec<_> =
            bad.iter().zip(good.iter().cycle()).flat_map(|(bad, good)| [bad.clone(), good.clone()]).collect();
        let left: Vec<_> = good.iter().cycle().take(bad.len()).cloned().collect();
        let (kept, refused) = refused(&list(&mixed));
        assert_eq!(kept, list(&left));
        let keys = ["h/../../etc/x", "h//x", "/a", "full/", "bell\u{7}", "../", "/"];
        let expected: Vec<_> =
            keys.iter().enumerate().map(|(at, key)| ((*key).to_owned(), at >= 5)).collect();
        assert_eq!(refused, expected);
    }

    #[test]
    fn azure_has_other_words_for_it() {
        let blob = |name: &str| {
            format!(
                "<Blob><Name>{name}</Name><Properties><Content-Length>5</Content-Length></Properties><Metadata><Name>a//b</Name></Metadata></Blob>"
            )
        };
        let page = |blobs: &str| format!("<EnumerationResults><Blobs>{blobs}</Blobs></EnumerationResults>");
        let encoded = "<Blob><Name Encoded=\"true\">a%EF%BF%BE</Name></Blob>";
        let all = page(
            &[&blob("a"), &blob("./x"), encoded, &blob("b"), "<BlobPrefix><Name>h/../</Name></BlobPrefix>"]
                .concat(),
        );
        let (kept, refused) = refused(&all);
        assert_eq!(kept, page(&(blob("a") + &blob("b"))));
        assert_eq!(
            refused.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["./x", "a%EF%BF%BE", "h/../"]
        );
    }

    #[test]
    fn what_is_no_listing_is_left_to_the_client() {
        for page in [
            "",
            "no listing",
            "<ListBucketResult><Contents><Key>a//b</Key>",
            "<Contents><Key>a//b</Contents>",
        ] {
            assert_eq!(refused(page), (page.to_owned(), Vec::new()));
        }
    }
}
