//! A passphrase: what a person remembers instead of a key.
//!
//! A passphrase file is read as `openssl enc -pass file:F` reads it, for the same file must give the same key there: its
//! first line, without the newline. A carriage return before the newline belongs to the passphrase, there as here.

use crate::Error;
use std::fmt;
use zeroize::Zeroizing;

/// openssl reads so many bytes of a passphrase and drops the rest.
const LONGEST: usize = 1023;

/// A passphrase of 1 to 1023 bytes without a zero byte.
#[derive(Clone)]
pub struct Passphrase {
    bytes: Zeroizing<Vec<u8>>,
}

impl Passphrase {
    /// The passphrase of these bytes, all of them: from a prompt or an environment variable.
    ///
    /// # Errors
    /// [`Error::PassphraseEmpty`]; [`Error::PassphraseUnfit`] if openssl would read another passphrase from it (longer
    /// than 1023 bytes, or with a zero byte).
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.is_empty() {
            return Err(Error::PassphraseEmpty);
        }
        if bytes.len() > LONGEST {
            return Err(Error::PassphraseUnfit { problem: "is longer than 1023 bytes" });
        }
        if bytes.contains(&0) {
            return Err(Error::PassphraseUnfit { problem: "has a zero byte" });
        }
        Ok(Self { bytes: Zeroizing::new(bytes.to_vec()) })
    }

    /// The passphrase that a file with these contents holds: its first line.
    ///
    /// # Errors
    /// As [`Passphrase::new`].
    pub fn from_file(contents: &[u8]) -> Result<Self, Error> {
        Self::new(contents.split(|&byte| byte == b'\n').next().unwrap_or_default())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The passphrase as text, which age and LCP demand.
    ///
    /// # Errors
    /// [`Error::PassphraseUnfit`] if it is not UTF-8.
    pub fn text(&self) -> Result<&str, Error> {
        std::str::from_utf8(&self.bytes).map_err(|_| Error::PassphraseUnfit { problem: "is not UTF-8" })
    }
}

impl fmt::Debug for Passphrase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Passphrase")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_first_line() {
        for contents in ["one two", "one two\n", "one two\nthree\n"] {
            assert_eq!(Passphrase::from_file(contents.as_bytes()).unwrap().bytes(), b"one two");
        }
        assert_eq!(Passphrase::from_file(b"x \r\n").unwrap().bytes(), b"x \r");
    }

    #[test]
    fn refuses_what_others_would_read_differently() {
        for contents in ["", "\n", "\nsecond"] {
            assert!(matches!(Passphrase::from_file(contents.as_bytes()), Err(Error::PassphraseEmpty)));
        }
        assert!(Passphrase::new(&[b'x'; 1023]).is_ok());
        for contents in [vec![b'x'; 1024], b"a\0b".to_vec()] {
            assert!(matches!(Passphrase::new(&contents), Err(Error::PassphraseUnfit { .. })));
        }
        assert!(Passphrase::new(b"\xff").unwrap().text().is_err());
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", Passphrase::new(b"hush").unwrap()), "Passphrase");
    }
}
