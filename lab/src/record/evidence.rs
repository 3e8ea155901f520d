//! Evidence that a result is right. The only way to make one is to compare a result with an independent
//! implementation's; [`super::Series::new`] asks for it, so an unchecked time cannot be recorded.

use aws_lc_rs::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An implementation of other origin, whose result is taken for right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Oracle(
    /// Name and, where there is one, version: `OpenSSL 3.0.19`, `num-bigint`.
    pub &'static str,
);

/// That a result was compared with an oracle's and is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    oracle: String,
    bytes: u64,
    sha256: String,
}

/// A result that is not the oracle's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongResult {
    oracle: &'static str,
    /// Lengths expected and found.
    lengths: (usize, usize),
    /// The first byte that differs.
    at: usize,
}

impl Evidence {
    /// Compares a whole result with the oracle's.
    ///
    /// # Errors
    /// If they differ, or there is nothing to compare.
    pub fn compare(oracle: Oracle, expected: &[u8], actual: &[u8]) -> Result<Evidence, WrongResult> {
        let at = expected.iter().zip(actual).take_while(|(left, right)| left == right).count();
        if expected.is_empty() || at < expected.len() || at < actual.len() {
            return Err(WrongResult { oracle: oracle.0, lengths: (expected.len(), actual.len()), at });
        }
        let sha256 = digest(&SHA256, actual).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Evidence { oracle: oracle.0.to_owned(), bytes: actual.len() as u64, sha256 })
    }

    /// The oracle's name.
    #[must_use]
    pub fn oracle(&self) -> &str {
        &self.oracle
    }

    /// How many bytes were compared.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// SHA-256 of the result, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }
}

impl fmt::Display for WrongResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, actual) = self.lengths;
        if expected == 0 {
            return write!(out, "{} gave nothing to compare with", self.oracle);
        }
        write!(
            out,
            "the result differs from that of {} at byte {} ({actual} bytes, {expected} expected)",
            self.oracle, self.at
        )
    }
}

impl std::error::Error for WrongResult {}

#[cfg(test)]
mod tests {
    use super::*;

    const ORACLE: Oracle = Oracle("a book");

    #[test]
    fn equal_results_are_evidence() {
        let evidence = Evidence::compare(ORACLE, b"abc", b"abc").unwrap();
        assert_eq!((evidence.oracle(), evidence.bytes()), ("a book", 3));
        // FIPS 180-4's own example.
        assert!(evidence.sha256().starts_with("ba7816bf8f01cfea"));
    }

    #[test]
    fn a_wrong_byte_a_short_result_and_an_empty_one_are_caught() {
        let words = |expected, actual| Evidence::compare(ORACLE, expected, actual).unwrap_err().to_string();
        assert!(words(b"abc", b"abd").contains("at byte 2"));
        assert!(words(b"abc", b"ab").contains("2 bytes, 3 expected"));
        assert!(words(b"abc", b"abcd").contains("4 bytes, 3 expected"));
        assert!(words(b"", b"").contains("nothing to compare"));
    }
}
