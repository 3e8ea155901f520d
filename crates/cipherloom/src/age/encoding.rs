//! Keys as text: Bech32 (BIP 173) without its limit on length, all in lower or all in upper case.

use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, Checksum, Fe32, Hrp};
use zeroize::Zeroizing;

/// Bech32's checksum for a text of any length: post-quantum recipients have about 2,000 characters.
enum Unlimited {}

impl Checksum for Unlimited {
    type MidstateRepr = u32;
    const CODE_LENGTH: usize = usize::MAX;
    const CHECKSUM_LENGTH: usize = Bech32::CHECKSUM_LENGTH;
    const GENERATOR_SH: [u32; 5] = Bech32::GENERATOR_SH;
    const TARGET_RESIDUE: u32 = Bech32::TARGET_RESIDUE;
}

/// The human-readable part as it is written, and the data; `None` if the text is not canonical Bech32.
pub(crate) fn decode(text: &str) -> Option<(String, Zeroizing<Vec<u8>>)> {
    let parsed = CheckedHrpstring::new::<Unlimited>(text).ok()?;
    let characters = parsed.data_part_ascii_no_checksum();
    let padding = characters.len() * 5 % 8;
    if padding >= 5 {
        return None;
    }
    if let Some(&last) = characters.last()
        && Fe32::from_char(char::from(last)).ok()?.to_u8() & ((1 << padding) - 1) != 0
    {
        return None;
    }
    let mut data = Zeroizing::new(Vec::with_capacity(characters.len()));
    data.extend(parsed.byte_iter());
    // The part and the data agree in their case, which the parser has checked.
    let prefix = text.rsplit_once('1')?.0;
    Some((prefix.to_owned(), data))
}

/// Data under a human-readable part, in its case.
pub(crate) fn encode(prefix: &str, data: &[u8]) -> Zeroizing<String> {
    let hrp = Hrp::parse(prefix).expect("a prefix of printable characters in one case");
    let text = match prefix.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => bech32::encode_upper::<Unlimited>(hrp, data),
        false => bech32::encode_lower::<Unlimited>(hrp, data),
    };
    Zeroizing::new(text.expect("no length is too long"))
}

/// Decodes a Bech32 key of exactly `LEN` bytes that has exactly this human-readable part.
pub(crate) fn decode_key<const LEN: usize>(prefix: &str, text: &str) -> Option<Zeroizing<[u8; LEN]>> {
    let (found, data) = decode(text)?;
    let key = <[u8; LEN]>::try_from(data.as_slice()).ok()?;
    (found == prefix).then_some(Zeroizing::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specification_s_key_round_trips() {
        let text = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
        let (prefix, data) = decode(text).unwrap();
        assert_eq!((prefix.as_str(), data.as_slice()), ("AGE-SECRET-KEY-", &[0x42; 32][..]));
        assert_eq!(*encode("AGE-SECRET-KEY-", &data), text);
        assert_eq!(decode_key::<32>("AGE-SECRET-KEY-", text).unwrap().as_slice(), [0x42; 32]);
        assert!(
            decode_key::<32>("age", text).is_none() && decode_key::<31>("AGE-SECRET-KEY-", text).is_none()
        );
    }

    #[test]
    fn any_length_round_trips_and_any_changed_character_is_noticed() {
        for len in [0, 1, 2, 3, 4, 5, 32, 1216, 5000] {
            let data: Vec<u8> = (0..len).map(|at| at as u8 ^ 0x5a).collect();
            let text = encode("age1pq", &data);
            assert_eq!(decode(&text), Some(("age1pq".to_owned(), Zeroizing::new(data))), "{len}");
        }
        let text = encode("age", &[7; 32]);
        for at in 0..text.len() {
            for other in ["q", "p", "A", "1", "b"] {
                let mut changed = text.to_string();
                changed.replace_range(at..=at, other);
                assert!(changed == *text || decode(&changed).is_none(), "{changed}");
            }
        }
        assert!(decode(&text.to_uppercase()).is_some());
        assert!(decode("").is_none() && decode("1").is_none() && decode("age1").is_none());
    }

    /// The last character's unused bits are zero, and there are fewer than five of them.
    #[test]
    fn padding_is_canonical() {
        let with = |characters: &[u8]| {
            use bech32::primitives::iter::Fe32IterExt as _;
            let symbols = characters.iter().map(|&symbol| Fe32::try_from(symbol).unwrap());
            let hrp = Hrp::parse("age").unwrap();
            symbols.with_checksum::<Unlimited>(&hrp).chars().collect::<String>()
        };
        assert!(decode(&with(&[1, 4])).is_some());
        assert!(decode(&with(&[1, 5])).is_none(), "a bit of the padding is set");
        assert!(decode(&with(&[1, 4, 0])).is_none(), "a character too many");
    }
}
