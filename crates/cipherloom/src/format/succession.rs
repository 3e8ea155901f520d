//! How a re-keyed stream says which stream it takes the place of: to those who have its key, and to nobody else. For all others
//! its salt is as random as any.
//!
//! ```text
//! header    | length (1) | random | mark | nonce prefix, random (7) |       random and mark: half of the salt each, 8 or 16
//! mark      the first bytes of HMAC-SHA256(marking key, predecessor | the header without the mark)
//! key       HKDF(the main key's hash, main key, no salt, info = label)
//! ```
//!
//! A synchronization to an object store hashes the state of the source in place of a predecessor (`pipeline/sync/store.rs`).
//!
//! A run that finds such a stream where it expects the predecessor knows that a holder of the key made it of that one. Nobody
//! else can give a stream another header, since its segments' keys are derived from the salt.

use super::derive;
use crate::Error;
use crate::key::StreamingKey;
use aws_lc_rs::{constant_time, hmac};
use std::ops::Range;
use zeroize::Zeroizing;

/// What identifies a stream and its place, hashed.
pub(crate) type Predecessor = [u8; 32];

/// Bound paths begin with another byte.
const LABEL: &[u8] = b"\0cipherloom re-keyed stream 1";

/// Puts the mark into a header that is random otherwise.
pub(super) fn mark(key: &StreamingKey, predecessor: &Predecessor, header: &mut [u8]) -> Result<(), Error> {
    let tag = tag(key, predecessor, header)?;
    let place = place(key);
    let len = place.len();
    header[place].copy_from_slice(&tag.as_ref()[..len]);
    Ok(())
}

/// Whether a header has the mark.
pub(super) fn is_marked(key: &StreamingKey, predecessor: &Predecessor, header: &[u8]) -> Result<bool, Error> {
    if header.len() != key.header_len() as usize {
        return Ok(false);
    }
    let tag = tag(key, predecessor, header)?;
    let place = place(key);
    let expected = &tag.as_ref()[..place.len()];
    Ok(constant_time::verify_slices_are_equal(expected, &header[place]).is_ok())
}

/// Where the mark is in a header: the second half of the salt.
fn place(key: &StreamingKey) -> Range<usize> {
    let salt = key.derived_key_size as usize;
    1 + salt / 2..1 + salt
}

fn tag(key: &StreamingKey, predecessor: &Predecessor, header: &[u8]) -> Result<hmac::Tag, Error> {
    let mut marking = Zeroizing::new([0; 32]);
    derive::hkdf(key.hkdf_hash, &key.key_value, b"", LABEL, marking.as_mut_slice())?;
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, marking.as_slice()));
    let place = place(key);
    for bytes in [predecessor, &header[..place.start], &header[place.end..]] {
        context.update(bytes);
    }
    Ok(context.sign())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Kind, StreamHeader};
    use crate::key::{Keyset, Template};
    use cipherloom_kernels::Backend;

    #[test]
    fn only_the_marked_header_of_the_same_key_and_predecessor_is_recognised() {
        for template in Template::ALL {
            let keyset = || Keyset::generate(template).unwrap();
            let format = |keyset| Format::tink(keyset, Backend::best()).unwrap();
            let (own, other) = (format(keyset()), format(keyset()));
            let header = |predecessor: Option<&Predecessor>| {
                let mut header = StreamHeader::new();
                own.seal_stream(b"path", predecessor, &mut header).unwrap();
                header.bytes().to_vec()
            };
            let predecessor = [7; 32];
            let marked = header(Some(&predecessor));
            let succeeds = |format: &Format, predecessor: &Predecessor, header: &[u8]| {
                format.of_successor(predecessor, header).unwrap().is_some()
            };
            assert!(succeeds(&own, &predecessor, &marked));
            assert!(!succeeds(&own, &[8; 32], &marked));
            assert!(!succeeds(&other, &predecessor, &marked));
            assert!(!succeeds(&own, &predecessor, &header(None)));
            assert!(!succeeds(&own, &predecessor, &marked[..marked.len() - 1]));
            assert_ne!(marked, header(Some(&predecessor)), "never the same header twice");
            for at in 0..marked.len() {
                let mut damaged = marked.clone();
                damaged[at] ^= 1;
                assert!(!succeeds(&own, &predecessor, &damaged), "byte {at}");
            }
        }
    }

    /// Who has an old key of the keyset can put a stream of their own behind a marked header.
    #[test]
    fn only_the_key_of_the_mark_opens_the_stream() {
        let backend = Backend::best();
        let mut keyset = Keyset::generate(Template::Aes256GcmHkdf4Kb).unwrap();
        let old = Format::tink(&keyset, backend).unwrap();
        let new = keyset.add(Template::Aes256GcmHkdf4Kb).unwrap();
        keyset.promote(new).unwrap();
        let both = Format::tink(&keyset, backend).unwrap();
        let (predecessor, mut header) = ([7; 32], StreamHeader::new());
        let stream = both.seal_stream(b"path", Some(&predecessor), &mut header).unwrap();
        let Kind::Tink(attacker) = &*old.kind else { panic!("tink") };
        let forged = attacker.open_with_primary(b"path", header.bytes()).unwrap();
        for (stream, is_own) in [(stream, true), (forged, false)] {
            let mut segment = [0; 20];
            segment[..4].copy_from_slice(b"text");
            stream.seal(0, true, None, &mut segment).unwrap();
            let file = [header.bytes(), &segment].concat();
            assert!(both.opening_key(b"path", &file, true).is_ok());
            let format = both.of_successor(&predecessor, &file).unwrap().unwrap();
            assert_eq!(format.key_id(), Some(new));
            assert_eq!(format.opening_key(b"path", &file, true).is_ok(), is_own);
        }
        // A key that is no longer the primary one is found too.
        keyset.add(Template::Aes128GcmHkdf1Mb).and_then(|id| keyset.promote(id)).unwrap();
        let later = Format::tink(&keyset, backend).unwrap();
        let found = later.of_successor(&predecessor, header.bytes()).unwrap().unwrap();
        assert_eq!(found.key_id(), Some(new));
    }

    /// Computed with Python's hmac and hashlib from what `docs/formats.md` says.
    #[test]
    fn known_answers() {
        for (template, expected) in [
            (Template::Aes128GcmHkdf4Kb, "b1fa751613eb3546"),
            (Template::Aes256GcmHkdf4Kb, "486013da15c970d2e6e2dc82c5994d3e"),
        ] {
            let mut key = Keyset::generate(template).unwrap().primary().clone();
            let size = key.derived_key_size as u8;
            key.key_value.copy_from_slice(&(0..size).collect::<Vec<_>>());
            let mut header = vec![1 + size + 7];
            header.extend((100..100 + size).chain(200..207));
            mark(&key, &[7; 32], &mut header).unwrap();
            let found: String = header[place(&key)].iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(found, expected);
            assert!(header[1..].starts_with(&[100, 101]) && header.ends_with(&[205, 206]));
        }
    }
}
