//! What can be wrong with one key of a keyset: the part of an error message that follows "key 1234 of the keyset".

/// Why a key of a keyset cannot be used.
///
/// ```
/// use cipherloom::error::{Error, KeyFault};
/// use cipherloom::key::{Keyset, Template};
///
/// let mut keyset = Keyset::generate(Template::default())?;
/// let id = keyset.primary_id();
/// let error = keyset.disable(id).unwrap_err();
/// assert!(matches!(error, Error::KeysetKey { fault: KeyFault::Primary, .. }));
/// assert_eq!(error.to_string(), format!("key {id} of the keyset is the primary key, which encrypts"));
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFault {
    /// Another kind of key, or a key for another purpose.
    #[error("is of the type {type_url:?}, which is not a streaming AEAD")]
    Type {
        /// The type as the keyset names it.
        type_url: String,
    },
    /// `keyMaterialType` is not `SYMMETRIC`.
    #[error("is not marked SYMMETRIC, as streaming keys are")]
    Material,
    /// No status that Tink knows.
    #[error("has a status that is not ENABLED, DISABLED or DESTROYED")]
    Status,
    /// No output prefix type that Tink knows.
    #[error("has an unknown output prefix type, and streaming keys have RAW")]
    Prefix,
    /// The value is not base64.
    #[error("has a value that is not base64")]
    Base64,
    /// The value is not the message that its type says.
    #[error("has a value that is not a protobuf message")]
    Protobuf,
    /// A later version of the message.
    #[error("has version {0}; only version 0 is known")]
    Version(u32),
    /// A derived key of a size that is not AES-128 or AES-256.
    #[error("derives keys of {0} bytes; only 16 and 32 are allowed")]
    DerivedKeySize(u32),
    /// A main key shorter than the keys derived from it.
    #[error("has {found} secret bytes and needs at least {needed}")]
    TooShort {
        /// Bytes there are.
        found: usize,
        /// Bytes needed.
        needed: u32,
    },
    /// A hash that Tink does not use here.
    #[error("uses a hash for {purpose} that is not SHA1, SHA256 or SHA512")]
    Hash {
        /// "HKDF" or "HMAC".
        purpose: &'static str,
    },
    /// An HMAC tag too short to be safe or longer than the hash.
    #[error("has HMAC tags of {found} bytes; 10 to {most} are allowed")]
    TagSize {
        /// The size in the key.
        found: u32,
        /// The hash's length.
        most: u32,
    },
    /// A segment that has no room for a byte of plaintext, or is longer than Tink can count.
    #[error("has segments of {found} bytes; {least} to 2147483647 are allowed")]
    SegmentSize {
        /// The size in the key.
        found: u32,
        /// The smallest size.
        least: u32,
    },
    /// The keyset has no key of that identifier.
    #[error("is not there")]
    Missing,
    /// A key without its secret, or one that is not enabled, cannot become the primary.
    #[error("is not enabled, so it cannot encrypt")]
    NotEnabled,
    /// The key that encrypts.
    #[error("is the primary key, which encrypts")]
    Primary,
    /// Its secret is gone.
    #[error("is destroyed: only its identifier is left")]
    Destroyed,
    /// Segments that take more memory than is allowed.
    #[error(
        "has segments of {found} bytes, and each thread needs as much memory: more than the {most} allowed"
    )]
    SegmentLimit {
        /// The size in the key.
        found: u32,
        /// The most that is allowed.
        most: u32,
    },
}
