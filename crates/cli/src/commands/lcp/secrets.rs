//! What the licence commands read from files: passphrases, certificates, licences.

use crate::exit_code::no_key;
use crate::{keys, output, passphrase};
use anyhow::Context;
use cipherloom_lcp::licence::{Licence, Roots, Signer, UserKey};
use cipherloom_lcp::{Error, KeyFile, KeyRecord};
use std::path::Path;
use zeroize::Zeroizing;

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
    let (certificate_text, key_text) = (read(certificate)?, read(private_key)?);
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
