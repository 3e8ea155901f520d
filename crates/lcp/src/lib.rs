//! Readium LCP (Licensed Content Protection): protects publications, makes and checks licences.
//!
//! Sources: Readium LCP specification and its encryption profile 1.0 (`readium/lcp-specs`), EPUB OCF 3.3, W3C XML
//! Encryption 1.1, Readium Web Publication Manifest; behaviour checked against readium-lcp-server 1.14.0.
//!
//! ```text
//! publication ─> container (zip, raw entries) ─> package (what may be encrypted) ─┐
//!                                     content key, one a publication (random) ────┼─> protect ─> output, key record
//! ```
//!
//! - [`container`]: zip archives, read with distrust.
//! - [`encryption_xml`]: which resources of an EPUB are encrypted.
//! - [`protect`]: many publications at once.
//! - [`KeyFile`]: the content keys of what was protected.
//! - [`Notification`]: what a licence server is told.
//! - [`Protection`]: the same for every kind of protected publication.
//! - [`licence`]: licences read, checked, made and signed.
//! - [`embed`]: puts a licence into a publication, in place.
//! - [`check`], [`decrypt`]: open publications, whole libraries in parallel.
#![forbid(unsafe_code)]

pub mod container;
pub mod encryption_xml;
pub mod licence;
pub mod protect;

mod embed;
mod error;
mod keys;
mod library;
mod notification;
mod package;
mod resource;
#[cfg(test)]
mod samples;

pub use embed::embed;
pub use error::{Class, Error, ResourceFault};
pub use keys::{ContentKey, FileFacts, KeyFile, KeyRecord};
pub use library::{
    Check, Checked, Decrypt, Decrypted, Findings, Inspected, Issued, LicenceSummary, Place, Request, Subject,
    Unlistable, check, check_unless, decrypt, decrypt_unless, find_protected, inspect, issue_all,
    issue_all_unless,
};
pub use notification::{Generation, MOST_BYTES_V2, Notice, Notification, Recipient};
pub use package::{Kind, Metadata, Profile, ProtectedResource, Protection};
