//! `cipherloom._native`: the library's doors as Python needs them. The package's public face is Python
//! (`python/cipherloom/`), with names and exceptions after those of pyca/cryptography; here is only what must be native.
//!
//! ```text
//! Python front ─> keyset ─────────────┐
//!                 request ─> tree     ├─> the library, without the interpreter's lock ─> watch: Ctrl-C, progress
//!                         └> stores   │
//!                 streaming, file ────┘
//!                 hazmat ─────────────> the kernels
//! ```
//!
//! All long work runs with the interpreter's lock released. The thread that called takes part in it and looks for
//! signals in between ([`watch`]). Unsafe code is in [`buffer`] and [`fresh`]: bytes
//! that Python lends, and those that it gets.
#![deny(unsafe_code)]

mod address;
mod buffer;
mod envelope;
mod errors;
mod file;
mod fresh;
mod hazmat;
mod keyset;
mod lcp;
mod machine;
mod request;
mod stores;
mod streaming;
mod tree;
mod watch;

use pyo3::prelude::*;

/// The native part of `cipherloom`; use the package, not this.
#[pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::address::{is_address, without_scheme};
    #[pymodule_export]
    use crate::envelope::{open_keyset, seal_keyset};
    #[pymodule_export]
    use crate::file::SealedFile;
    #[pymodule_export]
    use crate::hazmat::{aes_cbc_decrypt, aes_cbc_encrypt_many, aes_ctr};
    #[pymodule_export]
    use crate::keyset::{Keyset, templates};
    #[pymodule_export]
    use crate::lcp::{lcp_check, lcp_decrypt, lcp_encrypt, lcp_inspect, lcp_license};
    #[pymodule_export]
    use crate::request::{list_objects, plan, process};
    #[pymodule_export]
    use crate::streaming::StreamingAead;
}
