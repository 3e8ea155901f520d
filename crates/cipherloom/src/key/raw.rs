//! A bare AES key, as a file holds it.
//!
//! A key file holds either the key's bytes or their hexadecimal digits, and nothing says which. The rule: if the file,
//! without white space around it, is 32, 48 or 64 hexadecimal digits, it is hexadecimal; otherwise it must be exactly
//! 16, 24 or 32 bytes. So 32 bytes that are all digits are the digits of a 16-byte key: a random 32-byte key looks like
//! that once in 10^34 keys, while a person who writes 32 digits means them. `openssl rand -hex 16` gives such a file.

use crate::Error;
use std::fmt;
use zeroize::Zeroizing;

/// An AES key of 16, 24 or 32 bytes.
pub struct RawKey {
    bytes: Zeroizing<Vec<u8>>,
}

impl RawKey {
    /// A key of these bytes.
    ///
    /// # Errors
    /// [`Error::RawKeyLength`] unless there are 16, 24 or 32.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        match bytes.len() {
            16 | 24 | 32 => Ok(Self { bytes: Zeroizing::new(bytes.to_vec()) }),
            found => Err(Error::RawKeyLength(found)),
        }
    }

    /// The key that a file with these contents holds: hexadecimal digits if it can be read so, else bytes.
    ///
    /// # Errors
    /// [`Error::RawKeyLength`] if it is neither.
    pub fn parse(contents: &[u8]) -> Result<Self, Error> {
        let digits = contents.trim_ascii();
        let is_hex = matches!(digits.len(), 32 | 48 | 64) && digits.iter().all(u8::is_ascii_hexdigit);
        if !is_hex {
            return Self::from_bytes(contents);
        }
        let bytes = digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        Ok(Self { bytes: Zeroizing::new(bytes) })
    }

    /// The key's length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a key is never empty")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The value of a hexadecimal digit, without a table or branch that the digit chooses.
fn digit(ascii: u8) -> u8 {
    // Digits have bit 6 clear, letters have it set, and a letter's low bits are 9 less than its value.
    let is_letter = ascii >> 6 & 1;
    (ascii & 0x0f) + 9 * is_letter
}

impl fmt::Debug for RawKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RawKey({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes() {
        for length in [16, 24, 32] {
            let bytes: Vec<u8> = (0x80..).take(length).collect();
            assert_eq!(RawKey::parse(&bytes).unwrap().bytes(), bytes);
        }
        for length in [0, 1, 15, 17, 23, 25, 31, 33, 64] {
            let error = RawKey::parse(&vec![0x80; length]).unwrap_err();
            assert!(matches!(error, Error::RawKeyLength(found) if found == length));
        }
    }

    #[test]
    fn reads_every_hexadecimal_digit() {
        let key = RawKey::parse(b" 00112233445566778899aabbccddeeff\r\n").unwrap();
        let expected: Vec<u8> = (0..16).map(|nibble| nibble * 0x11).collect();
        assert_eq!(key.bytes(), expected);
        assert_eq!(RawKey::parse(b"00112233445566778899AABBCCDDEEFF").unwrap().bytes(), expected);
        assert_eq!(RawKey::parse(&[b'5'; 48]).unwrap().bytes(), [0x55; 24]);
        assert_eq!(RawKey::parse(&[b'a'; 64]).unwrap().bytes(), [0xaa; 32]);
    }

    #[test]
    fn digits_win_over_bytes() {
        assert_eq!(RawKey::parse(&[b'0'; 32]).unwrap().len(), 16);
        let mut nearly = [b'0'; 32];
        nearly[31] = b'g';
        assert_eq!(RawKey::parse(&nearly).unwrap().bytes(), nearly);
        // 16 digits are no hexadecimal key, so they are 16 bytes.
        assert_eq!(RawKey::parse(&[b'0'; 16]).unwrap().bytes(), [b'0'; 16]);
    }

    #[test]
    fn debug_shows_no_secret() {
        assert_eq!(format!("{:?}", RawKey::parse(&[7; 16]).unwrap()), "RawKey(16 bytes)");
    }
}
