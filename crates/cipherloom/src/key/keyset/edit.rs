//! Changing a keyset: more keys, another primary, keys that are not used any more. The rules are those of tinkey
//! (`add-key`, `promote-key`, `disable-key`, `enable-key`). No key is ever removed here: what it encrypted would be lost.

use super::{Entry, KeyStatus, Keyset};
use crate::Error;
use crate::error::KeyFault;
use crate::key::Template;

impl Keyset {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(keyset: &Keyset) -> Vec<(u32, KeyStatus, bool)> {
        keyset.keys().map(|key| (key.id, key.status, key.is_primary)).collect()
    }

    #[test]
    fn a_keyset_is_changed_and_never_left_without_an_enabled_primary() {
        use KeyStatus::{Disabled, Enabled};
        let mut keyset = Keyset::generate(Template::default()).unwrap();
        let first = keyset.primary_id();
        let second = keyset.add(Template::Aes128CtrHmacSha256Of4Kb).unwrap();
        assert_eq!(states(&keyset), [(first, Enabled, true), (second, Enabled, false)]);
        let fault = |result: Result<(), Error>| match result {
            Err(Error::KeysetKey { fault, .. }) => fault,
            other => panic!("{other:?}"),
        };
        assert_eq!(fault(keyset.disable(first)), KeyFault::Primary);
        keyset.promote(second).unwrap();
        keyset.disable(first).unwrap();
        assert_eq!(states(&keyset), [(first, Disabled, false), (second, Enabled, true)]);
        assert_eq!(keyset.enabled().count(), 1);
        assert_eq!(fault(keyset.promote(first)), KeyFault::NotEnabled);
        let mut read = Keyset::parse(keyset.to_json().as_bytes()).unwrap();
        assert_eq!(states(&read), states(&keyset));
        // The secret was kept: the key is what it was.
        read.enable(first).unwrap();
        read.promote(first).unwrap();
        assert_eq!(read.enabled().count(), 2);
        let unknown = (1..).find(|id| ![first, second].contains(id)).unwrap();
        for refused in [read.promote(unknown), read.disable(unknown), read.enable(unknown)] {
            assert_eq!(fault(refused), KeyFault::Missing);
        }
        read.keys[1].status = KeyStatus::Destroyed;
        assert_eq!(fault(read.enable(second)), KeyFault::Destroyed);
        assert_eq!(fault(read.disable(second)), KeyFault::Destroyed);
    }
}
