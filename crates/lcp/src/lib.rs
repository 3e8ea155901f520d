//! Readium LCP (Licensed Content Protection): protects publications, makes and checks licenses.
//!
//! ```
//! use cipherloom::{IfExists, machine::{Calibration, Machine}, report::Unobserved};
//! use cipherloom_lcp::license::{self, License, LicenseOutput, LicenseRequest, Moment, Roots, Signer, Terms, UserKey};
//! use cipherloom_lcp::notification::{Generation, Notification, Recipient};
//! use cipherloom_lcp::protect::{self, Job, Plan};
//! use cipherloom_lcp::{
//!     CheckOptions, DecryptOptions, ErrorKind, KeyFile, KeyRecord, Kind, Outcome, Profile, Subject,
//! };
//! use std::num::NonZeroUsize;
//!
//! # use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
//! # let mut authority = CertificateParams::default();
//! # authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
//! # let key = KeyPair::generate()?;
//! # let root_certificate = authority.self_signed(&key)?.pem();
//! # let issuer = Issuer::new(authority, key);
//! # let mut provider = CertificateParams::default();
//! # provider.key_usages = vec![KeyUsagePurpose::DigitalSignature];
//! # let key = KeyPair::generate()?;
//! # let certificate = provider.signed_by(&key, &issuer)?.pem();
//! # let private_key = key.serialize_pem();
//! # let folder = tempfile::tempdir()?;
//! # let [books, out, keys] = ["books", "protected", "keys.jsonl"].map(|name| folder.path().join(name));
//! # std::fs::create_dir(&books)?;
//! # std::fs::write(books.join("flatland.pdf"), b"%PDF-1.7\n")?;
//! // Protect all publications of a folder. Their content keys go to a file of their own.
//! let found = protect::find(&[books], &out)?;
//! let mut job = Job::new(found.sources, &out, &keys);
//! job.identity.recipient = Some(Recipient {
//!     generation: Generation::V2,
//!     url: None,
//!     provider: "https://provider.example.com".into(),
//!     base: "https://cdn.example.com".into(),
//! });
//! let plan = Plan::new(&job, &Machine::detect(Calibration::default()), None);
//! let report = protect::run(&job, &plan, &Unobserved, &|event| match event.outcome {
//!     Outcome::Done(protected) => println!("{}: {} encrypted", event.source.display(), protected.encrypted),
//!     Outcome::Skipped => {}
//!     Outcome::Failed(error) => eprintln!("{}: {error}", event.source.display()),
//! })?;
//! assert_eq!((report.done, report.failed), (1, 0));
//!
//! // Notify a license server of the publication.
//! let records = KeyFile::read(&keys)?;
//! let book = out.join("flatland.lcpdf");
//! let record = KeyRecord::of_publication(&records, &book)?;
//! let notification = Notification::new(record, record.notice.as_ref().expect("a recipient was given"));
//! assert_eq!((notification.method, notification.path.as_str()), ("POST", "publications"));
//! let mut notified = record.clone();
//! notified.notice.as_mut().expect("a recipient was given").sent = true;
//! KeyFile::open(&keys)?.append([&notified])?;
//!
//! // Make a license for a reader, and put it into the publication.
//! let user_key = || UserKey::basic("passphrase");
//! let mut terms = Terms::new("https://provider.example.com");
//! terms.hint = "the word on the card".into();
//! terms.encrypted_fields = vec!["email".into(), "name".into()];
//! terms.set_user_field("email", Some("reader@example.com".into()));
//! terms.encrypt_given_fields();
//! let output = LicenseOutput::File(folder.path().join("license.lcpl"));
//! let request = LicenseRequest { terms, record, user_key: user_key(), output };
//! let signer = Signer::new(certificate.as_bytes(), private_key.as_bytes())?;
//! let threads = NonZeroUsize::MIN;
//! let report =
//!     license::issue_all(&[request], &signer, IfExists::Fail, threads, &Unobserved, &|_, outcome| {
//!         assert!(matches!(outcome, Outcome::Done(_)));
//!     })?;
//! assert_eq!(report.done, 1);
//! let license = License::parse(&std::fs::read(folder.path().join("license.lcpl"))?)?;
//! license.check_completeness()?;
//! license.check_rights(Moment::now())?;
//! assert_eq!(user_key().user_fields(license.document())?[0].1.as_str(), "reader@example.com");
//! assert_eq!(user_key().content_key(license.document())?, record.content_key);
//! cipherloom_lcp::embed(&book, &license, IfExists::Fail)?;
//!
//! // Check publications, with a reader's passphrase and the root certificate of the license authority.
//! let roots = || Roots::from_file(root_certificate.as_bytes());
//! roots()?.confirm(&license.check_signature()?, Moment::now())?;
//! let mut options = CheckOptions::default();
//! (options.user_key, options.roots) = (Some(user_key()), Some(roots()?));
//! let found = cipherloom_lcp::find_protected(&[out])?;
//! cipherloom_lcp::check(&found.files, &options, threads, &Unobserved, &|checked| {
//!     assert!(checked.is_sound(), "{}: {:?}", checked.path.display(), checked.problems);
//! })?;
//! assert_eq!(License::parse(b"{}").unwrap_err().kind(), ErrorKind::Content);
//!
//! // Describe one without a key, and decrypt it.
//! let inspected = cipherloom_lcp::inspect(&book)?;
//! assert_eq!(inspected.subject, Subject::Publication(Kind::Readium(Profile::Pdf)));
//! let clear = folder.path().join("flatland.webpub");
//! let decrypted =
//!     cipherloom_lcp::decrypt(&book, &clear, &DecryptOptions::new(user_key()), threads, &Unobserved);
//! assert_eq!(decrypted.map_err(|mut problems| problems.remove(0))?.map(|decrypted| decrypted.resources), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`protect`]: encrypts publications, many at once.
//! - [`KeyFile`]: the content keys of what was protected.
//! - [`license`]: licenses read, checked, made and signed; [`embed`] puts one into a publication.
//! - [`check`], [`decrypt`], [`inspect`]: protected publications and licenses.
//! - [`notification`]: notifies a license server of a protected publication.
//!
//! Every operation takes a [`cipherloom::Observer`] for its progress and for stopping it, and passes the results of single
//! publications to a function. A license's user key is of the basic profile, which is for tests: how it is made is public.
//!
//! Sources: Readium LCP specification and its encryption profile 1.0 (`readium/lcp-specs`), EPUB OCF 3.3, W3C XML
//! Encryption 1.1, Readium Web Publication Manifest; behaviour checked against readium-lcp-server 1.14.0.
//!
//! ```text
//! publication ─> container (zip, raw entries) ─> package (what may be encrypted) ─┐
//!                                     content key, one a publication (random) ────┼─> protect ─> output, key record
//! ```
#![forbid(unsafe_code)]

pub mod license;
pub mod notification;
pub mod protect;

mod container;
mod embed;
mod encryption_xml;
mod error;
mod keys;
mod library;
mod package;
mod report;
mod resource;
#[cfg(test)]
mod samples;

/// For the other crates of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod internal {
    pub use crate::container::{Archive, Entry, Method, Source};
    pub use crate::encryption_xml::{Compression, EncryptionXml, Protected};
    pub use crate::error::common_hint;
    pub use crate::keys::{make_private, open_private};
    pub use crate::package::{Metadata, ProtectedResource, Protection};
}

pub use embed::embed;
pub use error::{Error, ErrorKind};
pub use keys::{ContentKey, FileFacts, KeyFile, KeyRecord};
pub use library::{
    CheckOptions, Checked, DecryptOptions, Decrypted, FoundFiles, Inspected, LicenseSummary, Subject,
    Unchecked, check, decrypt, find_protected, inspect,
};
pub use package::{Kind, Profile};
use package::{ProtectedResource, Protection};
pub use report::{Outcome, Report};
pub use resource::ResourceFault;
