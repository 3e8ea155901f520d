//! Every field of the two messages at and beyond its limits.

use super::*;
use crate::error::KeyFault;

/// A key whose parts tests bend one by one.
#[derive(Clone)]
struct Parts {
    version: u32,
    segment_size: u32,
    derived: u32,
    hash: u32,
    hmac: Option<(u32, u32)>,
    secret: usize,
}

const GCM: Parts = Parts { version: 0, segment_size: 4096, derived: 32, hash: 3, hmac: None, secret: 32 };
const CTR: Parts = Parts { hmac: Some((3, 32)), ..GCM };

impl Parts {
    fn message(&self) -> Vec<u8> {
        let mut params = Writer::with_capacity(64);
        params.varint(1, self.segment_size);
        params.varint(2, self.derived);
        params.varint(3, self.hash);
        if let Some((hash, tag)) = self.hmac {
            let mut hmac = Writer::with_capacity(16);
            hmac.varint(1, hash);
            hmac.varint(2, tag);
            params.bytes(4, &hmac.finish());
        }
        let mut message = Writer::with_capacity(256);
        message.varint(1, self.version);
        message.bytes(2, &params.finish());
        message.bytes(3, &vec![7; self.secret]);
        message.finish().to_vec()
    }

    fn parse(&self) -> Result<StreamingKey, KeyFault> {
        StreamingKey::parse(if self.hmac.is_some() { CTR_TYPE_URL } else { GCM_TYPE_URL }, &self.message())
    }

    fn fault(&self) -> KeyFault {
        self.parse().unwrap_err()
    }
}

#[test]
fn accepts_what_tink_accepts_and_writes_it_back() {
    for parts in [
        GCM,
        CTR,
        Parts { derived: 16, secret: 16, ..GCM },
        Parts { derived: 16, secret: 100, hash: 1, ..GCM },
        Parts { hash: 4, segment_size: 40 + 17, ..GCM },
        Parts { segment_size: i32::MAX as u32, ..GCM },
        Parts { hmac: Some((1, 10)), segment_size: 40 + 11, ..CTR },
        Parts { hmac: Some((1, 20)), ..CTR },
        Parts { hmac: Some((4, 64)), ..CTR },
    ] {
        let key = parts.parse().unwrap();
        assert_eq!(key.segment_size, parts.segment_size);
        assert_eq!(key.derived_key_size, parts.derived);
        assert_eq!(key.hkdf_hash.number(), parts.hash);
        assert_eq!(key.key_value.len(), parts.secret);
        assert_eq!(key.serialize().as_slice(), parts.message());
    }
}

#[test]
fn refuses_what_tink_refuses() {
    assert_eq!(Parts { version: 1, ..GCM }.fault(), KeyFault::Version(1));
    for derived in [0, 15, 24, 33] {
        assert_eq!(Parts { derived, ..GCM }.fault(), KeyFault::DerivedKeySize(derived));
    }
    assert_eq!(Parts { secret: 31, ..GCM }.fault(), KeyFault::TooShort { found: 31, needed: 32 });
    assert_eq!(Parts { secret: 0, derived: 16, ..CTR }.fault(), KeyFault::TooShort { found: 0, needed: 16 });
    for hash in [0, 2, 5, 6] {
        assert_eq!(Parts { hash, ..GCM }.fault(), KeyFault::Hash { purpose: "HKDF" });
        assert_eq!(Parts { hmac: Some((hash, 20)), ..CTR }.fault(), KeyFault::Hash { purpose: "HMAC" });
    }
    for (hash, tag, most) in [(1, 9, 20), (1, 21, 20), (3, 33, 32), (4, 65, 64), (3, 0, 32)] {
        assert_eq!(Parts { hmac: Some((hash, tag)), ..CTR }.fault(), KeyFault::TagSize { found: tag, most });
    }
    assert_eq!(Parts { segment_size: 56, ..GCM }.fault(), KeyFault::SegmentSize { found: 56, least: 57 });
    assert_eq!(
        Parts { segment_size: 40, derived: 16, hmac: Some((3, 16)), ..CTR }.fault(),
        KeyFault::SegmentSize { found: 40, least: 41 }
    );
    let too_large = 1 << 31;
    assert_eq!(
        Parts { segment_size: too_large, ..GCM }.fault(),
        KeyFault::SegmentSize { found: too_large, least: 57 }
    );
}

#[test]
fn an_hmac_key_needs_its_parameters_and_a_gcm_key_ignores_them() {
    let without = GCM.message();
    assert_eq!(StreamingKey::parse(CTR_TYPE_URL, &without).unwrap_err(), KeyFault::Hash { purpose: "HMAC" });
    // Field 4 is unknown to the GCM message, so it is skipped.
    assert_eq!(StreamingKey::parse(GCM_TYPE_URL, &CTR.message()).unwrap().protection, Protection::Gcm);
}

#[test]
fn skips_unknown_fields_and_takes_the_last_of_a_scalar() {
    let mut message = vec![0x08, 5, 0x7a, 3, 1, 2, 3, 0x1d, 0, 0, 0, 0]; // version 5, field 15, field 3 as fixed32
    message.extend(GCM.message());
    message.extend([0x08, 0]); // version 0 after all
    message.extend([0x12, 3, 0x08, 0x80, 0x10]); // params again: only the segment size, 2048
    let key = StreamingKey::parse(GCM_TYPE_URL, &message).unwrap();
    assert_eq!((key.segment_size, key.derived_key_size), (2048, 32));
}

#[test]
fn refuses_other_types_and_damage() {
    let other = "type.googleapis.com/google.crypto.tink.AesGcmKey";
    assert_eq!(
        StreamingKey::parse(other, &GCM.message()).unwrap_err(),
        KeyFault::Type { type_url: other.to_owned() }
    );
    let whole = CTR.message();
    for length in 0..whole.len() {
        assert!(StreamingKey::parse(CTR_TYPE_URL, &whole[..length]).is_err(), "cut to {length}");
    }
    // Damage inside a nested message is damage too: here hmac_params claims more bytes than there are.
    assert_eq!(StreamingKey::parse(CTR_TYPE_URL, &[0x12, 2, 0x22, 9]).unwrap_err(), KeyFault::Protobuf);
}

#[test]
fn debug_shows_no_secret() {
    let shown = format!("{:?}", CTR.parse().unwrap());
    assert!(shown.contains("4096") && !shown.contains("7, 7"), "{shown}");
}
