//! Whole streams in memory, and the vectors.

#![allow(dead_code, reason = "each test binary uses its part")]

pub(crate) mod formats;

use cipherloom::format::Format;
use cipherloom::{Error, stream};
use std::path::PathBuf;

/// The repository's `vectors/<origin>` folder.
pub(crate) fn vectors(origin: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(origin)
}

/// Bytes that depend on their position, so that swapped or shifted ones are seen.
pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|position| (position % 251) as u8 ^ (position / 251) as u8).collect()
}

/// Seals a whole plaintext.
pub(crate) fn seal(format: &Format, associated_data: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
    stream::encrypt_with_format(plaintext, format, associated_data)
}

/// Opens a whole ciphertext.
pub(crate) fn open(format: &Format, associated_data: &[u8], ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
    stream::decrypt_with_format(ciphertext, format, associated_data).map(|plaintext| plaintext.to_vec())
}

/// Reads hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
