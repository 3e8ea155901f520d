//! E-books: archives, `encryption.xml`, licenses, certificates.

use cipherloom_lcp::internal::{Archive, Compression, EncryptionXml, Protected, Protection, Source};
use cipherloom_lcp::license::{Certificate, License, Moment, Roots, Signer, UserKey, canonical};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;

/// A certificate and a file of roots: nothing in them may panic.
pub fn certificate(contents: &[u8]) {
    let _ = Signer::new(contents, contents);
    let Ok(certificate) = Certificate::from_file(contents) else { return };
    let roots = Roots::from_file(contents).expect("a certificate is a root");
    // A root confirms itself, but not after its end.
    let _ = roots.confirm(&certificate, Moment::now());
}

/// Any `META-INF/encryption.xml`: parsed or refused; what is parsed can be added to, and keeps what it had.
pub fn encryption_xml(data: &[u8]) {
    let Ok(parsed) = EncryptionXml::parse(data) else { return };
    let compression = Compression { method: 8, original_len: 7 };
    let added = parsed.with([Protected { path: "a b/&.xhtml", compression }]);
    let again = EncryptionXml::parse(&added).expect("what was written can be read");
    let (last, before) = again.resources().split_last().expect("one was added");
    assert_eq!(before, parsed.resources());
    assert_eq!((last.path.as_str(), last.is_lcp), ("a b/&.xhtml", true));
}

/// A license: its canonical form is its own canonical form, and means what it means.
pub fn license(text: &[u8]) {
    if let Ok(text) = std::str::from_utf8(text)
        && let Ok(form) = canonical(text)
    {
        let form = String::from_utf8(form).expect("a canonical form is text");
        assert_eq!(canonical(&form).as_deref(), Ok(form.as_bytes()));
    }
    let Ok(license) = License::parse(text) else { return };
    let again = License::parse(license.text().as_bytes()).expect("what was read can be read");
    assert_eq!(again.canonical(), license.canonical());
    let _ = license.check_completeness();
    let _ = license.check_signature();
    let _ = license.check_rights(Moment::now());
    let key = UserKey::basic("passphrase");
    let _ = key.content_key(license.document());
    let _ = key.user_fields(license.document());
}

/// Any file as a publication: its directory is read or refused, every entry that it lists can be read or is refused, and no
/// entry gives more than it promised.
pub fn zip_directory(data: &[u8]) {
    let mut file = File::from(memfd_create("publication", MemfdFlags::CLOEXEC).expect("memory"));
    file.write_all(data).expect("memory");
    let Ok(archive) = Archive::read(Source::of(file).expect("a file")) else { return };
    for entry in archive.entries() {
        assert!(!entry.name.split('/').any(|part| part == ".."));
        assert!(entry.compressed_len <= data.len() as u64);
        let mut given = 0;
        let whole = archive.read_to(entry, &mut |bytes| {
            given += bytes.len() as u64;
            Ok(())
        });
        assert!(given <= entry.len + (64 << 10), "{given} of {}", entry.len);
        assert!(whole.is_err() || given == entry.len);
    }
    if let Ok(protection) = Protection::read(&archive) {
        assert!(protection.resources.iter().all(|resource| resource.entry < archive.entries().len()));
    }
}
