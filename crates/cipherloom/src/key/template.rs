//! The eight key templates of Tink's streaming AEAD.
//!
//! The names are Tink's own (`streaming_aead_key_templates`, `PredefinedStreamingAeadParameters`). In each the main
//! key is as long as the derived one, HKDF uses SHA-256, and CTR's HMAC is SHA-256 with all of its 32 bytes.

use super::streaming::{HashType, Protection, StreamingKey};
use crate::Error;
use std::{fmt, str::FromStr};
use zeroize::Zeroizing;

/// A named choice of cipher, key size and segment size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Template {
    /// AES-128-GCM, segments of 4 KiB.
    Aes128GcmHkdf4Kb,
    /// AES-128-GCM, segments of 1 MiB.
    Aes128GcmHkdf1Mb,
    /// AES-256-GCM, segments of 4 KiB.
    Aes256GcmHkdf4Kb,
    /// AES-256-GCM, segments of 1 MiB: the default.
    #[default]
    Aes256GcmHkdf1Mb,
    /// AES-128-CTR with HMAC-SHA256, segments of 4 KiB.
    Aes128CtrHmacSha256Of4Kb,
    /// AES-128-CTR with HMAC-SHA256, segments of 1 MiB.
    Aes128CtrHmacSha256Of1Mb,
    /// AES-256-CTR with HMAC-SHA256, segments of 4 KiB.
    Aes256CtrHmacSha256Of4Kb,
    /// AES-256-CTR with HMAC-SHA256, segments of 1 MiB.
    Aes256CtrHmacSha256Of1Mb,
}

impl Template {
    /// All templates, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Aes128GcmHkdf4Kb,
        Self::Aes128GcmHkdf1Mb,
        Self::Aes256GcmHkdf4Kb,
        Self::Aes256GcmHkdf1Mb,
        Self::Aes128CtrHmacSha256Of4Kb,
        Self::Aes128CtrHmacSha256Of1Mb,
        Self::Aes256CtrHmacSha256Of4Kb,
        Self::Aes256CtrHmacSha256Of1Mb,
    ];

    /// Tink's name of the template.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.parameters().0
    }

    /// How its keys protect segments.
    #[must_use]
    pub fn protection(self) -> Protection {
        self.parameters().1
    }

    /// Bytes of the AES key derived for each stream: 16 or 32.
    #[must_use]
    pub fn derived_key_size(self) -> u32 {
        self.parameters().2
    }

    /// Bytes of a full ciphertext segment.
    #[must_use]
    pub fn segment_size(self) -> u32 {
        self.parameters().3
    }

    /// A new key of this template, from the operating system's random bytes.
    pub(super) fn generate(self) -> Result<StreamingKey, Error> {
        let (_, protection, size, segment_size) = self.parameters();
        let mut key_value = Zeroizing::new(vec![0; size as usize]);
        getrandom::fill(&mut key_value).map_err(Error::Random)?;
        Ok(StreamingKey {
            protection,
            segment_size,
            derived_key_size: size,
            hkdf_hash: HashType::Sha256,
            key_value,
        })
    }

    /// Name, protection, and the sizes of key and segment in bytes.
    fn parameters(self) -> (&'static str, Protection, u32, u32) {
        const GCM: Protection = Protection::Gcm;
        const HMAC: Protection = Protection::CtrHmac { hash: HashType::Sha256, tag_size: 32 };
        const KB_4: u32 = 4 << 10;
        const MB: u32 = 1 << 20;
        match self {
            Self::Aes128GcmHkdf4Kb => ("AES128_GCM_HKDF_4KB", GCM, 16, KB_4),
            Self::Aes128GcmHkdf1Mb => ("AES128_GCM_HKDF_1MB", GCM, 16, MB),
            Self::Aes256GcmHkdf4Kb => ("AES256_GCM_HKDF_4KB", GCM, 32, KB_4),
            Self::Aes256GcmHkdf1Mb => ("AES256_GCM_HKDF_1MB", GCM, 32, MB),
            Self::Aes128CtrHmacSha256Of4Kb => ("AES128_CTR_HMAC_SHA256_4KB", HMAC, 16, KB_4),
            Self::Aes128CtrHmacSha256Of1Mb => ("AES128_CTR_HMAC_SHA256_1MB", HMAC, 16, MB),
            Self::Aes256CtrHmacSha256Of4Kb => ("AES256_CTR_HMAC_SHA256_4KB", HMAC, 32, KB_4),
            Self::Aes256CtrHmacSha256Of1Mb => ("AES256_CTR_HMAC_SHA256_1MB", HMAC, 32, MB),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Template {
    type Err = Error;

    /// Reads a template's name, in whichever case.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists the names.
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|template| template.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::UnknownName {
                what: "template",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for template in Template::ALL {
            assert_eq!(template.to_string().parse::<Template>().unwrap(), template);
            assert_eq!(template.name().to_lowercase().parse::<Template>().unwrap(), template);
        }
        assert_eq!(Template::default().name(), "AES256_GCM_HKDF_1MB");
        let Err(Error::UnknownName { name, known, .. }) = "AES512".parse::<Template>() else {
            panic!("a template")
        };
        assert!(name == "AES512" && known.contains("AES128_CTR_HMAC_SHA256_4KB"), "{known}");
    }

    #[test]
    fn generated_keys_have_what_the_name_says() {
        for template in Template::ALL {
            let key = template.generate().unwrap();
            let name = template.name();
            assert_eq!(key.derived_key_size, if name.contains("AES128") { 16 } else { 32 });
            assert_eq!(key.key_value.len(), key.derived_key_size as usize);
            assert_eq!(key.segment_size, if name.ends_with("4KB") { 4096 } else { 1_048_576 });
            assert_eq!(key.protection == Protection::Gcm, name.contains("GCM"));
            assert_ne!(key.key_value, template.generate().unwrap().key_value);
        }
    }
}
