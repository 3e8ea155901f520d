//! Identities: what opens a file, as one value whatever the type.

use super::fault::AgeFault;
use super::file_key::FileKey;
use super::hybrid::{self, HybridIdentity};
use super::plugin::Plugin;
use super::prompt::Prompt;
use super::recipient::{Recipient, RecipientKind};
use super::scrypt::{self, ScryptIdentity, ScryptRecipient, WORK_FACTOR, WORK_LIMIT};
use super::ssh::SshIdentity;
use super::stanza::{Stanza, malformed};
use super::x25519::{self, X25519Identity};
use crate::Error;
use crate::key::Passphrase;
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What opens a file. A clone is cheap and shares the secret, which is wiped with the last of them.
///
/// ```
/// use cipherloom::age::Identity;
///
/// let identity = Identity::generate()?;
/// let text = identity.to_secret_text().unwrap();
/// assert!(text.starts_with("AGE-SECRET-KEY-1"));
/// let again = Identity::parse(&text)?;
/// assert_eq!(again.recipient().to_string(), identity.recipient().to_string());
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Identity(pub(super) Arc<IdentityKind>);

pub(super) enum IdentityKind {
    X25519(X25519Identity),
    Hybrid(Box<HybridIdentity>),
    Scrypt(ScryptIdentity),
    Ssh(SshIdentity),
    Plugin(Plugin),
}

impl Identity {
    /// A new X25519 identity.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn generate() -> Result<Identity, Error> {
        X25519Identity::generate().map(|identity| Identity(Arc::new(IdentityKind::X25519(identity))))
    }

    /// A new post-quantum identity (ML-KEM-768 and X25519), which age 1.3 and later open.
    ///
    /// # Errors
    /// [`Error::Random`].
    pub fn generate_post_quantum() -> Result<Identity, Error> {
        HybridIdentity::generate()
            .map(|identity| Identity(Arc::new(IdentityKind::Hybrid(Box::new(identity)))))
    }

    /// Reads a line of an identity file: `AGE-SECRET-KEY-1…`, `AGE-SECRET-KEY-PQ-1…` or `AGE-PLUGIN-NAME-1…`. A plugin's
    /// questions are answered with a refusal; see [`Identity::parse_with`].
    ///
    /// # Errors
    /// [`AgeFault::Identity`].
    pub fn parse(text: &str) -> Result<Identity, Error> {
        Identity::parse_with(text, &super::no_prompt())
    }

    /// As [`Identity::parse`]; `prompt` answers what a plugin asks.
    ///
    /// # Errors
    /// As [`Identity::parse`].
    pub fn parse_with(text: &str, prompt: &Arc<dyn Prompt>) -> Result<Identity, Error> {
        let text = text.trim_ascii();
        let kind = if text.starts_with("AGE-SECRET-KEY-1") {
            IdentityKind::X25519(X25519Identity::parse(text)?)
        } else if text.starts_with("AGE-SECRET-KEY-PQ-1") {
            IdentityKind::Hybrid(Box::new(HybridIdentity::parse(text)?))
        } else if text.starts_with("AGE-PLUGIN-") {
            IdentityKind::Plugin(Plugin::from_identity(text, prompt)?)
        } else {
            let problem = "it begins as no type of identity does";
            return Err(AgeFault::Identity { problem }.into());
        };
        Ok(Identity(Arc::new(kind)))
    }

    /// The passphrase of a file. `work_limit`: log2 of the most rounds of scrypt that a file may ask for, 1 to 30;
    /// [`WORK_LIMIT`] by default.
    ///
    /// # Errors
    /// [`Error::PassphraseUnfit`] if it is not UTF-8.
    ///
    /// # Panics
    /// If `work_limit` is out of range.
    pub fn from_passphrase(passphrase: Passphrase, work_limit: Option<u8>) -> Result<Identity, Error> {
        let work_limit = work_limit.unwrap_or(WORK_LIMIT);
        assert!((1..=30).contains(&work_limit), "a limit is 1 to 30");
        passphrase.text()?;
        Ok(Identity(Arc::new(IdentityKind::Scrypt(ScryptIdentity { passphrase, work_limit }))))
    }

    /// The recipient whose files this identity opens.
    #[must_use]
    pub fn recipient(&self) -> Recipient {
        Recipient(Arc::new(match &*self.0 {
            IdentityKind::X25519(identity) => RecipientKind::X25519(identity.recipient().clone()),
            IdentityKind::Hybrid(identity) => RecipientKind::Hybrid(identity.recipient().clone()),
            IdentityKind::Ssh(identity) => RecipientKind::Ssh(identity.recipient().clone()),
            IdentityKind::Plugin(plugin) => RecipientKind::Plugin(plugin.clone()),
            IdentityKind::Scrypt(identity) => RecipientKind::Scrypt(ScryptRecipient {
                passphrase: identity.passphrase.clone(),
                work_factor: WORK_FACTOR,
            }),
        }))
    }

    /// The line that an identity file has for it, which is secret; `None` for SSH keys and passphrases.
    #[must_use]
    pub fn to_secret_text(&self) -> Option<Zeroizing<String>> {
        match &*self.0 {
            IdentityKind::X25519(identity) => Some(identity.to_text()),
            IdentityKind::Hybrid(identity) => Some(identity.to_text()),
            IdentityKind::Plugin(plugin) => Some(Zeroizing::new(plugin.text().to_owned())),
            IdentityKind::Ssh(_) | IdentityKind::Scrypt(_) => None,
        }
    }

    pub(super) fn is_passphrase(&self) -> bool {
        matches!(&*self.0, IdentityKind::Scrypt(_))
    }

    /// Whether it asks somebody or runs a program: the others are tried first.
    pub(super) fn is_interactive(&self) -> bool {
        matches!(&*self.0, IdentityKind::Plugin(_) | IdentityKind::Ssh(_))
    }

    /// The file key, if one of these stanzas wraps it for this identity.
    pub(super) fn unwrap(&self, stanzas: &[Stanza]) -> Result<Option<FileKey>, Error> {
        match &*self.0 {
            IdentityKind::X25519(identity) => {
                first(stanzas, x25519::STANZA, |stanza| identity.unwrap(stanza))
            }
            IdentityKind::Hybrid(identity) => {
                first(stanzas, hybrid::STANZA, |stanza| identity.unwrap(stanza))
            }
            IdentityKind::Scrypt(identity) => match stanzas {
                [stanza] if stanza.kind == scrypt::STANZA => match identity.unwrap(stanza)? {
                    Some(key) => Ok(Some(key)),
                    None => Err(AgeFault::WrongPassphrase.into()),
                },
                _ => Ok(None),
            },
            IdentityKind::Ssh(identity) => identity.unwrap(stanzas),
            IdentityKind::Plugin(plugin) => plugin.unwrap(stanzas),
        }
    }
}

