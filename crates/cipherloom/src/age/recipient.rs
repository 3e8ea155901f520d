//! Recipients: whom a file is encrypted for, as one value whatever the type.

use super::fault::AgeFault;
use super::file_key::FileKey;
use super::hybrid::HybridRecipient;
use super::plugin::Plugin;
use super::prompt::Prompt;
use super::scrypt::{ScryptRecipient, WORK_FACTOR};
use super::ssh::SshRecipient;
use super::stanza::Stanza;
use super::x25519::X25519Recipient;
use crate::Error;
use crate::key::Passphrase;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Whom a file is encrypted for. A clone is cheap.
///
/// | text | who opens the file |
/// |---|---|
/// | `age1…` | the holder of an X25519 key |
/// | `age1pq1…` | the holder of a post-quantum key (ML-KEM-768 and X25519) |
/// | `ssh-ed25519 …`, `ssh-rsa …` | the holder of an SSH key |
/// | `age1name1…` | who the plugin `age-plugin-name` says |
///
/// ```
/// use cipherloom::age::{Identity, Recipient};
///
/// let identity = Identity::generate()?;
/// let recipient = identity.recipient();
/// assert_eq!(recipient.to_string().parse::<Recipient>()?.to_string(), recipient.to_string());
/// assert!(Recipient::parse("age1nobody").is_err());
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Clone)]
pub struct Recipient(pub(super) Arc<RecipientKind>);

pub(super) enum RecipientKind {
    X25519(X25519Recipient),
    Hybrid(HybridRecipient),
    Scrypt(ScryptRecipient),
    Ssh(SshRecipient),
    Plugin(Plugin),
}

impl Recipient {
    /// Reads a recipient's text. A plugin's questions are answered with a refusal; see [`Recipient::parse_with`].
    ///
    /// # Errors
    /// [`AgeFault::Recipient`], [`AgeFault::SshKey`].
    pub fn parse(text: &str) -> Result<Recipient, Error> {
        Recipient::parse_with(text, &super::no_prompt())
    }

    /// As [`Recipient::parse`]; `prompt` answers what a plugin asks.
    ///
    /// # Errors
    /// As [`Recipient::parse`].
    pub fn parse_with(text: &str, prompt: &Arc<dyn Prompt>) -> Result<Recipient, Error> {
        let text = text.trim_ascii();
        let kind = if text.starts_with("age1pq1") {
            RecipientKind::Hybrid(HybridRecipient::parse(text)?)
        } else if text.starts_with("age1") && text.matches('1').count() > 1 {
            RecipientKind::Plugin(Plugin::from_recipient(text, prompt)?)
        } else if text.starts_with("age1") {
            RecipientKind::X25519(X25519Recipient::parse(text)?)
        } else if text.starts_with("ssh-") {
            RecipientKind::Ssh(SshRecipient::parse(text)?)
        } else {
            let problem = "it begins as no type of recipient does";
            return Err(AgeFault::Recipient { problem }.into());
        };
        Ok(Recipient(Arc::new(kind)))
    }

    /// Reads a recipients file: one recipient a line; empty lines and those that begin with `#` are passed over.
    ///
    /// # Errors
    /// [`AgeFault::Line`] names the line that is no recipient; [`AgeFault::Empty`].
    pub fn parse_file(contents: &[u8], prompt: &Arc<dyn Prompt>) -> Result<Vec<Recipient>, Error> {
        let recipients = super::lines(contents).map(|(line, text)| {
            let text = text.ok_or(AgeFault::Recipient { problem: "it is not text" }.at_line(line))?;
            Recipient::parse_with(text, prompt).map_err(|error| super::in_line(error, line))
        });
        let recipients = recipients.collect::<Result<Vec<_>, Error>>()?;
        if recipients.is_empty() { Err(AgeFault::Empty { what: "recipient" }.into()) } else { Ok(recipients) }
    }

