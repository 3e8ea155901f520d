//! A set of streaming keys: one encrypts, all that are enabled decrypt.
//!
//! What makes a keyset acceptable is what tink-go 2.9 checks (`keyset/validation.go`): at least one key, no identifier
//! twice, the primary there and enabled. Streaming ciphertexts carry no key identifier, so a key's output prefix type
//! changes nothing; Tink accepts every known one "for legacy reasons", and so does this.
//!
//! A keyset is changed by the rules of tinkey (`add-key`, `promote-key`, `disable-key`, `enable-key`). No key is ever removed
//! here: what it encrypted would be lost.

use super::keyset_json::{self, MaterialType, OutputPrefix};
use super::streaming::{Protection, StreamingKey};
use super::template::Template;
use crate::Error;
use crate::error::KeyFault;
use std::fmt;
use zeroize::Zeroizing;

/// Whether a key may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyStatus {
    /// Encrypts (if it is the primary) and decrypts.
    Enabled,
    /// Kept, not used.
    Disabled,
    /// Only its identifier is left.
    Destroyed,
}

/// What may be told of a key to anyone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    /// The key's identifier.
    pub id: u32,
    /// Whether it may be used.
    pub status: KeyStatus,
    /// True for the key that encrypts.
    pub is_primary: bool,
    /// The message type that the keyset gives for it.
    pub type_url: String,
    /// How it protects segments; `None` for a key that is not enabled.
    pub protection: Option<Protection>,
    /// Bytes of a full ciphertext segment; `None` for a key that is not enabled.
    pub segment_size: Option<u32>,
}

/// A Tink keyset of streaming AEAD keys. A clone has its own copy of the secrets, wiped when it is dropped.
///
/// ```
/// use cipherloom::key::{HashType, KeyInfo, KeyStatus, Keyset, Protection, Template};
///
/// let mut keyset = Keyset::generate("AES128_GCM_HKDF_1MB".parse()?)?;
/// let old = keyset.primary_id();
/// let new = keyset.add(Template::Aes256CtrHmacSha256Of4Kb)?;
/// keyset.promote(new)?;
/// keyset.disable(old)?;
/// let keys: Vec<KeyInfo> = keyset.keys().collect();
/// assert_eq!((keys[0].status, keys[0].is_primary), (KeyStatus::Disabled, false));
/// assert_eq!(keys[1].protection, Some(Protection::CtrHmac { hash: HashType::Sha256, tag_size: 32 }));
/// assert_eq!(keys[1].segment_size, Some(Template::Aes256CtrHmacSha256Of4Kb.segment_size()));
/// keyset.enable(old)?;
///
/// let template = Template::ALL[0];
/// assert_eq!((template.name(), template.derived_key_size()), ("AES128_GCM_HKDF_4KB", 16));
/// assert_eq!((template.protection().tag_size(), HashType::Sha256.digest_len()), (16, 32));
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Keyset {
    pub(super) primary_id: u32,
    pub(super) keys: Vec<Entry>,
}

/// One key as the keyset stores it; `key` is there if it is enabled.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) id: u32,
    pub(super) status: KeyStatus,
    pub(super) prefix: OutputPrefix,
    pub(super) material: MaterialType,
    pub(super) type_url: String,
    pub(super) value: Zeroizing<Vec<u8>>,
    pub(super) key: Option<StreamingKey>,
}

impl Keyset {
    /// A keyset with one new key.
    ///
    /// # Errors
    /// [`Error::Random`] if the operating system gives no random bytes.
    pub fn generate(template: Template) -> Result<Self, Error> {
        let entry = Entry::generate(template)?;
        Ok(Self { primary_id: entry.id, keys: vec![entry] })
    }

    /// Reads Tink's JSON form of a keyset, as Tink for C++, Go, Java and Python write it.
    ///
    /// # Errors
    /// The `Keyset…` variants of [`Error`], each naming what is wrong. No message quotes the input.
    pub fn parse(json: &[u8]) -> Result<Self, Error> {
        let keyset = keyset_json::read(json)?;
        keyset.check()?;
        Ok(keyset)
    }

    /// Writes Tink's JSON form, ended by a newline. This text is the secret itself.
    #[must_use]
    pub fn to_json(&self) -> Zeroizing<String> {
        keyset_json::write(self)
    }

    /// The key that encrypts.
    ///
    /// # Panics
    /// Never: a keyset without an enabled primary is not made.
    #[must_use]
    pub(crate) fn primary(&self) -> &StreamingKey {
        self.enabled().next().expect("the primary was checked to be enabled").1
    }

    /// The keys that decrypt, with their identifiers, the primary first.
    pub(crate) fn enabled(&self) -> impl Iterator<Item = (u32, &StreamingKey)> {
        let (primary, others): (Vec<&Entry>, Vec<&Entry>) =
            self.keys.iter().partition(|entry| entry.id == self.primary_id);
        primary.into_iter().chain(others).filter_map(|entry| Some((entry.id, entry.key.as_ref()?)))
    }

    /// The identifier of the key that encrypts.
    #[must_use]
    pub fn primary_id(&self) -> u32 {
        self.primary_id
    }

