//! OpenSSH's private key files (`PROTOCOL.key` of OpenSSH).
//!
//! ```text
//! "openssh-key-v1\0" | cipher | KDF | its options | 1 | public key | private part, padded with 1, 2, 3 …
//! private part       | check | the same check | type | the type's numbers | comment |
//! ```
//!
//! Encrypted ones have the KDF bcrypt and, as ssh-keygen writes them, the cipher aes256-ctr, or earlier aes256-cbc.

use super::super::fault::AgeFault;
use super::super::file_key::FileKey;
use super::super::stanza::{Stanza, decode_argument, malformed};
use super::super::x25519::Secret;
use super::public::{ED25519, PublicKey, RSA, RSA_LABEL, SshRecipient, unusable};
use super::{der, wire::Wire};
use crate::Error;
use crate::key::Passphrase;
use aws_lc_rs::digest::{SHA512, digest};
use aws_lc_rs::rsa::{OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use cipherloom_kernels::{Aes, Backend};
use zeroize::Zeroizing;

const MAGIC: &[u8] = b"openssh-key-v1\0";
/// Far beyond what ssh-keygen is asked for.
const MOST_ROUNDS: u32 = 1 << 16;

/// A private key file, perhaps encrypted.
pub(super) struct KeyFile {
    pub(super) public: Vec<u8>,
    private: Zeroizing<Vec<u8>>,
    /// `None` for one in the clear.
    lock: Option<Lock>,
}

struct Lock {
    is_chained: bool,
    salt: Vec<u8>,
    rounds: u32,
}

/// The secret half.
pub(super) enum SshSecret {
    Ed25519(Secret),
    Rsa(OaepPrivateDecryptingKey),
}

impl KeyFile {
    pub(super) fn parse(file: &[u8]) -> Result<KeyFile, AgeFault> {
        let mut wire = Wire(file.strip_prefix(MAGIC).ok_or(unusable("its file has another version"))?);
        let (cipher, kdf, mut options) = (wire.string()?, wire.string()?, Wire(wire.string()?));
        if wire.number()? != 1 {
            return Err(unusable("its file has other than one key"));
        }
        let (public, private) = (wire.string()?.to_vec(), Zeroizing::new(wire.string()?.to_vec()));
        if (cipher, kdf) == (b"none", b"none") {
            return Ok(KeyFile { public, private, lock: None });
        }
        let is_chained = match cipher {
            b"aes256-ctr" => false,
            b"aes256-cbc" => true,
            _ => return Err(unusable("it is encrypted with other than aes256-ctr and aes256-cbc")),
        };
        if kdf != b"bcrypt" {
            return Err(unusable("its passphrase is stretched with other than bcrypt"));
        }
        let (salt, rounds) = (options.string()?.to_vec(), options.number()?);
        if rounds > MOST_ROUNDS || !private.len().is_multiple_of(16) {
            return Err(unusable("its encryption has impossible parameters"));
        }
        Ok(KeyFile { public, private, lock: Some(Lock { is_chained, salt, rounds }) })
    }

    pub(super) fn is_encrypted(&self) -> bool {
        self.lock.is_some()
    }

    /// The secret; `passphrase` for an encrypted file.
    pub(super) fn open(
        &self,
        passphrase: Option<&Passphrase>,
        public: &SshRecipient,
    ) -> Result<SshSecret, Error> {
        let mut private = self.private.clone();
        if let Some(lock) = &self.lock {
            lock.decrypt(passphrase.ok_or(AgeFault::IdentityLocked)?, &mut private)?;
        }
        let mut wire = Wire(&private);
        if wire.number()? != wire.number()? {
            let problem = "its private part is damaged";
            return Err(
                if self.is_encrypted() { AgeFault::IdentityPassphrase } else { unusable(problem) }.into()
            );
        }
        let kind = wire.string()?;
        if kind != public.kind().as_bytes() {
            return Err(unusable("its two halves have other types").into());
        }
        match &public.key {
            PublicKey::Ed25519(point) => open_ed25519(&mut wire, point),
            PublicKey::Rsa(_) => open_rsa(&mut wire, public),
        }
    }
}

impl Lock {
    fn decrypt(&self, passphrase: &Passphrase, private: &mut [u8]) -> Result<(), Error> {
        let mut derived = Zeroizing::new([0; 32 + 16]);
        bcrypt_pbkdf::bcrypt_pbkdf(passphrase.bytes(), &self.salt, self.rounds, derived.as_mut_slice())
            .map_err(|_| unusable("its encryption has impossible parameters"))?;
        let (key, iv) = derived.split_at(32);
        let aes = Aes::new(key, Backend::best()).map_err(|_| Error::internal("AES refused its key"))?;
        let mut iv: [u8; 16] = iv.try_into().expect("16 bytes");
        match self.is_chained {
            true => aes.cbc_decrypt(&mut iv, private),
            false => aes.ctr_xor(&iv, 0, private),
        }
        Ok(())
    }
}

fn open_ed25519(wire: &mut Wire<'_>, point: &[u8; 32]) -> Result<SshSecret, Error> {
    let _public = wire.string()?;
    let (seed, _public) =
        wire.string()?.split_first_chunk::<32>().ok_or(unusable("an Ed25519 key has 64 bytes"))?;
    match ed25519_secret(seed) {
        SshSecret::Ed25519(secret) if secret.share()? == *point => Ok(SshSecret::Ed25519(secret)),
        _ => Err(unusable("its two halves do not belong together").into()),
    }
}

/// The scalar of an Ed25519 key (RFC 8032, section 5.1.5), which X25519 clamps.
pub(super) fn ed25519_secret(seed: &[u8; 32]) -> SshSecret {
    let hash = digest(&SHA512, seed);
    let scalar = hash.as_ref()[..32].try_into().expect("SHA-512 gives 64 bytes");
    SshSecret::Ed25519(Secret(Zeroizing::new(scalar)))
}

fn open_rsa(wire: &mut Wire<'_>, public: &SshRecipient) -> Result<SshSecret, Error> {
    let (modulus, exponent, private) = (wire.integer()?, wire.integer()?, wire.integer()?);
    let (coefficient, prime, other) = (wire.integer()?, wire.integer()?, wire.integer()?);
    let mut named = Wire(&public.blob);
    if [named.string()?, named.integer()?, named.integer()?] != [RSA.as_bytes(), exponent, modulus] {
        return Err(unusable("its two halves do not belong together").into());
    }
    // OpenSSH leaves these two out.
    let reduced = |prime: &[u8]| {
        let mut order = Zeroizing::new(prime.to_vec());
        // Odd, so that no borrow follows.
        *order.last_mut().filter(|last| **last % 2 == 1)? -= 1;
        order.iter().any(|&byte| byte > 0).then(|| remainder(private, &order))
    };
    let reduced = |prime| reduced(prime).ok_or(unusable("one of its primes is none"));
    let (first, second) = (reduced(prime)?, reduced(other)?);
    let encoded = der::private_key(&[modulus, exponent, private, prime, other, &first, &second, coefficient]);
    let key = PrivateDecryptingKey::from_pkcs8(&encoded).map_err(|_| unusable("its numbers do not fit"))?;
    Ok(rsa_secret(key)?)
}

pub(super) fn rsa_secret(key: PrivateDecryptingKey) -> Result<SshSecret, AgeFault> {
    OaepPrivateDecryptingKey::new(key).map(SshSecret::Rsa).map_err(|_| unusable("RSA-OAEP refuses it"))
}

/// `number` modulo `divisor` (not 0), both big-endian. Bit by bit and without branches that depend on them: a library of long
/// integers would leave copies of both in memory.
fn remainder(number: &[u8], divisor: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut rest = Zeroizing::new(vec![0_u8; divisor.len()]);
    let mut reduced = rest.clone();
    for bit in number.iter().flat_map(|byte| (0..8).rev().map(move |shift| byte >> shift & 1)) {
        let mut carry = bit;
        for byte in rest.iter_mut().rev() {
            (*byte, carry) = (*byte << 1 | carry, *byte >> 7);
        }
        let mut borrow = 0;
        for ((reduced, &byte), &other) in reduced.iter_mut().zip(rest.iter()).zip(divisor).rev() {
            let difference = u16::from(byte).wrapping_sub(u16::from(other)).wrapping_sub(borrow);
            (*reduced, borrow) = (difference as u8, difference >> 15);
        }
        // Twice the rest is less than twice the divisor: one subtraction is enough, if it is not negative.
        let keep = (u8::from(borrow > 0) & (carry ^ 1)).wrapping_neg();
        rest.iter_mut().zip(reduced.iter()).for_each(|(byte, &new)| *byte = *byte & keep | new & !keep);
    }
    rest
}

impl SshSecret {
    /// The file key of a stanza that names this key; the name is short, so it may be another's all the same.
    pub(super) fn unwrap(&self, public: &SshRecipient, stanza: &Stanza) -> Result<Option<FileKey>, Error> {
        match (self, &public.key) {
            (SshSecret::Ed25519(secret), PublicKey::Ed25519(point)) => {
                let share = decode_argument(&stanza.arguments[1])
                    .ok_or(malformed("an ssh-ed25519 stanza's share is not 32 bytes"))?;
                let key = public.ed25519_key(secret, &share, &share, point)?;
                let key = key.ok_or(malformed("an ssh-ed25519 stanza's share is of low order"))?;
                FileKey::unwrap(&key, &stanza.body)
            }
            (SshSecret::Rsa(secret), _) => {
                let mut opened = Zeroizing::new(vec![0; secret.min_output_size()]);
                let key = secret.decrypt(&OAEP_SHA256_MGF1SHA256, &stanza.body, &mut opened, Some(RSA_LABEL));
                Ok(key.ok().and_then(|key| FileKey::from_bytes(key)))
            }
            (SshSecret::Ed25519(_), PublicKey::Rsa(_)) => unreachable!("{ED25519} secrets have such publics"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_of_short_numbers_are_right() {
        for divisor in [1_u16, 2, 3, 255, 256, 257, 0x7fff, 0x8000, 0xfffe, 0xffff] {
            for number in [0_u64, 1, 255, 256, 0xffff, 0x1_0000, 0x0123_4567_89ab_cdef, u64::MAX] {
                let rest = remainder(&number.to_be_bytes(), &divisor.to_be_bytes());
                assert_eq!(*rest, ((number % u64::from(divisor)) as u16).to_be_bytes(), "{number} {divisor}");
            }
        }
    }
}
