#![no_main]
//! Any `META-INF/encryption.xml`: parsed or refused; what is parsed can be added to, and keeps what it had.

use cipherloom_lcp::encryption_xml::{Compression, EncryptionXml, Protected};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(parsed) = EncryptionXml::parse(data) else { return };
    let compression = Compression { method: 8, original_len: 7 };
    let added = parsed.with([Protected { path: "a b/&.xhtml", compression }]);
    let again = EncryptionXml::parse(&added).expect("what was written can be read");
    let (last, before) = again.resources().split_last().expect("one was added");
    assert_eq!(before, parsed.resources());
    assert_eq!((last.path.as_str(), last.is_lcp), ("a b/&.xhtml", true));
});
