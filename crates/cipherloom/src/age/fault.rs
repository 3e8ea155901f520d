//! What can be wrong with an age file, its keys or a plugin.

use super::stanza::Stanza;
use std::fmt::Write as _;

/// Why an age file does not open, or a recipient or identity cannot be used. No message quotes a secret; text of strangers
/// is escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgeFault {
    /// The header does not follow the format.
    #[error("the age header is malformed: {problem}")]
    Header {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The armor around the file does not follow the format.
    #[error("the age armor is malformed: {problem}")]
    Armor {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An identity matches, but the header is not the one that was written.
    #[error("the age header was changed: its authentication fails")]
    HeaderMac,
    /// No identity matches.
    #[error("no identity matches: the file is encrypted for {types}")]
    NoMatch {
        /// The types of recipients that the header names, with their number.
        types: String,
    },
    /// The passphrase is another one.
    #[error("the passphrase does not open the file")]
    WrongPassphrase,
    /// The file wants a passphrase, and there are only identities.
    #[error("the file is encrypted with a passphrase, not for an identity")]
    PassphraseNeeded,
    /// The file asks for more work than is accepted.
    #[error("the file asks for 2^{log_n} rounds of scrypt, more than the 2^{limit} accepted")]
    WorkFactor {
        /// log2 of the rounds asked for.
        log_n: u8,
        /// log2 of the most accepted.
        limit: u8,
    },
    /// Encryption without a recipient.
    #[error("no recipient is given")]
    NoRecipient,
    /// Decryption without an identity.
    #[error("no identity is given")]
    NoIdentity,
    /// Recipients that one file cannot have together.
    #[error("the recipients cannot be mixed: {problem}")]
    Mixed {
        /// Why not.
        problem: &'static str,
    },
    /// Not a recipient.
    #[error("not an age recipient: {problem}")]
    Recipient {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Not an identity.
    #[error("not an age identity: {problem}")]
    Identity {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A line of a recipients file or an identity file.
    #[error("line {line}: {fault}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: Box<AgeFault>,
    },
    /// A file of recipients or identities has only comments.
    #[error("the file has no {what}")]
    Empty {
        /// "recipient" or "identity".
        what: &'static str,
    },
    /// An OpenSSH key that cannot be used.
    #[error("the SSH key cannot be used: {problem}")]
    SshKey {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// An encrypted identity, and nobody to ask for its passphrase.
    #[error("the identity is encrypted, and its passphrase is not given")]
    IdentityLocked,
    /// The passphrase of an encrypted identity is another one.
    #[error("the passphrase does not open the encrypted identity")]
    IdentityPassphrase,
    /// A plugin cannot be run or failed.
    #[error("the plugin age-plugin-{name} {problem}")]
    Plugin {
        /// The plugin's name.
        name: String,
        /// What happened, the plugin's own words among it, escaped.
        problem: String,
    },
}

impl AgeFault {
    /// The fault of a file whose recipients nobody is.
    pub(crate) fn no_match(stanzas: &[Stanza]) -> AgeFault {
        AgeFault::NoMatch { types: describe_types(stanzas) }
    }

    /// The same fault, in this line of a file.
    pub(crate) fn at_line(self, line: usize) -> AgeFault {
        AgeFault::Line { line, fault: Box::new(self) }
    }
}

/// "1 X25519, 2 ssh-rsa": at most five types, each of at most 40 characters. Arguments of a stanza are printable ASCII.
fn describe_types(stanzas: &[Stanza]) -> String {
    let mut types: Vec<(&str, usize)> = Vec::new();
    for stanza in stanzas {
        let name = &stanza.kind[..stanza.kind.len().min(40)];
        match types.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => types.push((name, 1)),
        }
    }
    let mut text = String::new();
    for (at, (name, count)) in types.iter().take(5).enumerate() {
        let separator = if at == 0 { "" } else { ", " };
        let _ = write!(text, "{separator}{count} {name}");
    }
    if types.len() > 5 {
        text.push_str(" and others");
    }
    text
}