    /// What may be told of each key, in the keyset's order.
    pub fn keys(&self) -> impl Iterator<Item = KeyInfo> {
        self.keys.iter().map(|entry| KeyInfo {
            id: entry.id,
            status: entry.status,
            is_primary: entry.id == self.primary_id,
            type_url: entry.type_url.clone(),
            protection: entry.key.as_ref().map(|key| key.protection),
            segment_size: entry.key.as_ref().map(|key| key.segment_size),
        })
    }

    /// The fingerprint of the key that encrypts, as 32 hexadecimal digits: a name that nobody can give to another key. It is no
    /// secret.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        self.primary().fingerprint()
    }

    /// Adds a new enabled key, which decrypts; the primary stays. Returns the new key's identifier.
    ///
    /// # Errors
    /// [`Error::Random`] if the operating system gives no random bytes.
    pub fn add(&mut self, template: Template) -> Result<u32, Error> {
        let entry = loop {
            let entry = Entry::generate(template)?;
            if self.keys.iter().all(|other| other.id != entry.id) {
                break entry;
            }
        };
        let id = entry.id;
        self.keys.push(entry);
        Ok(id)
    }

    /// Makes this key the primary: the one that encrypts.
    ///
    /// # Errors
    /// [`Error::KeysetKey`] if there is no such key or it is not enabled.
    pub fn promote(&mut self, id: u32) -> Result<(), Error> {
        if self.entry(id)?.status != KeyStatus::Enabled {
            return Err(Error::KeysetKey { id, fault: KeyFault::NotEnabled });
        }
        self.primary_id = id;
        Ok(())
    }

    /// Disables this key: it stays in the keyset and decrypts nothing until it is enabled again.
    ///
    /// # Errors
    /// [`Error::KeysetKey`] if there is no such key, or it is the primary or destroyed.
    pub fn disable(&mut self, id: u32) -> Result<(), Error> {
        if id == self.primary_id {
            return Err(Error::KeysetKey { id, fault: KeyFault::Primary });
        }
        let entry = self.present_entry(id)?;
        entry.status = KeyStatus::Disabled;
        entry.key = None;
        Ok(())
    }

    /// Enables this key again.
    ///
    /// # Errors
    /// [`Error::KeysetKey`] if there is no such key, it is destroyed, or it is not a key that can be used.
    pub fn enable(&mut self, id: u32) -> Result<(), Error> {
        let entry = self.present_entry(id)?;
        entry.status = KeyStatus::Enabled;
        entry.understand().inspect_err(|_| entry.status = KeyStatus::Disabled)
    }

    fn entry(&mut self, id: u32) -> Result<&mut Entry, Error> {
        let found = self.keys.iter_mut().find(|entry| entry.id == id);
        found.ok_or(Error::KeysetKey { id, fault: KeyFault::Missing })
    }

    fn present_entry(&mut self, id: u32) -> Result<&mut Entry, Error> {
        let entry = self.entry(id)?;
        if entry.status == KeyStatus::Destroyed {
            return Err(Error::KeysetKey { id, fault: KeyFault::Destroyed });
        }
        Ok(entry)
    }

    fn check(&self) -> Result<(), Error> {
        if self.keys.is_empty() {
            return Err(Error::KeysetEmpty);
        }
        for (position, entry) in self.keys.iter().enumerate() {
            if self.keys[..position].iter().any(|earlier| earlier.id == entry.id) {
                return Err(Error::KeysetDuplicate(entry.id));
            }
        }
        match self.keys.iter().find(|entry| entry.id == self.primary_id).map(|entry| entry.status) {
            Some(KeyStatus::Enabled) => Ok(()),
            Some(_) => Err(Error::KeysetPrimary { id: self.primary_id, problem: "is not enabled" }),
            None => Err(Error::KeysetPrimary { id: self.primary_id, problem: "is missing" }),
        }
    }
}

impl Entry {
    fn generate(template: Template) -> Result<Entry, Error> {
        let key = template.generate()?;
        Ok(Entry {
            id: random_id()?,
            status: KeyStatus::Enabled,
            prefix: OutputPrefix::Raw,
            material: MaterialType::Symmetric,
            type_url: key.type_url().to_owned(),
            value: key.serialize(),
            key: Some(key),
        })
    }

    /// Parses the key itself if it is enabled; others are kept as they are.
    pub(super) fn understand(&mut self) -> Result<(), Error> {
        if self.status == KeyStatus::Enabled {
            let id = self.id;
            if self.material != MaterialType::Symmetric {
                return Err(Error::KeysetKey { id, fault: KeyFault::Material });
            }
            let key = StreamingKey::parse(&self.type_url, &self.value);
            self.key = Some(key.map_err(|fault| Error::KeysetKey { id, fault })?);
        }
        Ok(())
    }
}

impl fmt::Debug for Keyset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Keyset")
            .field("primary_id", &self.primary_id)
            .field("keys", &self.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// Identifiers are random, so that keysets can be merged; 0 is avoided, for some tools take it for "none".
fn random_id() -> Result<u32, Error> {
    loop {
        match getrandom::u32().map_err(Error::Random)? {
            0 => {}
            id => return Ok(id),
        }
    }
}

#[cfg(test)]
mod tests;
