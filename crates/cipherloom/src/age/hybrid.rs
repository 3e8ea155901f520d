//! Post-quantum recipients: `age1pq1…` and `AGE-SECRET-KEY-PQ-1…`, ML-KEM-768 with X25519, as age 1.3 writes them.
//!
//! The key encapsulation is MLKEM768-X25519 of draft-ietf-hpke-pq (X-Wing), inside HPKE's base mode (RFC 9180) with
//! HKDF-SHA256 and ChaCha20-Poly1305:
//!
//! ```text
//! -> mlkem768x25519 base64(ML-KEM ciphertext (1088) | ephemeral share (32))
//! base64(HPKE's sealed file key)
//!
//! seed (32) -- SHAKE256 --> ML-KEM seed (64) | X25519 scalar (32)
//! recipient = ML-KEM encapsulation key (1184) | X25519 share (32)
//! shared secret = SHA3-256(ML-KEM secret | X25519 secret | ephemeral share | X25519 share | "\.//^\")
//! ```

use super::encoding;
use super::fault::AgeFault;
use super::file_key::{FileKey, WRAPPED};
use super::hpke;
use super::stanza::{Stanza, decode_argument, encode_argument, malformed};
use super::x25519::Secret;
use crate::Error;
use aws_lc_rs::digest::{SHA3_256, digest};
use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_768};
use ml_kem::{B32, EncodedSizeUser, KemCore, MlKem768};
use sha3::Shake256;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use zeroize::{Zeroize, Zeroizing};

pub(super) const STANZA: &str = "mlkem768x25519";
const PUBLIC: &str = "age1pq";
const SECRET: &str = "AGE-SECRET-KEY-PQ-";
const ENCAPSULATION_KEY: usize = 1184;
const CIPHERTEXT: usize = 1088;
const SHARE: usize = 32;
const LABEL: &[u8] = br"\.//^\";

/// The public half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HybridRecipient {
    bytes: Box<[u8; ENCAPSULATION_KEY + SHARE]>,
}

impl HybridRecipient {
    pub(super) fn parse(text: &str) -> Result<HybridRecipient, AgeFault> {
        let refused = |problem| AgeFault::Recipient { problem };
        let bytes: Zeroizing<[u8; ENCAPSULATION_KEY + SHARE]> = encoding::decode_key(PUBLIC, text)
            .ok_or(refused("it is not the Bech32 text of an ML-KEM-768 and X25519 key"))?;
        let recipient = HybridRecipient { bytes: Box::new(*bytes) };
        // The library checks the key's coefficients when it encapsulates.
        let tried =
            EncapsulationKey::new(&ML_KEM_768, recipient.parts().0).map(|key| key.encapsulate().is_ok());
        match tried {
            Ok(true) => Ok(recipient),
            _ => Err(refused("its ML-KEM key has a coefficient that is too large")),
        }
    }

    pub(super) fn to_text(&self) -> String {
        encoding::encode(PUBLIC, self.bytes.as_slice()).to_string()
    }

    fn parts(&self) -> (&[u8], &[u8; SHARE]) {
        self.bytes.split_last_chunk().expect("it has both parts")
    }

    /// A stanza that is as long as those of [`HybridRecipient::wrap`].
    pub(super) fn sample(&self) -> Stanza {
        Stanza::new(STANZA, &[&encode_argument(&[0; CIPHERTEXT + SHARE])], &[0; WRAPPED])
    }

    pub(super) fn wrap(&self, key: &FileKey) -> Result<Stanza, Error> {
        let (encapsulation, share) = self.parts();
        let encapsulation = EncapsulationKey::new(&ML_KEM_768, encapsulation).map_err(|_| refused())?;
        let (ciphertext, lattice) = encapsulation.encapsulate().map_err(|_| refused())?;
        let ephemeral = Secret::generate()?;
        let ephemeral_share = ephemeral.share()?;
        let problem = "its X25519 key is a point of low order";
        let curve = ephemeral.agree(share)?.ok_or(AgeFault::Recipient { problem })?;
        let secret = combine(lattice.as_ref(), &curve, &ephemeral_share, share);
        let encapsulated = [ciphertext.as_ref(), &ephemeral_share].concat();
        let body = hpke::seal(&secret, key.bytes())?;
        Ok(Stanza::new(STANZA, &[&encode_argument(&encapsulated)], &body))
    }
}

/// The secret half.
pub(super) struct HybridIdentity {
    seed: Zeroizing<[u8; 32]>,
    lattice: DecapsulationKey,
    curve: Secret,
    recipient: HybridRecipient,
}

