//! Passphrases: scrypt (RFC 7914) with block size 8 and no parallelism, and a work factor that the file names.
//!
//! ```text
//! -> scrypt base64(salt, 16) log2(work factor)
//! base64(file key under scrypt(passphrase, "age-encryption.org/v1/scrypt" | salt))
//! ```
//!
//! One derivation needs 2^(work factor + 10) bytes of memory: 256 MiB with age's 18.

use super::fault::AgeFault;
use super::file_key::{FileKey, WRAPPED};
use super::stanza::{Stanza, decode_argument, encode_argument, malformed};
use crate::Error;
use crate::key::Passphrase;
use scrypt::{Params, scrypt};
use zeroize::Zeroizing;

pub(super) const STANZA: &str = "scrypt";
const LABEL: &[u8] = b"age-encryption.org/v1/scrypt";
const SALT: usize = 16;

/// The work factor that age's Go command writes, as a power of two: about a second.
pub const WORK_FACTOR: u8 = 18;

/// The greatest work factor that is read unless the caller allows more, as age's: a hostile file could otherwise ask for hours
/// and gigabytes.
pub const WORK_LIMIT: u8 = 22;

/// A passphrase that encrypts.
#[derive(Debug, Clone)]
pub(super) struct ScryptRecipient {
    pub(super) passphrase: Passphrase,
    pub(super) work_factor: u8,
}

impl ScryptRecipient {
    /// A stanza that is as long as those of [`ScryptRecipient::wrap`].
    pub(super) fn sample(&self) -> Stanza {
        Stanza::new(STANZA, &[&encode_argument(&[0; SALT]), &self.work_factor.to_string()], &[0; WRAPPED])
    }

    pub(super) fn wrap(&self, key: &FileKey) -> Result<Stanza, Error> {
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt).map_err(Error::Random)?;
        let wrapping = stretch(&self.passphrase, &salt, self.work_factor)?;
        let arguments = [encode_argument(&salt), self.work_factor.to_string()];
        Ok(Stanza::new(STANZA, &[&arguments[0], &arguments[1]], &key.wrap(&wrapping)?))
    }
}

/// A passphrase that decrypts.
#[derive(Debug, Clone)]
pub(super) struct ScryptIdentity {
    pub(super) passphrase: Passphrase,
    pub(super) work_limit: u8,
}

impl ScryptIdentity {
    /// The file key, if this passphrase wrapped it.
    pub(super) fn unwrap(&self, stanza: &Stanza) -> Result<Option<FileKey>, Error> {
        let [salt, work] = stanza.arguments.as_slice() else {
            return Err(malformed("a scrypt stanza has not two arguments").into());
        };
        let salt: [u8; SALT] =
            decode_argument(salt).ok_or(malformed("a scrypt stanza's salt is not 16 bytes"))?;
        let log_n = parse_work_factor(work)?;
        if log_n > self.work_limit {
            return Err(AgeFault::WorkFactor { log_n, limit: self.work_limit }.into());
        }
        if stanza.body.len() != WRAPPED {
            return Err(malformed("a stanza does not wrap 16 bytes").into());
        }
        FileKey::unwrap(&*stretch(&self.passphrase, &salt, log_n)?, &stanza.body)
    }
}

/// Decimal digits without a leading zero.
fn parse_work_factor(text: &str) -> Result<u8, AgeFault> {
    let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    let problem = malformed("a scrypt stanza's work factor is not a number");
    if is_number { text.parse().map_err(|_| problem) } else { Err(problem) }
}

fn stretch(passphrase: &Passphrase, salt: &[u8; SALT], log_n: u8) -> Result<Zeroizing<[u8; 32]>, Error> {
    // Whoever types a passphrase elsewhere types text.
    let passphrase = passphrase.text()?.as_bytes();
    let refused = |_| Error::internal("scrypt refused its work factor");
    let mut key = Zeroizing::new([0; 32]);
    let params = Params::new(log_n, 8, 1, key.len()).map_err(refused)?;
    let salt = [LABEL, salt].concat();
    scrypt(passphrase, &salt, &params, key.as_mut_slice())
        .map_err(|_| Error::internal("scrypt refused its output"))?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_with_its_passphrase_and_within_its_limit() {
        let passphrase = Passphrase::new("Büro".as_bytes()).unwrap();
        let key = FileKey::generate().unwrap();
        let stanza = ScryptRecipient { passphrase: passphrase.clone(), work_factor: 4 }.wrap(&key).unwrap();
        let open = |passphrase: &Passphrase, work_limit| {
            ScryptIdentity { passphrase: passphrase.clone(), work_limit }.unwrap(&stanza)
        };
        assert_eq!(open(&passphrase, 4).unwrap().unwrap().bytes(), key.bytes());
        assert!(open(&Passphrase::new(b"other").unwrap(), 4).unwrap().is_none());
        let refused = open(&passphrase, 3).unwrap_err();
        assert!(matches!(refused, Error::Age(AgeFault::WorkFactor { log_n: 4, limit: 3 })), "{refused:?}");
    }

    #[test]
    fn a_work_factor_has_one_spelling() {
        assert_eq!(parse_work_factor("18"), Ok(18));
        for text in ["", "0", "018", "+18", "-1", "0x12", "18 ", "256", "aaa", "99999999999999999999"] {
            assert!(parse_work_factor(text).is_err(), "{text:?}");
        }
    }
}
