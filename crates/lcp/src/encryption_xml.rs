//! `META-INF/encryption.xml`: which resources of an EPUB are encrypted, and how (EPUB OCF 3.3, section 4.2.6.3.2; XML
//! Encryption 1.1; Readium LCP, section 4.3).
//!
//! ```xml
//! <encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
//!   <EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#">
//!     <EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/>
//!     <KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#">
//!       <RetrievalMethod URI="license.lcpl#/encryption/content_key"
//!                        Type="http://readium.org/2014/01/lcp#EncryptedContentKey"/>
//!     </KeyInfo>
//!     <CipherData><CipherReference URI="OEBPS/chapter%201.xhtml"/></CipherData>
//!     <EncryptionProperties><EncryptionProperty>
//!       <Compression xmlns="http://www.idpf.org/2016/encryption#compression" Method="8" OriginalLength="1234"/>
//!     </EncryptionProperty></EncryptionProperties>
//!   </EncryptedData>
//! </encryption>
//! ```
//!
//! What a document has already (obfuscated fonts, comments, other namespaces) stays as it is, byte for byte: new
//! elements go in front of the root's end.

use crate::Error;
use crate::package::href;
use crate::package::xml::{self, Node, Tag};
use std::fmt::Write as _;
use std::ops::Range;

/// The entry's name.
pub const NAME: &str = "META-INF/encryption.xml";

/// AES-256 in CBC mode as XML Encryption names it: the only cipher of LCP's resources.
pub const AES_256_CBC: &str = "http://www.w3.org/2001/04/xmlenc#aes256-cbc";

/// The kind of key that says "LCP".
const CONTENT_KEY_TYPE: &str = "http://readium.org/2014/01/lcp#EncryptedContentKey";
const CONTENT_KEY_URI: &str = "license.lcpl#/encryption/content_key";

/// Fonts made useless outside of their book; no encryption (EPUB 3.3, section 4.4; Adobe's older method).
const OBFUSCATIONS: [&str; 2] = ["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"];

const ROOT: &str = "<encryption xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\">";
const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// One `EncryptedData`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EncryptedResource {
    /// The entry's name (`CipherReference`, unescaped).
    pub path: String,
    /// The algorithm's URI.
    pub algorithm: String,
    /// Whether the key is an LCP license's content key.
    pub is_lcp: bool,
    /// How it was compressed before it was encrypted, if that is said.
    pub compression: Option<Compression>,
}

impl EncryptedResource {
    /// Whether this is a font's obfuscation, which every reading system undoes without a key.
    #[must_use]
    pub fn is_obfuscated(&self) -> bool {
        OBFUSCATIONS.contains(&self.algorithm.as_str())
    }
}

/// The `Compression` element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// 0 for none, 8 for raw deflate.
    pub method: u16,
    /// Bytes before compression and encryption.
    pub original_len: u64,
}

/// A resource to be listed as protected with LCP.
#[derive(Debug, Clone, Copy)]
pub struct Protected<'p> {
    /// The entry's name.
    pub path: &'p str,
    /// How it is compressed.
    pub compression: Compression,
}

/// A parsed document.
#[derive(Debug, Clone, Default)]
pub struct EncryptionXml {
    resources: Vec<EncryptedResource>,
    /// The document; empty for a new one.
    text: String,
    /// The root's name as it is written, and where the tag is that ends it.
    root: String,
    end: Range<usize>,
    /// The elements below the root that name an LCP license's key.
    lcp: Vec<Range<usize>>,
    has_others: bool,
}

impl EncryptionXml {
    /// Parses a document.
    ///
    /// # Errors
    /// [`Error::Xml`] if it is not well formed, has another root, or lists something without saying what or how.
    pub fn parse(bytes: &[u8]) -> Result<EncryptionXml, Error> {
        let text = xml::text(NAME, bytes)?;
        let mut parsed = EncryptionXml::default();
        let mut open: Option<EncryptedResource> = None;
        let (mut depth, mut start, mut is_lcp) = (0, 0, false);
        xml::walk(NAME, &text, &mut |node, span| {
            let begin = span.start;
            let malformed = |problem: &str| Error::xml(NAME, problem, begin);
            match node {
                Node::Open(tag) => {
                    match (depth, tag.name()) {
                        (0, "encryption") => {
                            tag.check_attributes()?;
                            tag.qualified_name().clone_into(&mut parsed.root);
                        }
                        (0, _) => return Err(malformed("its root element is not `encryption`")),
                        (1, name) => {
                            (start, is_lcp) = (begin, false);
                            open = (name == "EncryptedData").then(EncryptedResource::default);
                        }
                        (_, "RetrievalMethod") => {
                            is_lcp |= tag.attribute("Type")?.as_deref() == Some(CONTENT_KEY_TYPE);
                        }
                        _ => {
                            if let Some(resource) = &mut open {
                                note(resource, &tag, &malformed)?;
                            }
                        }
                    }
                    depth += 1;
                }
                Node::Close => {
                    depth -= 1;
                    match depth {
                        0 => parsed.end = span,
                        1 if is_lcp => parsed.lcp.push(start..span.end),
                        1 => parsed.has_others = true,
                        _ => return Ok(()),
                    }
                    if let Some(resource) = open.take() {
                        if resource.path.is_empty() || resource.algorithm.is_empty() {
                            let problem =
                                "an EncryptedData lacks its CipherReference or its EncryptionMethod";
                            return Err(malformed(problem));
                        }
                        parsed.resources.push(EncryptedResource { is_lcp, ..resource });
                    }
                }
                Node::Text(_) => {}
            }
            Ok(())
        })?;
        Ok(EncryptionXml { text: text.into_owned(), ..parsed })
    }

