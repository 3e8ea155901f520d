//! `cipherloom._native`: the library for the Python package, whose public part is Python (`python/cipherloom/`), with names and
//! exceptions after those of pyca/cryptography. Only what must be native is here.
//!
//! ```text
//! Python package ─> keyset, age ────────┐
//!                   request ─> tree     ├─> the library, without the interpreter's lock ─> watch: Ctrl-C, progress
//!                           └> stores   │
//!                   index, streaming ───┤
//!                   streams ────────────┘
//!                   hazmat ─────────────> the kernels
//! ```
//!
//! All long work runs with the interpreter's lock released. The calling thread takes part in it and checks for
//! signals in between ([`watch`]). Unsafe code is in [`buffer`] and [`fresh`]: bytes that Python lends, and those that it gets.
#![deny(unsafe_code)]

mod age;
mod buffer;
mod envelope;
mod errors;
mod fresh;
mod gathering;
mod hazmat;
mod hints;
mod index;
mod keyset;
mod lcp;
mod machine;
mod plain;
mod request;
mod stores;
mod streaming;
mod streams;
mod tree;
mod watch;

use pyo3::prelude::*;

/// The native part of `cipherloom`; use the package, not this.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::age::{AgeIdentity, AgeKeys, age_armor, age_dearmor};
    #[pymodule_export]
    use crate::envelope::{open_keyset, seal_keyset};
    #[pymodule_export]
    use crate::gathering::{Gathering, RecordedFiles, list_recorded};
    #[pymodule_export]
    use crate::hazmat::{aes_cbc_decrypt, aes_cbc_encrypt_many, aes_ctr};
    #[pymodule_export]
    use crate::index::{IndexEntries, list_entries};
    #[pymodule_export]
    use crate::keyset::{Keyset, templates};
    #[pymodule_export]
    use crate::lcp::{lcp_check, lcp_decrypt, lcp_encrypt, lcp_inspect, lcp_license};
    #[pymodule_export]
    use crate::request::{is_address, is_reserved, list_objects, plan, process, without_scheme};
    #[pymodule_export]
    use crate::streaming::StreamingAead;
    #[pymodule_export]
    use crate::streams::{DecryptingStream, EncryptingStream};
}
