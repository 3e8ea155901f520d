//! RSA keys in the encoding that aws-lc reads: SubjectPublicKeyInfo (RFC 5280) and PKCS#8 (RFC 5208), both DER.

use zeroize::Zeroizing;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
/// rsaEncryption, 1.2.840.113549.1.1.1, and NULL.
const RSA: &[u8] = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";

/// The public key of these numbers, big-endian.
pub(super) fn public_key(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    let key = sequence(&[modulus, exponent].map(integer));
    let bits = [&[0], key.as_slice()].concat();
    sequence(&[Zeroizing::new(RSA.to_vec()), value(BIT_STRING, &bits)]).to_vec()
}

/// Modulus and exponent of a public key, in the two's complement that SSH has too.
pub(super) fn public_numbers(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (key, _) = split(SEQUENCE, key)?;
    let (bits, _) = split(BIT_STRING, key.strip_prefix(RSA)?)?;
    let (numbers, _) = split(SEQUENCE, bits.strip_prefix(&[0])?)?;
    let (modulus, rest) = split(INTEGER, numbers)?;
    Some((modulus, split(INTEGER, rest)?.0))
}

/// Whether PKCS#8 has an RSA key inside.
pub(super) fn is_rsa(key: &[u8]) -> bool {
    let algorithm = split(SEQUENCE, key).and_then(|(key, _)| split(INTEGER, key));
    algorithm.is_some_and(|(_, rest)| rest.starts_with(RSA))
}

/// The contents of the first value, which has this tag, and what follows it.
fn split(tag: u8, encoded: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = encoded.split_first_chunk()?;
    let digits = if first < 0x80 { 0 } else { usize::from(first & 0x7f) };
    let (digits, rest) = rest.split_at_checked(digits)?;
    let long =
        digits.iter().try_fold(0_usize, |len, &digit| Some(len.checked_mul(256)? + usize::from(digit)));
    let len = if first < 0x80 { usize::from(first) } else { long? };
    rest.split_at_checked(len).filter(|_| found == tag)
}

/// The private key of these numbers, in the order of RFC 8017, appendix A.1.2: modulus, public exponent, private exponent,
/// two primes, two exponents, coefficient.
pub(super) fn private_key(numbers: &[&[u8]; 8]) -> Zeroizing<Vec<u8>> {
    let mut parts = vec![integer(&[0])];
    parts.extend(numbers.iter().map(|number| integer(number)));
    wrap_rsa(&sequence(&parts))
}

/// PKCS#8 around PKCS#1.
pub(super) fn wrap_rsa(key: &[u8]) -> Zeroizing<Vec<u8>> {
    sequence(&[integer(&[0]), Zeroizing::new(RSA.to_vec()), value(OCTET_STRING, key)])
}

fn integer(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let is_negative = bytes.first().is_none_or(|first| first & 0x80 != 0);
    let sign: &[u8] = if is_negative { &[0] } else { &[] };
    value(INTEGER, &Zeroizing::new([sign, bytes].concat()))
}

fn sequence(parts: &[Zeroizing<Vec<u8>>]) -> Zeroizing<Vec<u8>> {
    let mut contents = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| part.len()).sum()));
    parts.iter().for_each(|part| contents.extend_from_slice(part));
    value(SEQUENCE, &contents)
}

fn value(tag: u8, contents: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut encoded = Zeroizing::new(Vec::with_capacity(contents.len() + 6));
    encoded.push(tag);
    let len = contents.len().to_be_bytes();
    let digits = &len[len.iter().position(|&byte| byte != 0).unwrap_or(len.len() - 1)..];
    if contents.len() >= 0x80 {
        encoded.push(0x80 | digits.len() as u8);
    }
    encoded.extend_from_slice(digits);
    encoded.extend_from_slice(contents);
    encoded
}
