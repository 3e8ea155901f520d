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
//! - [`licence`]: licences read, checked, made and signed.
//! - [`container`]: zip archives, read with distrust and written at known offsets.
#![forbid(unsafe_code)]

pub mod licence;

mod error;

pub use error::{Class, Error};
