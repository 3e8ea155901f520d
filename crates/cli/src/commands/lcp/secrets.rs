//! What the licence commands read from files: passphrases, certificates, licences.

use crate::exit_code::no_key;
use crate::{keys, output, passphrase};
use anyhow::Context;
use cipherloom::key::read_secret;
use cipherloom_lcp::licence::{Licence, Roots, Signer, UserKey};
use cipherloom_lcp::{ContentKey, Error, KeyFile, KeyRecord};
use std::path::Path;
use zeroize::Zeroizing;

/// Manifests of a million rows are smaller.
pub const MOST_BYTES: usize = 1 << 30;

/// The user key of an existing licence's passphrase.
pub fn user_key(file: Option<&Path>) -> anyhow::Result<UserKey> {
    let passphrase = passphrase::existing(file, "Passphrase: ")?;
    Ok(UserKey::basic(passphrase.text()?))
}

/// The user key for a new licence: a prompt asks twice.
pub fn new_user_key(file: Option<&Path>) -> anyhow::Result<UserKey> {
    let passphrase = passphrase::new(file, "Passphrase for the reader: ")?;
    Ok(UserKey::basic(passphrase.text()?))
}

/// The certificates in a file.
pub fn roots(file: Option<&Path>) -> anyhow::Result<Option<Roots>> {
    let Some(path) = file else { return Ok(None) };
    let roots = Roots::from_file(&read(path)?).map_err(cipherloom_lcp::Error::from);
    roots.map(Some).with_context(|| output::printable(path))
}

/// The licence in a file.
pub fn licence(file: Option<&Path>) -> anyhow::Result<Option<Licence>> {
    let Some(path) = file else { return Ok(None) };
    let licence = Licence::parse(&read(path)?).map_err(cipherloom_lcp::Error::from);
    licence.map(Some).with_context(|| output::printable(path))
}

/// The provider's certificate and private key.
pub fn signer(certificate: &Path, private_key: &Path) -> anyhow::Result<Signer> {
    let (certificate_text, key_text) = (read(certificate)?, read_private(private_key, "the private key")?);
    let signer = Signer::new(&certificate_text, &key_text).map_err(cipherloom_lcp::Error::from);
    signer
        .with_context(|| format!("{} and {}", output::printable(certificate), output::printable(private_key)))
}

/// The records of the key file.
pub fn key_records(path: &Path) -> anyhow::Result<Vec<KeyRecord>> {
    KeyFile::read(path).map_err(|error| match error {
        // Here this is a missing key, not an output that cannot be written.
        Error::Io { .. } => no_key(format!("{}: {error}", output::printable(path))),
        error => anyhow::Error::from(error).context(output::printable(path)),
    })
}

fn read(path: &Path) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    keys::read_beside(path, "it")
}

/// Reads a file that only its owner should be able to read, and warns if others may.
pub fn read_private(path: &Path, what: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = read_secret(path, MOST_BYTES)
        .map_err(|error| no_key(format!("{}: cannot read {what}: {error}", output::printable(path))))?;
    if file.is_open_to_others {
        let path = output::printable(path);
        output::warn(format_args!("{path}: others may read {what}; `chmod 600` keeps it yours"));
    }
    Ok(file.contents)
}

/// The first line of a file of text, without its end.
pub fn first_line(contents: &[u8]) -> Option<&str> {
    std::str::from_utf8(contents).ok()?.lines().next()
}

/// The content key on the first line of a file.
pub fn content_key(path: &Path) -> anyhow::Result<ContentKey> {
    let contents = read_private(path, "the content key")?;
    let key = first_line(&contents).and_then(|line| ContentKey::from_base64(line.trim()));
    key.ok_or_else(|| {
        no_key(format!(
            "{}: the first line is not a content key (32 bytes in base64)",
            output::printable(path)
        ))
    })
}
