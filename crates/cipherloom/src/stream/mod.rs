//! Streams and bytes in memory: encryption as a [`std::io::Write`], decryption as a [`std::io::Read`].
//!
//! ```
//! use cipherloom::key::{Keyset, Template};
//! use cipherloom::stream::{Decryptor, Encryptor};
//! use std::io::{Read, Write};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let keyset = Keyset::generate(Template::default())?;
//! let mut encryptor = Encryptor::new(Vec::new(), &keyset, b"chapter 1")?;
//! encryptor.write_all(b"It was a bright cold day in April")?;
//! let sealed = encryptor.finish()?;
//!
//! let mut text = String::new();
//! Decryptor::new(&sealed[..], &keyset, b"chapter 1")?.read_to_string(&mut text)?;
//! assert_eq!(text, "It was a bright cold day in April");
//! # Ok(())
//! # }
//! ```
//!
//! - [`Encryptor`] writes a ciphertext. Its end is part of what is authenticated, so [`Encryptor::finish`] has to be called.
//! - [`Decryptor`] reads a plaintext, and gives out no byte that is not authentic. It seeks where its source does.
//! - [`encrypt`] and [`decrypt`] take bytes in memory, on several cores where that pays.
//!
//! A Tink keyset is the usual key. For the other formats there is a second form of each that takes a [`Format`]. What an
//! unauthenticated format (openssl, raw) opens may have been changed; the sentences on authenticity do not hold for it.

mod decryptor;
mod encryptor;
pub(crate) mod memory;

pub use decryptor::Decryptor;
pub use encryptor::Encryptor;

use crate::format::Format;
use crate::key::Keyset;
use crate::machine::{Calibration, Machine};
use crate::plan::Operation;
use crate::report::Unobserved;
use crate::{Error, machine::Backend};
use memory::{Opening, Sealing, Slice, threads};
use std::io::{self, Read};
use zeroize::Zeroizing;

/// Encrypts `data` with the keyset's primary key, bound to the associated data.
///
/// ```
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::stream;
///
/// # fn main() -> Result<(), cipherloom::Error> {
/// let keyset = Keyset::generate(Template::default())?;
/// let sealed = stream::encrypt(b"text", &keyset, b"name")?;
/// assert_eq!(**stream::decrypt(&sealed, &keyset, b"name")?, *b"text");
/// assert!(stream::decrypt(&sealed, &keyset, b"another").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Format::tink`]; if there is no memory for the result; if the system gives no random bytes.
pub fn encrypt(data: &[u8], keyset: &Keyset, associated_data: &[u8]) -> Result<Vec<u8>, Error> {
    encrypt_with_format(data, &tink(keyset)?, associated_data)
}

/// Encrypts `data` as [`encrypt`] does, in any format.
///
/// ```
/// use cipherloom::{Format, stream, key::RawKey};
///
/// # fn main() -> Result<(), cipherloom::Error> {
/// let format = Format::cobblestone(&RawKey::from_bytes(&[7; 32])?, b"context")?;
/// let sealed = stream::encrypt_with_format(b"text", &format, b"")?;
/// assert_eq!(**stream::decrypt_with_format(&sealed, &format, b"")?, *b"text");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the format cannot bind associated data and there is some; if there is no memory for the result; if the system gives no
/// random bytes.
pub fn encrypt_with_format(data: &[u8], format: &Format, associated_data: &[u8]) -> Result<Vec<u8>, Error> {
    let sealing = Sealing::begin(format, associated_data)?;
    let mut sealed = memory::zeros(sealing.ciphertext_len(data.len() as u64))?;
    let threads = threads_here(format, Operation::Encrypt, data.len());
    sealing.seal(&Slice(data), &mut sealed, threads, &Unobserved)?;
    Ok(sealed)
}

/// Decrypts `data` with any key of the keyset. The result is wiped when it is dropped. The example is at [`encrypt`].
///
/// # Errors
/// If the bytes are not exactly what [`encrypt`] (or another implementation of Tink's streaming AEAD) made with one of these
/// keys and this associated data: [`Error::is_authentication`] holds then. As [`Format::tink`].
pub fn decrypt(data: &[u8], keyset: &Keyset, associated_data: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
    decrypt_with_format(data, &tink(keyset)?, associated_data)
}

/// Decrypts `data` as [`decrypt`] does, in any format. The example is at [`encrypt_with_format`].
///
/// # Errors
/// If the bytes are not in this format, or not authentic as far as the format can tell that; if there is no memory for
/// the result.
pub fn decrypt_with_format(
    data: &[u8],
    format: &Format,
    associated_data: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let opening = Opening::begin(format, associated_data, &Slice(data))?;
    let mut plaintext = Zeroizing::new(memory::zeros(opening.plaintext_len())?);
    let threads = threads_here(format, Operation::Decrypt, data.len());
    let len = opening.open(&Slice(data), &mut plaintext, threads, &Unobserved)?;
    plaintext.truncate(len);
    Ok(plaintext)
}

fn tink(keyset: &Keyset) -> Result<Format, Error> {
    Format::tink(keyset, Backend::best())
}

fn threads_here(format: &Format, operation: Operation, len: usize) -> usize {
    match len {
        0..=memory::PIECE_LEN => 1,
        _ => threads(&Machine::detect(Calibration::default()), None, format, operation, len),
    }
}

/// An error of the library as one that a reader or writer may give.
pub(crate) fn into_io(error: Error) -> io::Error {
    match error {
        Error::Io { source, .. } => source,
        error if error.is_authentication() => io::Error::new(io::ErrorKind::InvalidData, error),
        error => io::Error::other(error),
    }
}

/// The library's own error in what a reader or writer gave, or else what it failed to do.
pub(crate) fn from_io(action: &'static str, error: io::Error) -> Error {
    error.downcast().unwrap_or_else(|error| Error::io(action, error))
}

/// Reads once; 0 bytes are the source's end.
fn read_once(source: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Error> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result.map_err(|error| from_io("read the source", error)),
        }
    }
}

#[cfg(test)]
mod tests;
