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
#![forbid(unsafe_code)]

pub mod container;
pub mod encryption_xml;
pub mod protect;

mod error;
mod keys;
mod notification;
mod package;

pub use error::{Class, Error};
pub use keys::{ContentKey, FileFacts, KeyFile, KeyRecord};
pub use notification::{Generation, Notification};
pub use package::{Kind, Metadata, Profile, ProtectedResource, Protection};
