//! Documents as they occur, and what must be refused.

use super::*;
use proptest::prelude::*;

const FONTS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<container:encryption xmlns:container="urn:oasis:names:tc:opendocument:xmlns:container"
    xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><!-- fonts -->
  <enc:EncryptedData>
    <enc:EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/>
    <enc:CipherData><enc:CipherReference URI="OPS/fonts/A%20B.otf"/></enc:CipherData>
  </enc:EncryptedData>
</container:encryption>
"#;

fn protected(path: &str, method: u16, original_len: u64) -> Protected<'_> {
    Protected { path, compression: Compression { method, original_len } }
}

#[test]
fn what_is_there_stays_and_what_is_added_is_read_back() {
    let fonts = EncryptionXml::parse(FONTS.as_bytes()).unwrap();
    assert_eq!(fonts.resources()[0].path, "OPS/fonts/A B.otf");
    assert!(fonts.resources()[0].is_obfuscated() && !fonts.resources()[0].is_lcp);
    let written = fonts.with([protected("OPS/ä & ö.xhtml", 8, 7), protected("a%b;c.png", 0, 1 << 40)]);
    let text = String::from_utf8(written.clone()).unwrap();
    assert!(text.contains("<!-- fonts -->") && text.contains("</container:encryption>"), "{text}");
    assert!(text.contains("URI=\"OPS/%C3%A4%20&amp;%20%C3%B6.xhtml\""), "{text}");
    let all = EncryptionXml::parse(&written).unwrap();
    assert_eq!(all.resources().len(), 3);
    assert_eq!(
        all.resources()[2],
        EncryptedResource {
            path: "a%b;c.png".into(),
            algorithm: AES_256_CBC.into(),
            is_lcp: true,
            compression: Some(Compression { method: 0, original_len: 1 << 40 }),
        }
    );
}

#[test]
fn empty_and_wide_documents_are_added_to() {
    let empty = EncryptionXml::parse(b"<encryption xmlns=\"urn:x\"/>").unwrap();
    let added = EncryptionXml::parse(&empty.with([protected("a", 8, 1)])).unwrap();
    assert_eq!(added.resources().len(), 1);
    let prefixed = EncryptionXml::parse(b"<c:encryption xmlns:c='urn:x' />").unwrap();
    assert_eq!(EncryptionXml::parse(&prefixed.with([protected("a", 8, 1)])).unwrap().resources().len(), 1);
    let wide: Vec<u8> =
        "\u{FEFF}".encode_utf16().chain(FONTS.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let wide = EncryptionXml::parse(&wide).unwrap().with([protected("a", 8, 1)]);
    assert_eq!(EncryptionXml::parse(&wide).unwrap().resources().len(), 2);
    assert_eq!(
        EncryptionXml::default().with([]),
        format!("{DECLARATION}{ROOT}\n</encryption>\n").into_bytes()
    );
}

#[test]
fn malformed_documents_are_refused_with_their_place() {
    for (bad, why) in [
        ("", "no element"),
        ("<encryption>", "ends inside"),
        ("<a/>", "root element is not"),
        ("<encryption xmlns='urn:x' //>", "attribute"),
        ("<<c:encryption/>", "does not allow"),
        ("<a/b:encryption />", "does not allow"),
        ("<encryption xmlns='<'/>", "does not allow"),
        ("<encryption>< /></encryption>", "does not allow"),
        ("<encryption><EncryptedData></EncryptedData></encryption>", "lacks its CipherReference"),
        ("<encryption/><encryption/>", "more than one root"),
        ("<a\u{c}b:encryption/>", "does not allow"),
        ("<encryption>\0</encryption>", "does not allow"),
        (&format!("<encryption>{}", "<a>".repeat(100)), "nests deeper"),
        (
            "<encryption><EncryptedData><CipherReference URI='../../etc'/></EncryptedData></encryption>",
            "leads out",
        ),
    ] {
        let message = EncryptionXml::parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(message.contains(why), "{bad}: {message}");
    }
    assert!(
        EncryptionXml::parse(b"<encryption>\xff</encryption>").unwrap_err().to_string().contains("UTF-8")
    );
}

proptest! {
    #[test]
    fn any_name_and_length_come_back(
        paths in proptest::collection::vec("[^/\\\\\u{0}-\u{1f}]{1,20}", 1..20),
        original_len: u64,
    ) {
        let usable: Vec<&String> = paths.iter().filter(|path| *path != "." && *path != "..").collect();
        let written = EncryptionXml::default().with(usable.iter().map(|path| protected(path, 8, original_len)));
        let read = EncryptionXml::parse(&written).unwrap();
        let read: Vec<&String> = read.resources().iter().map(|resource| &resource.path).collect();
        prop_assert_eq!(read, usable);
    }
}
