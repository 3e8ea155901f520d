//! One Tink streaming key: parameters and secret, as the two protobuf messages carry them.
//!
//! The messages are those of Tink's `aes_gcm_hkdf_streaming.proto` and `aes_ctr_hmac_streaming.proto`; what makes a
//! key acceptable is what tink-go 2.9 checks (`streamingaead/aesgcmhkdf`, `streamingaead/aesctrhmac`).
//!
//! ```text
//! AesGcmHkdfStreamingKey / AesCtrHmacStreamingKey    params
//!   1  version    uint32, 0                            1  ciphertext_segment_size  uint32, header included
//!   2  params     message ---------------------->      2  derived_key_size         uint32, 16 or 32
//!   3  key_value  bytes, at least derived_key_size     3  hkdf_hash_type           SHA1 = 1, SHA256 = 3, SHA512 = 4
//!                                                      4  hmac_params              1 hash, 2 tag_size (CTR-HMAC only)
//! ```

use super::protobuf::{self, Malformed, Value, Writer};
use crate::error::KeyFault;
use aws_lc_rs::hmac;
use std::fmt;
use zeroize::Zeroizing;

const GCM_TYPE_URL: &str = "type.googleapis.com/google.crypto.tink.AesGcmHkdfStreamingKey";
const CTR_TYPE_URL: &str = "type.googleapis.com/google.crypto.tink.AesCtrHmacStreamingKey";

/// A hash function, by Tink's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HashType {
    /// SHA-1 (in HKDF and HMAC only).
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl HashType {
    /// Each with its number in Tink's messages and its length in bytes.
    const ALL: [(Self, u32, u32); 3] = [(Self::Sha1, 1, 20), (Self::Sha256, 3, 32), (Self::Sha512, 4, 64)];

    /// Length of the hash in bytes.
    #[must_use]
    pub fn digest_len(self) -> u32 {
        self.entry().2
    }

    fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|entry| entry.1 == number).map(|entry| entry.0)
    }

    fn number(self) -> u32 {
        self.entry().1
    }

    fn entry(self) -> (Self, u32, u32) {
        Self::ALL[self as usize]
    }
}

/// How a streaming key protects its segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protection {
    /// AES-GCM with 16-byte tags.
    Gcm,
    /// AES-CTR, then HMAC.
    CtrHmac {
        /// HMAC's hash.
        hash: HashType,
        /// Bytes of the tag that are kept.
        tag_size: u32,
    },
}

impl Protection {
    /// Bytes that a segment's ciphertext is longer than its plaintext.
    #[must_use]
    pub fn tag_size(self) -> u32 {
        match self {
            Self::Gcm => 16,
            Self::CtrHmac { tag_size, .. } => tag_size,
        }
    }
}

/// A main key and its parameters.
#[derive(Clone)]
pub(crate) struct StreamingKey {
    /// How segments are protected.
    pub(crate) protection: Protection,
    /// Bytes of a full ciphertext segment, tag included; the first one's header counts in it.
    pub(crate) segment_size: u32,
    /// Bytes of the AES key derived for each stream, which is also the salt's length: 16 or 32.
    pub(crate) derived_key_size: u32,
    /// HKDF's hash.
    pub(crate) hkdf_hash: HashType,
    pub(crate) key_value: Zeroizing<Vec<u8>>,
}

impl StreamingKey {
    /// Bytes of a stream's header: its length in one byte, the salt, the nonce prefix.
    #[must_use]
    pub(crate) fn header_len(&self) -> u32 {
        header_len(self.derived_key_size)
    }

    /// Reads the message that `type_url` names, and checks it as Tink does.
    pub(super) fn parse(type_url: &str, value: &[u8]) -> Result<Self, KeyFault> {
        let has_hmac = match type_url {
            GCM_TYPE_URL => false,
            CTR_TYPE_URL => true,
            _ => return Err(KeyFault::Type { type_url: type_url.to_owned() }),
        };
        let message = Message::read(value).map_err(|Malformed| KeyFault::Protobuf)?;
        message.check(has_hmac)
    }