    /// What the document lists, in its order.
    #[must_use]
    pub fn resources(&self) -> &[EncryptedResource] {
        &self.resources
    }

    /// The document with these resources added.
    #[must_use]
    pub fn with<'p>(&self, added: impl IntoIterator<Item = Protected<'p>>) -> Vec<u8> {
        let (before, after) = self.text.split_at(self.end.start);
        let (before, after) = match after[..self.end.len()].strip_suffix("/>") {
            _ if self.text.is_empty() => (ROOT.to_owned(), "</encryption>\n".to_owned()),
            // An empty root is opened.
            Some(tag) => {
                let rest = &after[self.end.len()..];
                (format!("{before}{tag}>"), format!("</{}>{rest}", self.root))
            }
            None => (before.to_owned(), after.to_owned()),
        };
        let mut text = format!("{DECLARATION}{}\n", without_declaration(&before));
        added.into_iter().for_each(|resource| element(&mut text, &resource));
        (text + &after).into_bytes()
    }

    /// The document without the elements that name an LCP license's key, all else as it was; `None` if nothing is left.
    pub(crate) fn without_lcp(&self) -> Option<Vec<u8>> {
        let (mut kept, mut from) = (String::with_capacity(self.text.len()), 0);
        for element in &self.lcp {
            kept.push_str(&self.text[from..element.start]);
            from = element.end;
        }
        kept.push_str(&self.text[from..]);
        self.has_others.then(|| format!("{DECLARATION}{}", without_declaration(&kept)).into_bytes())
    }
}

/// Takes from an element inside `EncryptedData` what it says.
fn note(
    resource: &mut EncryptedResource,
    tag: &Tag<'_>,
    malformed: &dyn Fn(&str) -> Error,
) -> Result<(), Error> {
    match tag.name() {
        "EncryptionMethod" => resource.algorithm = tag.attribute("Algorithm")?.unwrap_or_default(),
        "CipherReference" => {
            let uri = tag.attribute("URI")?.unwrap_or_default();
            resource.path = href::in_package("", &uri)
                .ok_or_else(|| malformed("a CipherReference leads out of the publication"))?;
        }
        "Compression" => {
            let number = |name| -> Result<Option<u64>, Error> {
                Ok(tag.attribute(name)?.and_then(|digits| digits.trim().parse().ok()))
            };
            let (Some(method), Some(original_len)) = (number("Method")?, number("OriginalLength")?) else {
                return Err(malformed("a Compression lacks Method or OriginalLength"));
            };
            let method =
                u16::try_from(method).map_err(|_| malformed("a Compression has an unknown Method"))?;
            resource.compression = Some(Compression { method, original_len });
        }
        _ => {}
    }
    Ok(())
}

/// The text is written as UTF-8, whatever its declaration said.
fn without_declaration(text: &str) -> &str {
    match text.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, rest)) => rest.trim_start(),
        None => text,
    }
}

fn element(to: &mut String, resource: &Protected<'_>) {
    let uri = href::escape(resource.path);
    let uri = quick_xml::escape::escape(&uri);
    let Compression { method, original_len } = resource.compression;
    let _ = writeln!(
        to,
        "<EncryptedData xmlns=\"http://www.w3.org/2001/04/xmlenc#\"><EncryptionMethod Algorithm=\"{AES_256_CBC}\"/>\
         <KeyInfo xmlns=\"http://www.w3.org/2000/09/xmldsig#\"><RetrievalMethod URI=\"{CONTENT_KEY_URI}\" \
         Type=\"{CONTENT_KEY_TYPE}\"/></KeyInfo><CipherData><CipherReference URI=\"{uri}\"/></CipherData>\
         <EncryptionProperties><EncryptionProperty>\
         <Compression xmlns=\"http://www.idpf.org/2016/encryption#compression\" Method=\"{method}\" \
         OriginalLength=\"{original_len}\"/></EncryptionProperty></EncryptionProperties></EncryptedData>"
    );
}

#[cfg(test)]
#[path = "encryption_xml_tests.rs"]
mod tests;
