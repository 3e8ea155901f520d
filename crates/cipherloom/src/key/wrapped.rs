//! A keyset at rest: its JSON inside an age file, locked by a passphrase or for recipients.
//!
//! Follows <https://c2sp.org/age> through the `age` crate, so that the age and rage commands open it too. A passphrase
//! stands alone, as age demands: whoever knew it could otherwise swap what the recipients receive. The scrypt work factor
//! is age's own 2^18 (about a second), not measured at run time: a busy machine would measure too little.

use super::{Keyset, Passphrase};
use crate::Error;
use age::{DecryptError, armor::ArmoredReader, secrecy::SecretString};
use std::io::{self, Read as _, Write as _};
use zeroize::Zeroizing;

const BINARY: &[u8] = b"age-encryption.org/v1\n";
const ARMORED: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
/// The work factor that age's Go command writes.
const WORK_FACTOR: u8 = 18;
/// The greatest work factor that age's Go command reads: a hostile file could otherwise ask for hours and gigabytes.
const WORK_LIMIT: u8 = 22;
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
    /// The text of an identity file, with lines that begin with `AGE-SECRET-KEY-1`.
    IdentityFile(&'a IdentityText),
}

/// The text of an identity file; zeroised, and never shown.
pub struct IdentityText(Zeroizing<Vec<u8>>);

impl IdentityText {
    /// Takes over the file's contents.
    #[must_use]
    pub fn new(contents: Vec<u8>) -> Self {
        Self(Zeroizing::new(contents))
    }
}

impl std::fmt::Debug for IdentityText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("IdentityText")
    }
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
    head.starts_with(BINARY) || head.trim_ascii_start().starts_with(ARMORED)
}

/// What locks this age file.
///
/// # Errors
/// [`Error::WrappedDamaged`] if it is no whole age header.
pub fn lock_kind(file: &[u8]) -> Result<LockKind, Error> {
    let decryptor = age::Decryptor::new(ArmoredReader::new(file)).map_err(refusal)?;
    Ok(if decryptor.is_scrypt() { LockKind::Passphrase } else { LockKind::Recipients })
}

/// Wraps a keyset into a binary age file.
///
/// # Errors
/// [`Error::Recipient`] names the recipient that is none; [`Error::WrapSecretMissing`] if there is no recipient;
/// [`Error::PassphraseUnfit`] if the passphrase is not UTF-8.
pub fn wrap(keyset: &Keyset, lock: &Lock<'_>) -> Result<Vec<u8>, Error> {
    wrap_with_work(keyset, lock, WORK_FACTOR)
}

fn wrap_with_work(keyset: &Keyset, lock: &Lock<'_>, work_factor: u8) -> Result<Vec<u8>, Error> {
    match lock {
        Lock::Passphrase(passphrase) => {
            let mut recipient = age::scrypt::Recipient::new(secret_text(passphrase)?);
            recipient.set_work_factor(work_factor);
            seal(keyset, &[&recipient])
        }
        Lock::Recipients(names) => {
            let recipients = parse_recipients(names)?;
            let recipients: Vec<_> =
                recipients.iter().map(|recipient| recipient as &dyn age::Recipient).collect();
            seal(keyset, &recipients)
        }
    }
}

fn seal(keyset: &Keyset, recipients: &[&dyn age::Recipient]) -> Result<Vec<u8>, Error> {
    const REFUSED: Error = Error::Library { operation: "wrap the keyset" };
    let encryptor =
        age::Encryptor::with_recipients(recipients.iter().copied()).map_err(|error| match error {
            age::EncryptError::MissingRecipients => Error::WrapSecretMissing,
            _ => REFUSED,
        })?;
    let mut file = Vec::new();
    let mut writer = encryptor.wrap_output(&mut file).map_err(|_| REFUSED)?;
    writer.write_all(keyset.to_json().as_bytes()).map_err(|_| REFUSED)?;
    writer.finish().map_err(|_| REFUSED)?;
    Ok(file)
}

fn parse_recipients(names: &[String]) -> Result<Vec<age::x25519::Recipient>, Error> {
    let parse = |(index, name): (usize, &String)| {
        name.trim().parse().map_err(|reason| Error::Recipient { position: index + 1, reason })
    };
    names.iter().enumerate().map(parse).collect()
}

/// Unwraps a keyset from an age file, binary or armored.
///
/// # Errors
/// [`Error::WrongPassphrase`], [`Error::NoMatchingIdentity`], [`Error::PassphraseNeeded`], [`Error::IdentityNeeded`],
/// [`Error::IdentityFile`], [`Error::WrappedWork`], [`Error::WrappedDamaged`]; and those of [`Keyset::parse`].
pub fn unwrap(file: &[u8], opener: &Opener<'_>) -> Result<Keyset, Error> {
    let decryptor = age::Decryptor::new(ArmoredReader::new(file)).map_err(refusal)?;
    let reader = match (opener, decryptor.is_scrypt()) {
        (Opener::Passphrase(passphrase), true) => {
            let mut identity = age::scrypt::Identity::new(secret_text(passphrase)?);
            identity.set_max_work_factor(WORK_LIMIT);
            decryptor.decrypt(std::iter::once(&identity as &dyn age::Identity)).map_err(|error| match error {
                DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed => Error::WrongPassphrase,
                other => refusal(other),
            })
        }
        (Opener::IdentityFile(text), false) => {
            let identities = parse_identities(&text.0)?;
            decryptor
                .decrypt(identities.iter().map(|identity| identity as &dyn age::Identity))
                .map_err(refusal)
        }
        (Opener::Passphrase(_), false) => return Err(Error::IdentityNeeded),
        (Opener::IdentityFile(_), true) => return Err(Error::PassphraseNeeded),
    }?;
    // Reserved at once: growing would leave copies of the keys in freed memory.
    let mut json = Zeroizing::new(Vec::with_capacity(file.len()));
    let read = reader.take(LARGEST).read_to_end(&mut json);
    read.map_err(|_| Error::WrappedDamaged { problem: "its content was changed or cut" })?;
    Keyset::parse(&json)
}

fn parse_identities(text: &[u8]) -> Result<Vec<age::x25519::Identity>, Error> {
    if is_wrapped(text) {
        return Err(Error::IdentityFileEncrypted);
    }
    let mut identities = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let identity = std::str::from_utf8(line).ok().and_then(|line| line.parse().ok());
        identities.push(identity.ok_or(Error::IdentityFile { line: index + 1 })?);
    }
    if identities.is_empty() { Err(Error::IdentityFileEmpty) } else { Ok(identities) }
}

fn secret_text(passphrase: &Passphrase) -> Result<SecretString, Error> {
    Ok(SecretString::from(passphrase.text()?.to_owned()))
}

/// What age's refusal means for a keyset.
fn refusal(error: DecryptError) -> Error {
    let problem = match error {
        DecryptError::NoMatchingKeys => return Error::NoMatchingIdentity,
        DecryptError::ExcessiveWork { required, .. } => {
            return Error::WrappedWork { log_n: required, limit: WORK_LIMIT };
        }
        DecryptError::InvalidMac => "its header was changed",
        DecryptError::UnknownFormat => "it is an age file of an unknown version",
        DecryptError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "it ends within its header"
        }
        _ => "it has no valid age header",
    };
    Error::WrappedDamaged { problem }
}

#[cfg(test)]
mod tests;