    /// The type's name in a keyset.
    pub(super) fn type_url(&self) -> &'static str {
        match self.protection {
            Protection::Gcm => GCM_TYPE_URL,
            Protection::CtrHmac { .. } => CTR_TYPE_URL,
        }
    }

    /// The message, as Tink's own serializers order it.
    pub(super) fn serialize(&self) -> Zeroizing<Vec<u8>> {
        let mut params = Writer::with_capacity(32);
        params.varint(1, self.segment_size);
        params.varint(2, self.derived_key_size);
        params.varint(3, self.hkdf_hash.number());
        if let Protection::CtrHmac { hash, tag_size } = self.protection {
            let mut hmac = Writer::with_capacity(12);
            hmac.varint(1, hash.number());
            hmac.varint(2, tag_size);
            params.bytes(4, &hmac.finish());
        }
        let params = params.finish();
        let mut message = Writer::with_capacity(16 + params.len() + self.key_value.len());
        message.bytes(2, &params);
        message.bytes(3, &self.key_value);
        message.finish()
    }

    /// The key's fingerprint, as 32 hexadecimal digits. It is no secret.
    ///
    /// ```text
    /// fingerprint = the first 16 bytes of HMAC-SHA-256("cipherloom key fingerprint v1", type URL | 0 | key message)
    /// ```
    ///
    /// This is HKDF-Extract (RFC 5869) with a salt of its own, so that it is independent of the keys derived for streams. The
    /// key message is that of [`StreamingKey::serialize`]: wrapping, formatting or renumbering a keyset changes nothing.
    pub(super) fn fingerprint(&self) -> String {
        let salt = hmac::Key::new(hmac::HMAC_SHA256, b"cipherloom key fingerprint v1");
        let mut context = hmac::Context::with_key(&salt);
        context.update(self.type_url().as_bytes());
        context.update(&[0]);
        context.update(&self.serialize());
        context.sign().as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for StreamingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StreamingKey")
            .field("protection", &self.protection)
            .field("segment_size", &self.segment_size)
            .field("derived_key_size", &self.derived_key_size)
            .field("hkdf_hash", &self.hkdf_hash)
            .finish_non_exhaustive()
    }
}

pub(super) fn header_len(derived_key_size: u32) -> u32 {
    1 + derived_key_size + 7
}

/// The fields as they stand in the message, unchecked; a field that is missing has proto3's default.
#[derive(Default)]
struct Message {
    version: u32,
    segment_size: u32,
    derived_key_size: u32,
    hkdf_hash: u32,
    hmac_hash: u32,
    tag_size: u32,
    key_value: Zeroizing<Vec<u8>>,
}

impl Message {
    fn read(value: &[u8]) -> Result<Self, Malformed> {
        let mut message = Self::default();
        let mut nested = Ok(());
        protobuf::read(value, |number, value| match (number, value) {
            // A uint32 is the low half of its varint.
            (1, Value::Varint(version)) => message.version = version as u32,
            (2, Value::Bytes(params)) => nested = nested.and(message.read_params(params)),
            (3, Value::Bytes(secret)) => message.key_value = Zeroizing::new(secret.to_vec()),
            _ => {}
        })?;
        nested.map(|()| message)
    }

    fn read_params(&mut self, params: &[u8]) -> Result<(), Malformed> {
        let mut nested = Ok(());
        protobuf::read(params, |number, value| match (number, value) {
            (1, Value::Varint(size)) => self.segment_size = size as u32,
            (2, Value::Varint(size)) => self.derived_key_size = size as u32,
            (3, Value::Varint(hash)) => self.hkdf_hash = hash as u32,
            (4, Value::Bytes(hmac)) => {
                nested = nested.and(protobuf::read(hmac, |number, value| match (number, value) {
                    (1, Value::Varint(hash)) => self.hmac_hash = hash as u32,
                    (2, Value::Varint(size)) => self.tag_size = size as u32,
                    _ => {}
                }));
            }
            _ => {}
        })?;
        nested
    }

    fn check(self, has_hmac: bool) -> Result<StreamingKey, KeyFault> {
        if self.version != 0 {
            return Err(KeyFault::Version(self.version));
        }
        if self.derived_key_size != 16 && self.derived_key_size != 32 {
            return Err(KeyFault::DerivedKeySize(self.derived_key_size));
        }
        if self.key_value.len() < self.derived_key_size as usize {
            return Err(KeyFault::TooShort { found: self.key_value.len(), needed: self.derived_key_size });
        }
        let hkdf_hash = HashType::from_number(self.hkdf_hash).ok_or(KeyFault::Hash { purpose: "HKDF" })?;
        let protection = if has_hmac {
            let hash = HashType::from_number(self.hmac_hash).ok_or(KeyFault::Hash { purpose: "HMAC" })?;
            if !(10..=hash.digest_len()).contains(&self.tag_size) {
                return Err(KeyFault::TagSize { found: self.tag_size, most: hash.digest_len() });
            }
            Protection::CtrHmac { hash, tag_size: self.tag_size }
        } else {
            Protection::Gcm
        };
        let least = header_len(self.derived_key_size) + protection.tag_size() + 1;
        if !(least..=i32::MAX as u32).contains(&self.segment_size) {
            return Err(KeyFault::SegmentSize { found: self.segment_size, least });
        }
        Ok(StreamingKey {
            protection,
            segment_size: self.segment_size,
            derived_key_size: self.derived_key_size,
            hkdf_hash,
            key_value: self.key_value,
        })
    }
}

#[cfg(test)]
mod tests;
