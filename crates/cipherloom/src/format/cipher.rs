//! The unauthenticated ciphers of the formats openssl and raw, by openssl's names.

use crate::Error;
use std::{fmt, str::FromStr};

/// AES with a key size and a mode.
///
/// ```
/// use cipherloom::format::{Algorithm, Cipher, IvPolicy, Mode};
/// use cipherloom::key::RawKey;
/// use cipherloom::stream::{Decryptor, Encryptor};
/// use cipherloom::{Format, machine::Backend};
/// use std::io::{Read, Write};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cipher: Cipher = "aes-256-cbc".parse()?;
/// assert_eq!((cipher.mode(), cipher.key_len()), (Mode::Cbc, 32));
/// assert!(Cipher::ALL.iter().any(|known| known.name() == "aes-256-cbc"));
///
/// // The IV is not in the stream: somebody else keeps it.
/// let key = RawKey::from_bytes(&[7; 32])?;
/// let format = Format::raw(cipher, &key, IvPolicy::Fixed([9; 16]), Backend::best())?;
/// assert_eq!((format.name(), format.algorithm()), ("raw", Algorithm::Cbc));
/// let mut encryptor = Encryptor::with_format(Vec::new(), &format, b"")?;
/// encryptor.write_all(b"It was a bright cold day")?;
/// let sealed = encryptor.finish()?;
/// assert_eq!(sealed.len(), 32);
/// let mut text = String::new();
/// Decryptor::with_format(&sealed[..], &format, b"")?.read_to_string(&mut text)?;
/// assert_eq!(text, "It was a bright cold day");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// AES-128-CBC with PKCS#7 padding.
    Aes128Cbc,
    /// AES-192-CBC with PKCS#7 padding.
    Aes192Cbc,
    /// AES-256-CBC with PKCS#7 padding.
    Aes256Cbc,
    /// AES-128-CTR with a 128-bit counter.
    Aes128Ctr,
    /// AES-192-CTR with a 128-bit counter.
    Aes192Ctr,
    /// AES-256-CTR with a 128-bit counter.
    Aes256Ctr,
}

/// How blocks are tied together (NIST SP 800-38A).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Each block takes in the one before: one chain, in order; decryption is parallel.
    Cbc,
    /// A key stream from a counter: parallel both ways, and never to be repeated.
    Ctr,
}

impl Cipher {
    /// All ciphers.
    pub const ALL: [Self; 6] = [
        Self::Aes128Cbc,
        Self::Aes192Cbc,
        Self::Aes256Cbc,
        Self::Aes128Ctr,
        Self::Aes192Ctr,
        Self::Aes256Ctr,
    ];

    /// openssl's name of the cipher.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128Cbc => "aes-128-cbc",
            Self::Aes192Cbc => "aes-192-cbc",
            Self::Aes256Cbc => "aes-256-cbc",
            Self::Aes128Ctr => "aes-128-ctr",
            Self::Aes192Ctr => "aes-192-ctr",
            Self::Aes256Ctr => "aes-256-ctr",
        }
    }

    /// Bytes of its key.
    #[must_use]
    pub fn key_len(self) -> usize {
        match self {
            Self::Aes128Cbc | Self::Aes128Ctr => 16,
            Self::Aes192Cbc | Self::Aes192Ctr => 24,
            Self::Aes256Cbc | Self::Aes256Ctr => 32,
        }
    }

    /// Its mode.
    #[must_use]
    pub fn mode(self) -> Mode {
        match self {
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => Mode::Cbc,
            Self::Aes128Ctr | Self::Aes192Ctr | Self::Aes256Ctr => Mode::Ctr,
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Cipher {
    type Err = Error;

    /// Reads a cipher's name, in whichever case.
    ///
    /// # Errors
    /// [`Error::UnknownName`], which lists the names.
    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|cipher| cipher.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            Error::UnknownName {
                what: "cipher",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_the_ciphers_are() {
        for cipher in Cipher::ALL {
            assert_eq!(cipher.to_string().parse::<Cipher>().unwrap(), cipher);
            let bits = (8 * cipher.key_len()).to_string();
            let mode = if cipher.mode() == Mode::Cbc { "cbc" } else { "ctr" };
            assert_eq!(cipher.name(), format!("aes-{bits}-{mode}"));
        }
        let Err(Error::UnknownName { known, .. }) = "des".parse::<Cipher>() else { panic!("a cipher") };
        assert!(known.contains("aes-192-ctr"));
    }
}
