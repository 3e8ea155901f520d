//! X25519 recipients: `age1…` and `AGE-SECRET-KEY-1…`, and the agreement that SSH's Ed25519 keys share.
//!
//! ```text
//! -> X25519 base64(ephemeral share)
//! base64(file key under HKDF(shared secret, salt = share | recipient, info = "age-encryption.org/v1/X25519"))
//! ```

use super::encoding;
use super::fault::AgeFault;
use super::file_key::{FileKey, WRAPPED, derive};
use super::stanza::{Stanza, decode_argument, encode_argument, malformed};
use crate::Error;
use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
use zeroize::Zeroizing;

pub(super) const STANZA: &str = "X25519";
const LABEL: &[u8] = b"age-encryption.org/v1/X25519";
const PUBLIC: &str = "age";
const SECRET: &str = "AGE-SECRET-KEY-";

/// The public half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct X25519Recipient {
    share: [u8; 32],
}

impl X25519Recipient {
    pub(super) fn parse(text: &str) -> Result<X25519Recipient, AgeFault> {
        let problem = "it is not the Bech32 text of an X25519 key";
        let share = encoding::decode_key(PUBLIC, text).ok_or(AgeFault::Recipient { problem })?;
        Ok(X25519Recipient { share: *share })
    }

    pub(super) fn to_text(&self) -> String {
        encoding::encode(PUBLIC, &self.share).to_string()
    }

    /// A stanza that is as long as those of [`X25519Recipient::wrap`].
    pub(super) fn sample(&self) -> Stanza {
        Stanza::new(STANZA, &[&encode_argument(&self.share)], &[0; WRAPPED])
    }

    pub(super) fn wrap(&self, key: &FileKey) -> Result<Stanza, Error> {
        let ephemeral = Secret::generate()?;
        let share = ephemeral.share()?;
        let problem = "it is a point of low order";
        let secret = ephemeral.agree(&self.share)?.ok_or(AgeFault::Recipient { problem })?;
        let wrapping = wrapping_key(&secret, &share, &self.share, LABEL)?;
        Ok(Stanza::new(STANZA, &[&encode_argument(&share)], &key.wrap(&wrapping)?))
    }
}

/// The secret half.
pub(super) struct X25519Identity {
    secret: Secret,
    recipient: X25519Recipient,
}

impl X25519Identity {
    pub(super) fn generate() -> Result<X25519Identity, Error> {
        X25519Identity::new(Secret::generate()?)
    }

    pub(super) fn parse(text: &str) -> Result<X25519Identity, Error> {
        let problem = "it is not the Bech32 text of an X25519 secret key";
        let scalar = encoding::decode_key(SECRET, text).ok_or(AgeFault::Identity { problem })?;
        X25519Identity::new(Secret(scalar))
    }

    fn new(secret: Secret) -> Result<X25519Identity, Error> {
        let share = secret.share()?;
        Ok(X25519Identity { secret, recipient: X25519Recipient { share } })
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        encoding::encode(SECRET, self.secret.0.as_slice())
    }

    pub(super) fn recipient(&self) -> &X25519Recipient {
        &self.recipient
    }

    /// The file key, if this stanza wraps it for this identity.
    pub(super) fn unwrap(&self, stanza: &Stanza) -> Result<Option<FileKey>, Error> {
        let [share] = stanza.arguments.as_slice() else {
            return Err(malformed("an X25519 stanza has not one argument").into());
        };
        let share = decode_argument(share).ok_or(malformed("an X25519 stanza's share is not 32 bytes"))?;
        let secret =
            self.secret.agree(&share)?.ok_or(malformed("an X25519 stanza's share is of low order"))?;
        let wrapping = wrapping_key(&secret, &share, &self.recipient.share, LABEL)?;
        FileKey::unwrap(&wrapping, &stanza.body)
    }
}

/// A scalar.
pub(super) struct Secret(pub(super) Zeroizing<[u8; 32]>);

impl Secret {
    pub(super) fn generate() -> Result<Secret, Error> {
        let mut scalar = Zeroizing::new([0; 32]);
        getrandom::fill(scalar.as_mut_slice()).map_err(Error::Random)?;
        Ok(Secret(scalar))
    }

    fn key(&self) -> Result<PrivateKey, Error> {
        PrivateKey::from_private_key(&X25519, self.0.as_slice()).map_err(|_| refused())
    }

    /// This scalar times the base point.
    pub(super) fn share(&self) -> Result<[u8; 32], Error> {
        let public = self.key()?.compute_public_key().map_err(|_| refused())?;
        public.as_ref().try_into().map_err(|_| refused())
    }

    /// The shared secret; `None` if it is zero, which only a point of low order gives.
    pub(super) fn agree(&self, share: &[u8; 32]) -> Result<Option<Zeroizing<[u8; 32]>>, Error> {
        let peer = UnparsedPublicKey::new(&X25519, share);
        let secret = agree(&self.key()?, peer, (), |secret| {
            Ok(Zeroizing::new(<[u8; 32]>::try_from(secret).map_err(|_| ())?))
        });
        Ok(secret.ok().filter(|secret| secret.iter().any(|&byte| byte != 0)))
    }
}

fn refused() -> Error {
    Error::internal("X25519 refused a key")
}

/// The key that wraps a file key between these shares.
pub(super) fn wrapping_key(
    secret: &[u8; 32],
    share: &[u8; 32],
    recipient: &[u8; 32],
    label: &[u8],
) -> Result<Zeroizing<[u8; 32]>, Error> {
    derive(secret, &[*share, *recipient].concat(), label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_s_pair() {
        let text = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
        let identity = X25519Identity::parse(text).unwrap();
        let public = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
        assert_eq!(identity.recipient().to_text(), public);
        assert_eq!(X25519Recipient::parse(public).unwrap(), *identity.recipient());
        assert_eq!(*identity.to_text(), text);
    }

    #[test]
    fn wraps_for_one_identity() {
        let (one, other) = (X25519Identity::generate().unwrap(), X25519Identity::generate().unwrap());
        let key = FileKey::generate().unwrap();
        let stanza = one.recipient().wrap(&key).unwrap();
        assert_eq!(one.unwrap(&stanza).unwrap().unwrap().bytes(), key.bytes());
        assert!(other.unwrap(&stanza).unwrap().is_none());
        assert!(X25519Recipient { share: [0; 32] }.wrap(&key).is_err(), "a point of low order");
    }
}