    /// Whoever knows the passphrase; alone in its file. `work_factor`: log2 of scrypt's rounds, 1 to 30, [`WORK_FACTOR`]
    /// by default. Each file costs 2^(`work_factor` + 10) bytes of memory while its header is made.
    ///
    /// # Errors
    /// [`Error::PassphraseUnfit`] if it is not UTF-8.
    ///
    /// # Panics
    /// If `work_factor` is out of range.
    pub fn from_passphrase(passphrase: Passphrase, work_factor: Option<u8>) -> Result<Recipient, Error> {
        let work_factor = work_factor.unwrap_or(WORK_FACTOR);
        assert!((1..=30).contains(&work_factor), "a work factor is 1 to 30");
        passphrase.text()?;
        Ok(Recipient(Arc::new(RecipientKind::Scrypt(ScryptRecipient { passphrase, work_factor }))))
    }

    /// Wraps the file key. Labels: what all recipients of a file must have in common.
    pub(super) fn wrap(&self, key: &FileKey) -> Result<(Vec<Stanza>, Vec<String>), Error> {
        let labelled = |stanza, label: &str| (vec![stanza], vec![label.to_owned()]);
        Ok(match &*self.0 {
            RecipientKind::X25519(recipient) => (vec![recipient.wrap(key)?], Vec::new()),
            RecipientKind::Hybrid(recipient) => labelled(recipient.wrap(key)?, POST_QUANTUM),
            RecipientKind::Scrypt(recipient) => labelled(recipient.wrap(key)?, ALONE),
            RecipientKind::Ssh(recipient) => (vec![recipient.wrap(key)?], Vec::new()),
            RecipientKind::Plugin(plugin) => plugin.wrap(key)?,
        })
    }

    /// The label of its stanzas, empty for none; `None` if a plugin says it.
    pub(super) fn known_label(&self) -> Option<&'static str> {
        match &*self.0 {
            RecipientKind::X25519(_) | RecipientKind::Ssh(_) => Some(""),
            RecipientKind::Hybrid(_) => Some(POST_QUANTUM),
            RecipientKind::Scrypt(_) => Some(ALONE),
            RecipientKind::Plugin(_) => None,
        }
    }

    /// A stanza that is as long as those for this recipient; `None` for a plugin's.
    pub(super) fn sample(&self) -> Option<Stanza> {
        match &*self.0 {
            RecipientKind::X25519(recipient) => Some(recipient.sample()),
            RecipientKind::Hybrid(recipient) => Some(recipient.sample()),
            RecipientKind::Scrypt(recipient) => Some(recipient.sample()),
            RecipientKind::Ssh(recipient) => Some(recipient.sample()),
            RecipientKind::Plugin(_) => None,
        }
    }

    /// Whether the file key is stretched from a passphrase, and by how much.
    pub(crate) fn work_factor(&self) -> Option<u8> {
        match &*self.0 {
            RecipientKind::Scrypt(recipient) => Some(recipient.work_factor),
            _ => None,
        }
    }

    /// Whether its stanza has the same length in every file.
    pub(crate) fn has_fixed_length(&self) -> bool {
        !matches!(&*self.0, RecipientKind::Plugin(_))
    }
}

/// The label that post-quantum recipients have in common: with a classic one beside them, a quantum computer would open the
/// file.
pub(super) const POST_QUANTUM: &str = "postquantum";
/// The label of a passphrase, which has to be alone. No plugin can send it, for arguments have no spaces.
pub(super) const ALONE: &str = "a passphrase";

impl FromStr for Recipient {
    type Err = Error;

    fn from_str(text: &str) -> Result<Recipient, Error> {
        Recipient::parse(text)
    }
}

impl fmt::Display for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            RecipientKind::X25519(recipient) => formatter.write_str(&recipient.to_text()),
            RecipientKind::Hybrid(recipient) => formatter.write_str(&recipient.to_text()),
            RecipientKind::Scrypt(_) => formatter.write_str("a passphrase"),
            RecipientKind::Ssh(recipient) => formatter.write_str(&recipient.to_text()),
            RecipientKind::Plugin(plugin) => match plugin.program_of_identity() {
                Some(program) => formatter.write_str(&program),
                None => formatter.write_str(plugin.text()),
            },
        }
    }
}

impl fmt::Debug for Recipient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Recipient({self})")
    }
}
