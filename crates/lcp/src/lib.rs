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
//! - [`Protection`]: the same for every kind of protected publication.
//! - [`licence`]: licences read, checked, made and signed.
//! - [`check`]: whole libraries of publications and licences, in parallel.
#![forbid(unsafe_code)]

pub mod container;
pub mod encryption_xml;
pub mod licence;

mod error;
mod library;
mod package;
mod resource;

pub use error::{Class, Error, ResourceFault};
pub use library::{Check, Checked, LicenceSummary, Subject, check};
pub use package::{Kind, Metadata, Profile, ProtectedResource, Protection};
