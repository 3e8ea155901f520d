//! A publication's list of protected resources, without those that LCP protects.

use crate::container::Archive;
use crate::encryption_xml::{self, CONTENT_KEY_TYPE, DECLARATION, without_declaration};
use crate::package::xml::{self, Node};
use crate::package::{self, MANIFEST};
use crate::{Error, Kind};

/// The name of the entry that holds the list, and what it is without LCP; `None` if nothing else is in it.
pub(super) fn cleared(archive: &Archive, kind: Kind) -> Result<(&'static str, Option<Vec<u8>>), Error> {
    match kind {
        Kind::Epub => {
            let text = package::document(archive, encryption_xml::NAME, package::MOST_ENCRYPTION_XML)?;
            Ok((encryption_xml::NAME, without_lcp(&text)?))
        }
        Kind::Readium(_) => {
            let mut manifest = package::manifest(archive)?;
            package::unmark(&mut manifest);
            Ok((MANIFEST, Some(manifest.to_string().into_bytes())))
        }
    }
}

/// `encryption.xml` without the elements that name an LCP licence's key; everything else stays as it is.
fn without_lcp(bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let text = xml::text(encryption_xml::NAME, bytes)?;
    let mut depth = 0;
    let (mut start, mut is_lcp, mut others) = (0, false, 0);
    let mut removed = Vec::new();
    xml::walk(encryption_xml::NAME, &text, &mut |node, span| {
        match node {
            Node::Open(tag) => {
                if depth == 1 {
                    (start, is_lcp) = (span.start, false);
                } else if tag.name() == "RetrievalMethod" {
                    is_lcp |= tag.attribute("Type")?.as_deref() == Some(CONTENT_KEY_TYPE);
                }
                depth += 1;
            }
            Node::Close(_) => {
                depth -= 1;
                match depth {
                    1 if is_lcp => removed.push(start..span.end),
                    1 => others += 1,
                    _ => {}
                }
            }
            Node::Text(_) => {}
        }
        Ok(())
    })?;
    if others == 0 {
        return Ok(None);
    }
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for range in removed {
        kept.push_str(&text[from..range.start]);
        from = range.end;
    }
    kept.push_str(&text[from..]);
    Ok(Some(format!("{DECLARATION}{}", without_declaration(&kept)).into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encryption_xml::{Compression, EncryptionXml, Protected};

    const FONT: &str = r#"<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><!-- kept -->
<enc:EncryptedData xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>
<enc:CipherData><enc:CipherReference URI="font.otf"/></enc:CipherData></enc:EncryptedData></encryption>"#;

    fn protected() -> [Protected<'static>; 2] {
        let compression = Compression { method: 8, original_len: 7 };
        ["a.xhtml", "b.xhtml"].map(|path| Protected { path, compression })
    }

    #[test]
    fn what_others_wrote_stays() {
        let both = EncryptionXml::parse(FONT.as_bytes()).unwrap().with(protected());
        let cleared = String::from_utf8(without_lcp(&both).unwrap().unwrap()).unwrap();
        let resources = EncryptionXml::parse(cleared.as_bytes()).unwrap();
        assert_eq!(resources.resources(), EncryptionXml::parse(FONT.as_bytes()).unwrap().resources());
        assert!(cleared.contains("<!-- kept -->") && !cleared.contains("a.xhtml"), "{cleared}");
        assert_eq!(cleared.matches("<?xml").count(), 1);
    }

    #[test]
    fn nothing_is_left_of_a_list_of_lcp_alone() {
        assert_eq!(without_lcp(&EncryptionXml::default().with(protected())).unwrap(), None);
    }
}