impl HybridIdentity {
    pub(super) fn generate() -> Result<HybridIdentity, Error> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(Error::Random)?;
        HybridIdentity::new(seed)
    }

    pub(super) fn parse(text: &str) -> Result<HybridIdentity, Error> {
        let problem = "it is not the Bech32 text of a post-quantum secret key";
        HybridIdentity::new(encoding::decode_key(SECRET, text).ok_or(AgeFault::Identity { problem })?)
    }

    fn new(seed: Zeroizing<[u8; 32]>) -> Result<HybridIdentity, Error> {
        let mut expanded = Shake256::default();
        expanded.update(seed.as_slice());
        let mut expanded = expanded.finalize_xof();
        let mut lattice_seed = Zeroizing::new([0; 64]);
        expanded.read(lattice_seed.as_mut_slice());
        let mut scalar = Zeroizing::new([0; 32]);
        expanded.read(scalar.as_mut_slice());
        let curve = Secret(scalar);

        let (lattice, public) = expand_lattice_key(&lattice_seed)?;
        let mut bytes = Box::new([0; ENCAPSULATION_KEY + SHARE]);
        let (front, back) = bytes.split_at_mut(ENCAPSULATION_KEY);
        front.copy_from_slice(&public);
        back.copy_from_slice(&curve.share()?);
        Ok(HybridIdentity { seed, lattice, curve, recipient: HybridRecipient { bytes } })
    }

    pub(super) fn to_text(&self) -> Zeroizing<String> {
        encoding::encode(SECRET, self.seed.as_slice())
    }

    pub(super) fn recipient(&self) -> &HybridRecipient {
        &self.recipient
    }

    /// The file key, if this stanza wraps it for this identity.
    pub(super) fn unwrap(&self, stanza: &Stanza) -> Result<Option<FileKey>, Error> {
        let [encapsulated] = stanza.arguments.as_slice() else {
            return Err(malformed("a mlkem768x25519 stanza has not one argument").into());
        };
        let encapsulated: [u8; CIPHERTEXT + SHARE] = decode_argument(encapsulated)
            .ok_or(malformed("a mlkem768x25519 stanza's encapsulated key is not 1120 bytes"))?;
        if stanza.body.len() != WRAPPED {
            return Err(malformed("a stanza does not wrap 16 bytes").into());
        }
        let (ciphertext, ephemeral_share) = encapsulated.split_last_chunk().expect("it has both parts");
        let lattice = self.lattice.decapsulate(Ciphertext::from(ciphertext)).map_err(|_| refused())?;
        let curve = self.curve.agree(ephemeral_share)?;
        let curve = curve.ok_or(malformed("a mlkem768x25519 stanza's share is of low order"))?;
        let (_, share) = self.recipient.parts();
        let secret = combine(lattice.as_ref(), &curve, ephemeral_share, share);
        let opened = hpke::open(&secret, &stanza.body)?;
        Ok(opened.and_then(|key| FileKey::from_bytes(&key)))
    }
}

/// The key pair of a seed. aws-lc takes no seeds, so another library expands it, once for each identity.
fn expand_lattice_key(seed: &[u8; 64]) -> Result<(DecapsulationKey, Vec<u8>), Error> {
    let (mut front, mut back) = (B32::default(), B32::default());
    front.copy_from_slice(&seed[..32]);
    back.copy_from_slice(&seed[32..]);
    let (key, public) = MlKem768::generate_deterministic(&front, &back);
    front.as_mut_slice().zeroize();
    back.as_mut_slice().zeroize();
    let expanded = Zeroizing::new(key.as_bytes().to_vec());
    let lattice = DecapsulationKey::new(&ML_KEM_768, &expanded).map_err(|_| refused())?;
    Ok((lattice, public.as_bytes().to_vec()))
}

fn combine(lattice: &[u8], curve: &[u8; 32], ephemeral: &[u8; 32], share: &[u8; 32]) -> Zeroizing<[u8; 32]> {
    let input = Zeroizing::new([lattice, curve, ephemeral, share, LABEL].concat());
    Zeroizing::new(digest(&SHA3_256, &input).as_ref().try_into().expect("SHA3-256 gives 32 bytes"))
}

fn refused() -> Error {
    Error::internal("ML-KEM refused a key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_round_trips_and_wraps_for_one_identity() {
        let one = HybridIdentity::generate().unwrap();
        let again = HybridIdentity::parse(&one.to_text()).unwrap();
        assert_eq!(again.recipient(), one.recipient());
        let recipient = HybridRecipient::parse(&one.recipient().to_text()).unwrap();
        let key = FileKey::generate().unwrap();
        let stanza = recipient.wrap(&key).unwrap();
        assert_eq!(again.unwrap(&stanza).unwrap().unwrap().bytes(), key.bytes());
        assert!(HybridIdentity::generate().unwrap().unwrap(&stanza).unwrap().is_none());
    }

    #[test]
    fn a_coefficient_that_is_too_large_is_refused() {
        let mut bytes = vec![0; ENCAPSULATION_KEY + SHARE];
        bytes[..3].fill(0xff);
        let fault = HybridRecipient::parse(&encoding::encode(PUBLIC, &bytes)).unwrap_err();
        assert!(fault.to_string().contains("too large"), "{fault}");
    }
}
