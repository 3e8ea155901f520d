//! Montgomery multiplication against num-bigint, and the curve against RFC 7748.

use cipherloom_bignum::curve::{LANES, multiply, multiply_all};
use cipherloom_bignum::montgomery::Modulus;
use num_bigint::BigUint;
use proptest::prelude::*;

fn words(number: &BigUint, count: usize) -> Vec<u32> {
    let mut words = number.to_u32_digits();
    words.resize(count, 0);
    words
}

proptest! {
    #[test]
    fn products_are_those_of_num_bigint(
        mut modulus in prop::collection::vec(any::<u32>(), 1..40), a in any::<u128>(), b in any::<u128>(), near in any::<bool>(),
    ) {
        modulus[0] |= 1;
        let n = modulus.len();
        if near {
            modulus.fill(u32::MAX);
        }
        let m = BigUint::from_slice(&modulus);
        // Numbers of all lengths, near the modulus too.
        let [a, b] = [a, b].map(|number| {
            let wide = BigUint::from(number).pow(n as u32 / 3 + 1);
            if near { (&m - (wide % 1000_u32).min(&m - 1_u32)) % &m } else { wide % &m }
        });
        let mut result = vec![0; n];
        Modulus::new(&modulus).multiply(&words(&a, n), &words(&b, n), &mut result);
        // result * 2^32n = a * b
        let back = (BigUint::from_slice(&result) << (32 * n)) % &m;
        prop_assert_eq!(back, a * b % &m);
        prop_assert!(BigUint::from_slice(&result) < m);
    }
}

fn hexadecimal(text: &str) -> [u8; 32] {
    std::array::from_fn(|byte| u8::from_str_radix(&text[2 * byte..2 * byte + 2], 16).unwrap())
}

/// RFC 7748, section 5.2.
const KNOWN: [[&str; 3]; 2] = [
    [
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
    ],
    [
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
    ],
];

#[test]
fn one_lane_and_all_give_the_standard_s_answers() {
    for [scalar, point, expected] in KNOWN {
        assert_eq!(multiply(&hexadecimal(scalar), &hexadecimal(point)), hexadecimal(expected));
    }
    // More than the lanes hold, and a rest.
    let count = 2 * LANES + 3;
    let of = |column: usize| -> Vec<[u8; 32]> {
        (0..count).map(|row| hexadecimal(KNOWN[row % 2][column])).collect()
    };
    for threads in [1, 2, 5] {
        let mut products = vec![[0; 32]; count];
        multiply_all(threads, &of(0), &of(1), &mut products);
        assert_eq!(products, of(2), "{threads} threads");
    }
}

/// Section 5.2: a thousand in a row, each on the result of the one before.
#[test]
fn a_thousand_in_a_row() {
    let mut base = [0; 32];
    base[0] = 9;
    let (mut scalar, mut point) = (base, base);
    for _ in 0..1000 {
        (point, scalar) = (scalar, multiply(&scalar, &point));
    }
    assert_eq!(scalar, hexadecimal("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
}

/// Numbers from the prime on are taken modulo it, and points of small order give zero.
#[test]
fn numbers_that_are_not_reduced_are() {
    let scalar = hexadecimal(KNOWN[0][0]);
    let nine = std::array::from_fn(|byte| if byte == 0 { 9 } else { 0 });
    // p + 9 is 2^255 - 10.
    let mut beyond = [0xff; 32];
    (beyond[0], beyond[31]) = (0xf6, 0x7f);
    assert_eq!(multiply(&scalar, &beyond), multiply(&scalar, &nine));
    assert_eq!(multiply(&scalar, &[0; 32]), [0; 32]);
}
