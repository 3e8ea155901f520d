//! How the files of an index are sealed: each is a stream of the tree's own format under the tree's own keyset, with a label as
//! associated data. So a key of its own is derived for each file of the index, by HKDF from a random salt and the label, and no
//! content of the tree can be taken for one: a bound path has no zero byte.

use super::root::Digest;
use crate::Error;
use crate::error::IndexFault;
use crate::format::Format;
use crate::stream::{decrypt_with_format, encrypt_with_format};
use aws_lc_rs::digest::{SHA256, digest as hash};
use zeroize::Zeroizing;

pub(super) const ROOT: &[u8] = b"\0cipherloom index root 1";
pub(super) const PART: &[u8] = b"\0cipherloom index part 1";
pub(super) const NAMES: &[u8] = b"\0cipherloom hidden names 1";

/// Plaintexts are filled with zeros to a multiple of this, so that lengths show little.
const PAGE: usize = 4096;

/// Seals a file of the index.
pub(super) fn seal(format: &Format, label: &[u8], plaintext: &mut Vec<u8>) -> Result<Vec<u8>, Error> {
    plaintext.resize(plaintext.len().next_multiple_of(PAGE), 0);
    encrypt_with_format(plaintext, format, label)
}

/// Seals a file of the index, unless it becomes longer than what readers take. `limit`: the most bytes of its plaintext.
pub(super) fn seal_for_readers(
    format: &Format,
    label: &[u8],
    plaintext: &mut Vec<u8>,
    limit: usize,
) -> Result<Vec<u8>, Error> {
    let file = seal(format, label, plaintext)?;
    if file.len() as u64 > file_limit(limit) {
        return Err(IndexFault::Unsupported("a key with larger segments").into());
    }
    Ok(file)
}

/// Opens a file of the index.
pub(super) fn open(format: &Format, label: &[u8], file: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    decrypt_with_format(file, format, label).map_err(|error| match error.is_authentication() {
        true => IndexFault::NotOpened.into(),
        false => error,
    })
}

/// The most bytes of a file of the index whose plaintext has this length.
pub(super) fn file_limit(plaintext: usize) -> u64 {
    // Keysets may have segments of a few hundred bytes, each with its tag.
    2 * plaintext.next_multiple_of(PAGE) as u64 + PAGE as u64
}

pub(crate) fn digest(bytes: &[u8]) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(hash(&SHA256, bytes).as_ref());
    digest
}

/// Lowercase hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