/// The first key that `unwrap` gets from a stanza of this type.
pub(super) fn first(
    stanzas: &[Stanza],
    kind: &str,
    unwrap: impl Fn(&Stanza) -> Result<Option<FileKey>, Error>,
) -> Result<Option<FileKey>, Error> {
    for stanza in stanzas.iter().filter(|stanza| stanza.kind == kind) {
        if let Some(key) = unwrap(stanza)? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// The file key that one of these identities unwraps from a header's stanzas.
///
/// # Errors
/// [`AgeFault::NoMatch`], [`AgeFault::WrongPassphrase`], [`AgeFault::PassphraseNeeded`]; whatever else an identity finds.
pub(super) fn unwrap_key(identities: &[Identity], stanzas: &[Stanza]) -> Result<FileKey, Error> {
    if identities.is_empty() {
        return Err(AgeFault::NoIdentity.into());
    }
    let has_passphrase = stanzas.iter().any(|stanza| stanza.kind == scrypt::STANZA);
    if has_passphrase && stanzas.len() > 1 {
        return Err(malformed("a passphrase is not its only recipient").into());
    }
    let (mut wrong_passphrase, mut failed_plugin) = (false, None);
    for asks in [false, true] {
        for identity in identities.iter().filter(|identity| identity.is_interactive() == asks) {
            match identity.unwrap(stanzas) {
                Ok(Some(key)) => return Ok(key),
                Ok(None) => {}
                Err(Error::Age(AgeFault::WrongPassphrase)) => wrong_passphrase = true,
                // Another identity may open the file all the same.
                Err(Error::Age(fault @ AgeFault::Plugin { .. })) => failed_plugin = Some(fault),
                Err(error) => return Err(error),
            }
        }
    }
    let is_tried = identities.iter().any(Identity::is_passphrase);
    let fault = match failed_plugin {
        Some(fault) => fault,
        None if wrong_passphrase => AgeFault::WrongPassphrase,
        None if has_passphrase && !is_tried => AgeFault::PassphraseNeeded,
        None => AgeFault::no_match(stanzas),
    };
    Err(fault.into())
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &*self.0 {
            IdentityKind::X25519(_) => "X25519",
            IdentityKind::Hybrid(_) => "post-quantum",
            IdentityKind::Scrypt(_) => "passphrase",
            IdentityKind::Ssh(_) => "SSH",
            IdentityKind::Plugin(_) => "plugin",
        };
        write!(formatter, "Identity({kind})")
    }
}
