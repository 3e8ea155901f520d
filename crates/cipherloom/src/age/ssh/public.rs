//! SSH public keys: the lines of `authorized_keys` and of `.pub` files.

use super::super::fault::AgeFault;
use super::super::file_key::{FileKey, WRAPPED, derive};
use super::super::stanza::{Stanza, encode_argument, malformed};
use super::super::x25519::{Secret, wrapping_key};
use super::der;
use super::wire::Wire;
use crate::Error;
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rsa::{OAEP_SHA256_MGF1SHA256, OaepPublicEncryptingKey, PublicEncryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

pub(super) const ED25519: &str = "ssh-ed25519";
pub(super) const RSA: &str = "ssh-rsa";
pub(super) const ED25519_LABEL: &[u8] = b"age-encryption.org/v1/ssh-ed25519";
pub(super) const RSA_LABEL: &[u8] = b"age-encryption.org/v1/ssh-rsa";

/// A public key.
#[derive(Clone)]
pub(in super::super) struct SshRecipient {
    /// The key as SSH encodes it.
    pub(super) blob: Vec<u8>,
    comment: String,
    pub(super) key: PublicKey,
}

#[derive(Clone)]
pub(super) enum PublicKey {
    /// The point of Curve25519 that belongs to the Ed25519 key.
    Ed25519([u8; 32]),
    Rsa(PublicEncryptingKey),
}

impl SshRecipient {
    /// Reads a line: type, base64 and perhaps a comment.
    pub(in super::super) fn parse(text: &str) -> Result<SshRecipient, AgeFault> {
        let mut words = text.splitn(3, [' ', '\t']);
        let (kind, encoded) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let blob = STANDARD.decode(encoded).map_err(|_| unusable("its second word is not base64"))?;
        let recipient = SshRecipient::from_blob(&blob, words.next().unwrap_or_default())?;
        if recipient.kind() == kind {
            Ok(recipient)
        } else {
            Err(unusable("it has another type than its line says"))
        }
    }

    pub(super) fn from_blob(blob: &[u8], comment: &str) -> Result<SshRecipient, AgeFault> {
        let mut wire = Wire(blob);
        let key = match wire.string()? {
            b"ssh-ed25519" => {
                let point = wire.string()?.try_into().map_err(|_| unusable("an Ed25519 key has 32 bytes"))?;
                PublicKey::Ed25519(to_montgomery(point)?)
            }
            b"ssh-rsa" => {
                let (exponent, modulus) = (wire.integer()?, wire.integer()?);
                let key = PublicEncryptingKey::from_der(&der::public_key(modulus, exponent));
                PublicKey::Rsa(
                    key.map_err(|_| unusable("an RSA key of less than 2048 or more than 8192 bits"))?,
                )
            }
            _ => return Err(unusable("it is neither ssh-ed25519 nor ssh-rsa")),
        };
        if !wire.0.is_empty() {
            return Err(unusable("something follows it"));
        }
        Ok(SshRecipient { blob: blob.to_vec(), comment: comment.to_owned(), key })
    }

    /// The type, which is that of its stanzas too.
    pub(super) fn kind(&self) -> &'static str {
        match &self.key {
            PublicKey::Ed25519(_) => ED25519,
            PublicKey::Rsa(_) => RSA,
        }
    }

    pub(in super::super) fn to_text(&self) -> String {
        let space = if self.comment.is_empty() { "" } else { " " };
        format!("{} {}{space}{}", self.kind(), STANDARD.encode(&self.blob), self.comment)
    }

    pub(super) fn tag(&self) -> String {
        encode_argument(&digest(&SHA256, &self.blob).as_ref()[..4])
    }

    /// Whether this stanza, of the key's type, names this key.
    pub(super) fn is_tagged(&self, stanza: &Stanza) -> Result<bool, AgeFault> {
        let expected = match &self.key {
            PublicKey::Ed25519(_) => 2,
            PublicKey::Rsa(_) => 1,
        };
        if stanza.arguments.len() != expected {
            return Err(malformed("a stanza for an SSH key has another number of arguments"));
        }
        Ok(stanza.arguments[0] == self.tag())
    }

    /// A stanza that is as long as those of [`SshRecipient::wrap`].
    pub(in super::super) fn sample(&self) -> Stanza {
        match &self.key {
            PublicKey::Ed25519(point) => {
                Stanza::new(ED25519, &[&self.tag(), &encode_argument(point)], &[0; WRAPPED])
            }
            PublicKey::Rsa(key) => Stanza::new(RSA, &[&self.tag()], &vec![0; key.key_size_bytes()]),
        }
    }

    pub(in super::super) fn wrap(&self, key: &FileKey) -> Result<Stanza, Error> {
        match &self.key {
            PublicKey::Ed25519(point) => {
                let ephemeral = Secret::generate()?;
                let share = ephemeral.share()?;
                let wrapping = self.ed25519_key(&ephemeral, point, &share, point)?;
                let wrapping = wrapping.ok_or(unusable("it is a point of low order"))?;
                let arguments = [self.tag(), encode_argument(&share)];
                Ok(Stanza::new(ED25519, &[&arguments[0], &arguments[1]], &key.wrap(&wrapping)?))
            }
            PublicKey::Rsa(public) => {
                let refused = |_| Error::internal("RSA-OAEP refused to encrypt a file key");
                let public = OaepPublicEncryptingKey::new(public.clone()).map_err(refused)?;
                let mut body = vec![0; public.ciphertext_size()];
                public
                    .encrypt(&OAEP_SHA256_MGF1SHA256, key.bytes(), &mut body, Some(RSA_LABEL))
                    .map_err(refused)?;
                Ok(Stanza::new(RSA, &[&self.tag()], &body))
            }
        }
    }

    /// The key that wraps a file key between `secret` and `peer`, tied to this SSH key; `None` if `peer` is of low order.
    pub(super) fn ed25519_key(
        &self,
        secret: &Secret,
        peer: &[u8; 32],
        share: &[u8; 32],
        recipient: &[u8; 32],
    ) -> Result<Option<Zeroizing<[u8; 32]>>, Error> {
        let Some(shared) = secret.agree(peer)? else { return Ok(None) };
        let tweak = Secret(derive(&[], &self.blob, ED25519_LABEL)?);
        let Some(tweaked) = tweak.agree(&shared)? else { return Ok(None) };
        wrapping_key(&tweaked, share, recipient, ED25519_LABEL).map(Some)
    }
}

/// The map from Edwards to Montgomery form (RFC 7748, section 4.1).
fn to_montgomery(point: [u8; 32]) -> Result<[u8; 32], AgeFault> {
    let point = ed25519_compact::x25519::PublicKey::from_ed25519(&ed25519_compact::PublicKey::new(point));
    Ok(*point.map_err(|_| unusable("it is no point of the curve, or one of low order"))?)
}

pub(super) fn unusable(problem: &'static str) -> AgeFault {
    AgeFault::SshKey { problem }
}
