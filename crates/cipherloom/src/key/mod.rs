//! Keys: what opens a stream, how it is stored, and how it is kept from sight.
//!
//! | type | what it is | stored as |
//! |---|---|---|
//! | [`Keyset`] | one or more Tink streaming keys, one of them the primary | Tink's JSON, or that JSON inside an age file ([`wrapped`]) |
//! | [`RawKey`] | an AES key | 16, 24 or 32 bytes, or their hexadecimal digits |
//! | [`Passphrase`] | what a person remembers | the first line of a file, an environment variable, a prompt |
//!
//! Every type here wipes its secret when it is dropped, and its `Debug` shows no secret.
//!
//! ```
//! use cipherloom::key::wrapped::{self, Lock, Opener};
//! use cipherloom::key::{Keyset, Passphrase, RawKey, Template};
//!
//! let keyset = Keyset::generate(Template::default())?;
//! let again = Keyset::parse(keyset.to_json().as_bytes())?;
//! assert_eq!(again.fingerprint(), keyset.fingerprint());
//!
//! let passphrase = Passphrase::new(b"correct horse battery staple")?;
//! let locked = wrapped::wrap(&keyset, &Lock::Passphrase(&passphrase))?;
//! let opened = wrapped::unwrap(&locked, &Opener::Passphrase(&passphrase))?;
//! assert_eq!(opened.primary_id(), keyset.primary_id());
//!
//! // For somebody with an age identity, of which only the recipient is known here.
//! use cipherloom::age::Identity;
//! use cipherloom::key::wrapped::LockKind;
//!
//! let identity = Identity::generate()?;
//! let locked = wrapped::wrap(&keyset, &Lock::Recipients(&[identity.recipient().to_string()]))?;
//! assert!(wrapped::is_wrapped(&locked));
//! assert_eq!(wrapped::lock_kind(&locked)?, LockKind::Recipients);
//! let opened = wrapped::unwrap(&locked, &Opener::Identities(&[identity]))?;
//! assert_eq!(opened.primary_id(), keyset.primary_id());
//!
//! let raw = RawKey::parse(b"000102030405060708090a0b0c0d0e0f")?;
//! assert_eq!(raw.len(), 16);
//! # Ok::<(), cipherloom::Error>(())
//! ```

mod file;
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
pub(crate) use streaming::StreamingKey;
pub use streaming::{HashType, Protection};
pub use template::Template;
