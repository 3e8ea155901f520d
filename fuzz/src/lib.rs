//! Fuzz targets: each takes bytes that a stranger may hand to the library, and panics if the library breaks a promise.
//!
//! `cargo xtask fuzz` runs them under libFuzzer and the address sanitizer; `tests/seeds.rs` replays the committed seeds,
//! each whole, cut short and damaged, with every run of the tests.

mod age;
mod index;
mod keys;
mod publications;
mod streams;

/// Takes an input, and panics if it breaks a promise.
pub type Target = fn(&[u8]);

/// Every target by the name of its folder in `seeds/`.
pub const TARGETS: [(&str, Target); 18] = [
    ("age_armor", age::age_armor),
    ("age_keys", age::age_keys),
    ("age_plugin", age::age_plugin),
    ("age_stream", age::age_stream),
    ("certificate", publications::certificate),
    ("cobblestone_stream", streams::cobblestone_stream),
    ("encryption_xml", publications::encryption_xml),
    ("index_part", index::index_part),
    ("index_root", index::index_root),
    ("keyset_json", keys::keyset_json),
    ("license", publications::license),
    ("openssl_stream", streams::openssl_stream),
    ("raw_key", keys::raw_key),
    ("raw_stream", streams::raw_stream),
    ("recognise", streams::recognise),
    ("tink_stream", streams::tink_stream),
    ("wrapped_keyset", keys::wrapped_keyset),
    ("zip_directory", publications::zip_directory),
];
