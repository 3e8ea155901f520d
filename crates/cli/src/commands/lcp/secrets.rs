//! What the `lcp` commands read from files: passphrases, certificates, licenses, keys.

use crate::exit_code::no_key;
use crate::keys::{read_secret, read_secret_up_to, warn_of_readers};
use crate::output::at;
use crate::{escape, passphrase};
use anyhow::Context;
use cipherloom_lcp::license::{License, LicenseFault, Roots, Signer, UserKey};
use cipherloom_lcp::{ContentKey, Error, KeyFile, KeyRecord};
use std::path::Path;
use zeroize::Zeroizing;

/// The largest file that is read: manifests of a million rows are smaller.
pub const MOST_BYTES: usize = 1 << 30;

/// The user key of an existing license's passphrase.
pub fn user_key(file: Option<&Path>) -> anyhow::Result<UserKey> {
    Ok(UserKey::basic(passphrase::existing(file, "Passphrase: ")?.text()?))
}

/// The user key for a new license: a prompt asks twice.
pub fn new_user_key(file: Option<&Path>) -> anyhow::Result<UserKey> {
    Ok(UserKey::basic(passphrase::new(file, "Passphrase for the reader: ")?.text()?))
}

/// The certificates in a file.
pub fn roots(file: Option<&Path>) -> anyhow::Result<Option<Roots>> {
    file.map(|path| parse(path, Roots::from_file)).transpose()
}

/// The license in a file.
pub fn license(file: Option<&Path>) -> anyhow::Result<Option<License>> {
    file.map(|path| parse(path, License::parse)).transpose()
}

fn parse<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, LicenseFault>) -> anyhow::Result<T> {
    parse(&read_secret(path, "it")?).map_err(Error::from).with_context(|| escape::path(path))
}

/// The provider's certificate and private key.
pub fn signer(certificate: &Path, private_key: &Path) -> anyhow::Result<Signer> {
    let (certificate_text, key_text) =
        (read_secret(certificate, "it")?, read_private(private_key, "the private key")?);
    let signer = Signer::new(&certificate_text, &key_text).map_err(Error::from);
    signer.with_context(|| format!("{} and {}", escape::path(certificate), escape::path(private_key)))
}

/// The records of the key file.
pub fn key_records(path: &Path) -> anyhow::Result<Vec<KeyRecord>> {
    KeyFile::read(path).map_err(|error| match error {
        // Here this is a missing key, not an output that cannot be written.
        Error::Io { .. } => no_key(at(path, error), ""),
        error => anyhow::Error::from(error).context(escape::path(path)),
    })
}

/// Reads a file that only its owner should be able to read, and warns if others may.
fn read_private(path: &Path, what: &str) -> anyhow::Result<Zeroizing<Vec<u8>>> {
    let file = read_secret_up_to(MOST_BYTES, path, what)?;
    if file.is_open_to_others {
        warn_of_readers(path, what);
    }
    Ok(file.contents)
}

/// Reads what `parse` makes of the first line of a private file. `form`: what that line should be.
pub fn read_first_line<T>(
    path: &Path,
    what: &str,
    form: &str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> anyhow::Result<T> {
    let contents = read_private(path, what)?;
    let line = std::str::from_utf8(&contents).ok().and_then(|text| text.lines().next());
    line.and_then(parse).ok_or_else(|| no_key(at(path, format_args!("the first line is not {form}")), ""))
}

/// The content key on the first line of a file.
pub fn content_key(path: &Path) -> anyhow::Result<ContentKey> {
    let form = "a content key (32 bytes in base64)";
    read_first_line(path, "the content key", form, |line| ContentKey::from_base64(line.trim()))
}
