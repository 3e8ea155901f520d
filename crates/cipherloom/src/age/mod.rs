//! age files (<https://c2sp.org/age>): who may open one, with which secret, and the header that wraps the file's key.
//!
//! ```text
//! recipients --- wrap ---> header: one stanza each --- unwrap <--- identities
//!                 file key (fresh for every file) ---> payload, the segments of `Format`
//! ```
//!
//! - [`Recipient`]: X25519, post-quantum, SSH keys, a passphrase, or whatever a plugin wraps for.
//! - [`Identity`]: what opens what was wrapped for them; [`Identity::parse_file`] reads identity files.
//! - [`Prompt`]: what plugins and encrypted identities ask a user.
//! - [`ArmorReader`] and [`ArmorWriter`]: the form in letters.
//! - [`AgeFault`]: what can be wrong with any of these.
//!
//! [`crate::Format::age_for`], [`crate::Format::age_from`] and [`crate::Format::age_passphrase`] make a format of them.
//!
//! ```
//! use cipherloom::age::Identity;
//! use cipherloom::{Format, stream};
//!
//! let identity = Identity::generate()?;
//! let sealed = stream::encrypt_with_format(b"text", &Format::age_for([identity.recipient()])?, b"")?;
//! assert!(sealed.starts_with(b"age-encryption.org/v1\n"));
//! assert_eq!(**stream::decrypt_with_format(&sealed, &Format::age_from([identity])?, b"")?, *b"text");
//! # Ok::<(), cipherloom::Error>(())
//! ```

mod armor;
mod encoding;
mod fault;
mod file_key;
mod header;
mod hpke;
mod hybrid;
mod identity;
mod identity_file;
mod plugin;
mod prompt;
mod recipient;
mod scrypt;
mod ssh;
mod stanza;
mod x25519;

pub use armor::{ArmorReader, ArmorWriter};
pub use fault::AgeFault;
pub use identity::Identity;
pub use prompt::{NoPrompt, Prompt};
pub use recipient::Recipient;
pub use scrypt::{WORK_FACTOR, WORK_LIMIT};

pub(crate) use armor::{MARKER as ARMOR_MARKER, is_armored};
pub(crate) use file_key::FileKey;
pub(crate) use header::{Header, Parsed, VERSION_LINE};
#[doc(hidden)]
pub use plugin::hear as hear_plugin;

use crate::Error;
use std::sync::Arc;

/// Wraps a file key for these recipients. Returns the header.
///
/// # Errors
/// [`AgeFault::NoRecipient`], [`AgeFault::Mixed`]; if a plugin fails.
pub(crate) fn wrap_key(recipients: &[Recipient], key: &FileKey) -> Result<Vec<u8>, Error> {
    let mut stanzas = Vec::new();
    let mut common: Option<Vec<String>> = None;
    for recipient in recipients {
        let (wrapped, mut labels) = recipient.wrap(key)?;
        stanzas.extend(wrapped);
        labels.sort_unstable();
        let is_alone = labels.iter().any(|label| label == recipient::ALONE);
        match &common {
            Some(first) if *first != labels || is_alone => return Err(mixed(first, &labels).into()),
            Some(_) => {}
            None => common = Some(labels),
        }
    }
    if stanzas.is_empty() {
        return Err(AgeFault::NoRecipient.into());
    }
    Header::write(&stanzas, key)
}

fn mixed(one: &[String], other: &[String]) -> AgeFault {
    let has = |labels: &[String], label: &str| labels.iter().any(|known| known == label);
    let problem = if has(one, recipient::ALONE) || has(other, recipient::ALONE) {
        "a passphrase has to be alone"
    } else if has(one, recipient::POST_QUANTUM) != has(other, recipient::POST_QUANTUM) {
        "a classic one would open to a quantum computer what the post-quantum one protects"
    } else {
        "their plugins refuse to be combined"
    };
    AgeFault::Mixed { problem }
}

/// Refuses recipients that one file cannot have together, as far as that shows before a plugin is asked.
///
/// # Errors
/// [`AgeFault::NoRecipient`], [`AgeFault::Mixed`].
pub(crate) fn check_mixed(recipients: &[Recipient]) -> Result<(), Error> {
    let labels: Vec<_> = recipients.iter().filter_map(Recipient::known_label).collect();
    let Some(first) = labels.first() else {
        return if recipients.is_empty() { Err(AgeFault::NoRecipient.into()) } else { Ok(()) };
    };
    let as_list = |label: &&str| if label.is_empty() { Vec::new() } else { vec![(*label).to_owned()] };
    let is_alone = labels.contains(&recipient::ALONE) && recipients.len() > 1;
    match labels.iter().find(|label| *label != first) {
        Some(other) => Err(mixed(&as_list(first), &as_list(other)).into()),
        None if is_alone => Err(mixed(&as_list(first), &[]).into()),
        None => Ok(()),
    }
}

/// Bytes of the header for these recipients, without what plugins add.
pub(crate) fn header_len(recipients: &[Recipient]) -> usize {
    let mut text = VERSION_LINE.to_vec();
    recipients.iter().filter_map(Recipient::sample).for_each(|stanza| stanza.write(&mut text));
    text.len() + Header::LAST_LINE
}

/// The key of the file that begins with `file`, whose header is whole, and the header's length.
///
/// # Errors
/// [`AgeFault`], as far as header and identities go.
pub(crate) fn unwrap_key(header: &Header, file: &[u8], identities: &[Identity]) -> Result<FileKey, Error> {
    let key = identity::unwrap_key(identities, &header.stanzas)?;
    header.verify(file, &key)?;
    Ok(key)
}

/// Whether a passphrase opens the file that begins so.
///
/// # Errors
/// [`AgeFault::Header`] if that is no whole header.
pub(crate) fn is_for_passphrase(head: &[u8]) -> Result<bool, Error> {
    let header = Header::parse_whole(head)?;
    Ok(header.stanzas.iter().any(|stanza| stanza.kind == scrypt::STANZA))
}

/// The lines of a key file that say something, with their numbers from 1; `None` for one that is not UTF-8.
fn lines(contents: &[u8]) -> impl Iterator<Item = (usize, Option<&str>)> {
    let lines = contents.split(|&byte| byte == b'\n').enumerate();
    lines.filter_map(|(index, line)| {
        let line = line.trim_ascii();
        let says = !line.is_empty() && !line.starts_with(b"#");
        says.then(|| (index + 1, std::str::from_utf8(line).ok()))
    })
}

/// An error in a line of a key file.
fn in_line(error: Error, line: usize) -> Error {
    match error {
        Error::Age(fault) => fault.at_line(line).into(),
        other => other,
    }
}

fn no_prompt() -> Arc<dyn Prompt> {
    Arc::new(NoPrompt)
}
