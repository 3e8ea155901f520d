//! SSH keys as recipients and identities: `ssh-ed25519` and `ssh-rsa`.
//!
//! ```text
//! -> ssh-ed25519 base64(tag) base64(ephemeral share)       as X25519, with the Ed25519 key as a point of Curve25519
//! -> ssh-rsa base64(tag)                                   RSA-OAEP with SHA-256 and a label
//! ```
//!
//! The tag is the first four bytes of SHA-256 over the public key as SSH encodes it, so that no passphrase is asked for a file
//! that an encrypted key does not open.

mod der;
mod pem;
mod private;
mod public;
mod wire;

pub(super) use public::SshRecipient;

use super::fault::AgeFault;
use super::file_key::FileKey;
use super::prompt::Prompt;
use super::stanza::Stanza;
use crate::Error;
use pem::Contents;
use private::{KeyFile, SshSecret};
use std::sync::{Arc, Mutex, PoisonError};

/// An OpenSSH private key.
pub(super) struct SshIdentity {
    recipient: SshRecipient,
    secret: Mutex<State>,
    prompt: Arc<dyn Prompt>,
}

enum State {
    /// Encrypted; nobody was asked yet.
    Locked(KeyFile),
    Open(SshSecret),
    /// The passphrase was refused or wrong: nobody is asked twice.
    Failed(AgeFault),
}

impl SshIdentity {
    /// What a private key file begins with.
    pub(super) const MARKER: &[u8] = pem::MARKER.as_bytes();

    /// Reads a private key file. One that is encrypted is decrypted when a file needs it.
    pub(super) fn parse(contents: &[u8], prompt: &Arc<dyn Prompt>) -> Result<SshIdentity, Error> {
        let (recipient, state) = match pem::parse(contents)? {
            Contents::Key(recipient, secret) => (recipient, State::Open(secret)),
            Contents::OpenSsh(file) => {
                let recipient = SshRecipient::from_blob(&file.public, "")?;
                let state = match file.is_encrypted() {
                    true => State::Locked(file),
                    false => State::Open(file.open(None, &recipient)?),
                };
                (recipient, state)
            }
        };
        Ok(SshIdentity { recipient, secret: Mutex::new(state), prompt: Arc::clone(prompt) })
    }

    pub(super) fn recipient(&self) -> &SshRecipient {
        &self.recipient
    }

    /// The file key, if one of these stanzas wraps it for this key.
    pub(super) fn unwrap(&self, stanzas: &[Stanza]) -> Result<Option<FileKey>, Error> {
        for stanza in stanzas.iter().filter(|stanza| stanza.kind == self.recipient.kind()) {
            if !self.recipient.is_tagged(stanza)? {
                continue;
            }
            let mut state = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
            if let State::Locked(file) = &*state {
                *state = match self.unlock(file) {
                    Ok(secret) => State::Open(secret),
                    Err(Error::Age(fault)) => State::Failed(fault),
                    Err(error) => return Err(error),
                };
            }
            let key = match &*state {
                State::Open(secret) => secret.unwrap(&self.recipient, stanza)?,
                State::Failed(fault) => return Err(fault.clone().into()),
                State::Locked(_) => unreachable!("it was unlocked above"),
            };
            if key.is_some() {
                return Ok(key);
            }
        }
        Ok(None)
    }

    fn unlock(&self, file: &KeyFile) -> Result<SshSecret, Error> {
        let what = format!("the SSH key {}", self.recipient.tag());
        let passphrase = self.prompt.ask_passphrase(&what).ok_or(AgeFault::IdentityLocked)?;
        file.open(Some(&passphrase), &self.recipient)
    }
}
