//! Fuzz targets: each takes bytes that a stranger may hand to the library, and panics if the library breaks a promise.
//!
//! `cargo xtask fuzz` runs them under libFuzzer and the address sanitizer; `tests/seeds.rs` replays the committed seeds,
//! each whole, cut short and damaged, with every run of the tests.

mod keys;
mod publications;
mod streams;

/// Takes an input, and panics if it breaks a promise.
pub type Target = fn(&[u8]);

/// Every target by the name of its folder in `seeds/`.
pub const TARGETS: [(&str, Target); 12] = [
    ("certificate", publications::certificate),
    ("cobblestone_stream", streams::cobblestone_stream),
    ("encryption_xml", publications::encryption_xml),
    ("keyset_json", keys::keyset_json),
    ("licence", publications::licence),
    ("openssl_stream", streams::openssl_stream),
    ("raw_key", keys::raw_key),
    ("raw_stream", streams::raw_stream),
    ("recognise", streams::recognise),
    ("tink_stream", streams::tink_stream),
    ("wrapped_keyset", keys::wrapped_keyset),
    ("zip_directory", publications::zip_directory),
];
