//! Keys: what opens a stream, how it is stored, and how it is kept from sight.
//!
//! | type | what it is | stored as |
//! |---|---|---|
//! | [`Keyset`] | one or more Tink streaming keys, one of them the primary | Tink's JSON, or that JSON inside an age file ([`wrapped`]) |
//! | [`RawKey`] | an AES key | 16, 24 or 32 bytes, or their hexadecimal digits |
//! | [`Passphrase`] | what a person remembers | the first line of a file, an environment variable, a prompt |
//!
//! Every type here zeroises its secret when dropped, and its `Debug` shows no secret.

mod file;
mod fingerprint;
mod keyset;
mod keyset_json;
mod passphrase;
mod protobuf;
mod raw;
mod streaming;
mod template;
pub mod wrapped;

pub use file::{SECRET_LIMIT, SecretFile, read_secret};
pub use keyset::{KeyInfo, KeyStatus, Keyset};
pub use passphrase::Passphrase;
pub use raw::RawKey;
pub use streaming::{HashType, Protection, StreamingKey};
pub use template::Template;
