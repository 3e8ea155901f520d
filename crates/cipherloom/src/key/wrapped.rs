//! A keyset at rest: its JSON inside an age file, locked by a passphrase or for recipients.
//!
//! The age and rage commands open it too (<https://c2sp.org/age>). A passphrase stands alone, as age demands: whoever knew it
//! could otherwise swap what the recipients receive. The scrypt work factor is age's own 2^18 (about a second), not measured
//! at run time: a busy machine would measure too little.

use super::{Keyset, Passphrase};
use crate::age::{self, AgeFault, ArmorReader, Identity, Recipient};
use crate::format::Format;
use crate::{Error, stream};

/// No keyset is near this; it bounds what a hostile file can make us hold.
const LARGEST: u64 = 16 << 20;

/// Who may unwrap.
#[derive(Debug)]
pub enum Lock<'a> {
    /// Whoever knows the passphrase.
    Passphrase(&'a Passphrase),
    /// Whoever holds an identity of one of these recipients (`age1…`).
    Recipients(&'a [String]),
}

/// What unwraps.
#[derive(Debug)]
pub enum Opener<'a> {
    /// The passphrase.
    Passphrase(&'a Passphrase),
    /// Identities, such as those that [`Identity::parse_file`] reads.
    Identities(&'a [Identity]),
}

/// What locks a wrapped keyset, as far as its first bytes tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockKind {
    /// A passphrase.
    Passphrase,
    /// Recipients.
    Recipients,
}

/// True if a file that begins with `head` is an age file, binary or armored. The first 34 bytes are enough.
#[must_use]
pub fn is_wrapped(head: &[u8]) -> bool {
    head.starts_with(age::VERSION_LINE) || age::is_armored(head)
}

/// What locks this age file.
///
/// # Errors
/// [`Error::WrappedDamaged`] if it is no whole age header.
pub fn lock_kind(file: &[u8]) -> Result<LockKind, Error> {
    let is_passphrase = age::is_for_passphrase(&ArmorReader::read_header(file)?).map_err(refusal)?;
    Ok(if is_passphrase { LockKind::Passphrase } else { LockKind::Recipients })
}

/// Wraps a keyset into a binary age file.
///
/// # Errors
/// [`Error::Recipient`] names the recipient that is none; [`Error::WrapSecretMissing`] if there is no recipient;
/// [`Error::PassphraseUnfit`] if the passphrase is not UTF-8.
pub fn wrap(keyset: &Keyset, lock: &Lock<'_>) -> Result<Vec<u8>, Error> {
    wrap_with_work(keyset, lock, age::WORK_FACTOR)
}

fn wrap_with_work(keyset: &Keyset, lock: &Lock<'_>, work_factor: u8) -> Result<Vec<u8>, Error> {
    let recipients = match lock {
        Lock::Passphrase(passphrase) => {
            vec![Recipient::from_passphrase((*passphrase).clone(), Some(work_factor))?]
        }
        Lock::Recipients(names) => parse_recipients(names)?,
    };
    let json = keyset.to_json();
    stream::encrypt_with_format(json.as_bytes(), &Format::age_for(recipients)?, b"")
}

fn parse_recipients(names: &[String]) -> Result<Vec<Recipient>, Error> {
    if names.is_empty() {
        return Err(Error::WrapSecretMissing);
    }
    let parse = |(index, name): (usize, &String)| {
        Recipient::parse(name).map_err(|error| match error {
            Error::Age(AgeFault::Recipient { problem } | AgeFault::SshKey { problem }) => {
                Error::Recipient { position: index + 1, reason: problem }
            }
            other => other,
        })
    };
    names.iter().enumerate().map(parse).collect()
}

/// Unwraps a keyset from an age file, binary or armored.
///
/// # Errors
/// [`Error::WrongPassphrase`], [`Error::NoMatchingIdentity`], [`Error::PassphraseNeeded`], [`Error::IdentityNeeded`],
/// [`Error::WrappedWork`], [`Error::WrappedDamaged`]; and those of [`Keyset::parse`].
pub fn unwrap(file: &[u8], opener: &Opener<'_>) -> Result<Keyset, Error> {
    let identities = match (opener, lock_kind(file)?) {
        (Opener::Passphrase(passphrase), LockKind::Passphrase) => {
            vec![Identity::from_passphrase((*passphrase).clone(), None)?]
        }
        (Opener::Identities(identities), LockKind::Recipients) => identities.to_vec(),
        (Opener::Passphrase(_), LockKind::Recipients) => return Err(Error::IdentityNeeded),
        (Opener::Identities(_), LockKind::Passphrase) => return Err(Error::PassphraseNeeded),
    };
    let binary = ArmorReader::read_to_binary(file, LARGEST).map_err(refusal)?;
    let json = stream::decrypt_with_format(&binary, &Format::age_from(identities)?, b"").map_err(refusal)?;
    Keyset::parse(&json)
}

/// What a refusal of the age file means for a keyset.
fn refusal(error: Error) -> Error {
    let problem = match error {
        Error::Age(AgeFault::NoMatch { .. }) => return Error::NoMatchingIdentity,
        Error::Age(AgeFault::WrongPassphrase) => return Error::WrongPassphrase,
        Error::Age(AgeFault::WorkFactor { log_n, limit }) => return Error::WrappedWork { log_n, limit },
        Error::Age(AgeFault::HeaderMac) => "its header was changed",
        Error::Age(AgeFault::Header { problem } | AgeFault::Armor { problem }) => problem,
        Error::Age(_) | Error::Internal { .. } => return error,
        error if error.is_authentication() => "its content was changed or cut",
        _ => return error,
    };
    Error::WrappedDamaged { problem }
}

#[cfg(test)]
mod tests;
