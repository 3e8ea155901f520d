//! One harness for every backend that this CPU can run. It compares each with the oracle, over all small sizes, edges,
//! alignments, random splits and lanes. This includes `soft`, so all backends agree with one another too.

mod oracle;

use cipherloom_kernels::{Aes, Backend, CbcStream, KeyError};
use oracle::{Oracle, block, bytes};
use proptest::prelude::*;

const KEY_SIZES: [usize; 3] = [16, 24, 32];

/// Around every row size of every backend, and around 64 KiB.
const LARGE: [usize; 8] = [1040, 2032, 2064, 4096, 4112, 8208, 65_520, 65_552];

/// Runs `check` for every available backend and key size.
fn each(check: impl Fn(&Aes, &Oracle, &str)) {
    for backend in Backend::available() {
        for size in KEY_SIZES {
            let key = bytes(size as u64, size);
            let name = format!("{} with a key of {size} bytes", backend.name());
            check(&Aes::new(&key, backend).unwrap(), &Oracle::new(&key), &name);
        }
    }
}

#[test]
fn soft_and_the_best_are_available_and_names_come_back() {
    assert!(Backend::Soft.is_available());
    assert!(Backend::best().is_available());
    for backend in Backend::ALL {
        assert_eq!(Backend::from_name(backend.name()), Some(backend));
        assert!(backend.lanes() >= 4);
    }
    assert_eq!(Backend::from_name("portable"), None);
    // `cargo xtask armv8` reads this line.
    println!("backends here: {}", Backend::available().map(Backend::name).collect::<Vec<_>>().join(", "));
}

#[test]
fn wrong_keys_are_refused_with_a_remedy() {
    for length in (0..=33).filter(|length| !KEY_SIZES.contains(length)) {
        let error = Aes::new(&vec![0; length], Backend::Soft).unwrap_err();
        assert_eq!(error, KeyError::Length(length));
        assert!(error.to_string().contains("16, 24 or 32 bytes"), "{error}");
    }
    for backend in Backend::ALL.into_iter().filter(|backend| !backend.is_available()) {
        let error = Aes::new(&[0; 16], backend).unwrap_err();
        assert_eq!(error, KeyError::Unavailable(backend));
        assert!(error.to_string().contains(backend.name()), "{error}");
    }
}

#[test]
fn debug_output_has_no_key() {
    let shown = format!("{:?}", Aes::new(&[0xab; 16], Backend::Soft).unwrap());
    assert_eq!(shown, "Aes { backend: Soft, .. }");
}

#[test]
fn single_blocks() {
    each(|aes, oracle, name| {
        for seed in 0..200 {
            let mut text = block(seed);
            aes.encrypt_block(&mut text);
            assert_eq!(text, oracle.encrypt(block(seed)), "{name}");
            aes.decrypt_block(&mut text);
            assert_eq!(text, block(seed), "{name}");
        }
    });
}

#[test]
fn ctr_at_every_small_size_and_large_edges() {
    each(|aes, oracle, name| {
        for size in (0..=1025).chain(LARGE).chain(LARGE.map(|size| size + 7)) {
            let text = bytes(7, size);
            let mut done = text.clone();
            aes.ctr_xor(&block(8), 3, &mut done);
            assert!(done == oracle.ctr(&block(8), 3, &text), "{name}: {size} bytes");
        }
    });
}

#[test]
fn ctr_carries_across_32_64_and_128_bits() {
    each(|aes, oracle, name| {
        let text = bytes(9, 1000);
        for bits in [8, 16, 32, 64, 96, 128] {
            let limit = if bits == 128 { u128::MAX } else { (1 << bits) - 1 };
            for before in [0, 1, 2, 3, 4, 5, 7, 8, 15, 31, 32, 33, 61, 62, 63] {
                for first_block in [0, 5, u128::MAX] {
                    let initial = (limit - before).wrapping_sub(first_block).to_be_bytes();
                    let mut done = text.clone();
                    aes.ctr_xor(&initial, first_block, &mut done);
                    let expected = oracle.ctr(&initial, first_block, &text);
                    assert!(done == expected, "{name}: {bits} bits, {before} blocks before the carry");
                }
            }
        }
    });
}

#[test]
fn cbc_at_every_small_size_and_large_edges() {
    each(|aes, oracle, name| {
        for size in (0..=1024).step_by(16).chain(LARGE) {
            let text = bytes(11, size);
            let expected = oracle.cbc_encrypt(&block(12), &text);
            let last = expected.last_chunk().copied().unwrap_or(block(12));

            let (mut chain, mut done) = (block(12), text.clone());
            aes.cbc_encrypt(&mut chain, &mut done);
            assert!(done == expected, "{name}: encryption of {size} bytes");
            assert_eq!(chain, last, "{name}: chain after encryption of {size} bytes");

            let mut chain = block(12);
            aes.cbc_decrypt(&mut chain, &mut done);
            assert!(done == text, "{name}: decryption of {size} bytes");
            assert_eq!(chain, last, "{name}: chain after decryption of {size} bytes");
        }
    });
}

#[test]
fn decryption_of_text_that_was_never_encrypted() {
    each(|aes, oracle, name| {
        for size in (0..=1024).step_by(16) {
            let text = bytes(13, size);
            let mut done = text.clone();
            aes.cbc_decrypt(&mut block(14), &mut done);
            assert!(done == oracle.cbc_decrypt(&block(14), &text), "{name}: {size} bytes");
        }
    });
}

#[test]
fn any_place_in_memory_and_nothing_outside_it() {
    each(|aes, oracle, name| {
        let around = bytes(15, 2048);
        for start in 0..=65 {
            for size in [16, 64, 208, 1040] {
                let range = start..start + size;
                let text = &around[range.clone()];
                let check = |mode: &str, done: &[u8], expected: Vec<u8>| {
                    let mut whole = around.clone();
                    whole[range.clone()].copy_from_slice(&expected);
                    assert!(done == whole, "{name}: {mode} of {size} bytes at {start}");
                };
                let mut done = around.clone();
                aes.ctr_xor(&block(16), 0, &mut done[range.clone()]);
                check("ctr", &done, oracle.ctr(&block(16), 0, text));
                let mut done = around.clone();
                aes.cbc_encrypt(&mut block(16), &mut done[range.clone()]);
                check("cbc encryption", &done, oracle.cbc_encrypt(&block(16), text));
                let mut done = around.clone();
                aes.cbc_decrypt(&mut block(16), &mut done[range.clone()]);
                check("cbc decryption", &done, oracle.cbc_decrypt(&block(16), text));
            }
        }
    });
}

/// Compares lanes over buffers of these many blocks, adjacent in one allocation, with the oracle.
fn check_lanes(aes: &Aes, oracle: &Oracle, blocks: &[usize], name: &str) {
    let total: usize = blocks.iter().sum();
    let text = bytes(17, 16 * total + 3);
    let mut done = text.clone();
    let mut expected = text[..3].to_vec();
    let mut chains = Vec::new();
    let mut streams = Vec::new();
    let mut rest = &mut done[3..];
    for (index, &count) in blocks.iter().enumerate() {
        let (buffer, after) = rest.split_at_mut(16 * count);
        rest = after;
        let iv = block(1000 + index as u64);
        let encrypted = oracle.cbc_encrypt(&iv, buffer);
        chains.push(encrypted.last_chunk().copied().unwrap_or(iv));
        expected.extend(encrypted);
        streams.push(CbcStream { chain: iv, buffer });
    }
    aes.cbc_encrypt_lanes(&mut streams);
    for (index, (stream, chain)) in streams.iter().zip(&chains).enumerate() {
        assert_eq!(&stream.chain, chain, "{name}: chain of stream {index} of {blocks:?}");
    }
    assert!(done == expected, "{name}: streams of {blocks:?} blocks");
}

#[test]
fn lanes_with_every_number_of_even_streams() {
    each(|aes, oracle, name| {
        for count in 0..=70 {
            for blocks in [1, 2, 3, 4, 5, 17] {
                check_lanes(aes, oracle, &vec![blocks; count], name);
            }
        }
    });
}

#[test]
fn lanes_with_empty_streams_and_thousands() {
    each(|aes, oracle, name| {
        check_lanes(aes, oracle, &[0; 40], name);
        check_lanes(aes, oracle, &[0, 0, 9, 0, 1, 0, 0, 64, 0], name);
        let many: Vec<usize> = (0..3000).map(|index| (index * 7) % 11).collect();
        check_lanes(aes, oracle, &many, name);
        let mut one_long = vec![1; 50];
        one_long.push(1000);
        check_lanes(aes, oracle, &one_long, name);
    });
}

#[test]
#[should_panic(expected = "whole blocks of 16 bytes")]
fn lanes_refuse_a_part_of_a_block() {
    let aes = Aes::new(&[0; 16], Backend::Soft).unwrap();
    aes.cbc_encrypt_lanes(&mut [CbcStream { chain: [0; 16], buffer: &mut [0; 17] }]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lanes_with_any_lengths(blocks in prop::collection::vec(0usize..90, 0..120)) {
        each(|aes, oracle, name| check_lanes(aes, oracle, &blocks, name));
    }

    #[test]
    fn ctr_in_any_pieces(pieces in prop::collection::vec(0usize..90, 0..20), tail in 0usize..16, at: u128) {
        let total = 16 * pieces.iter().sum::<usize>() + tail;
        let text = bytes(19, total);
        each(|aes, oracle, name| {
            let mut done = text.clone();
            let (mut rest, mut first) = (&mut done[..], at);
            for count in &pieces {
                let (piece, after) = rest.split_at_mut(16 * count);
                aes.ctr_xor(&block(20), first, piece);
                first = first.wrapping_add(*count as u128);
                rest = after;
            }
            aes.ctr_xor(&block(20), first, rest);
            assert!(done == oracle.ctr(&block(20), at, &text), "{name}: pieces of {pieces:?} blocks");
        });
    }

    #[test]
    fn cbc_in_any_pieces(pieces in prop::collection::vec(0usize..90, 0..20)) {
        let text = bytes(21, 16 * pieces.iter().sum::<usize>());
        each(|aes, oracle, name| {
            let mut done = text.clone();
            let (mut encrypting, mut rest) = (block(22), &mut done[..]);
            for count in &pieces {
                let (piece, after) = rest.split_at_mut(16 * count);
                aes.cbc_encrypt(&mut encrypting, piece);
                rest = after;
            }
            assert!(done == oracle.cbc_encrypt(&block(22), &text), "{name}: pieces of {pieces:?} blocks");
            let (mut decrypting, mut rest) = (block(22), &mut done[..]);
            for count in &pieces {
                let (piece, after) = rest.split_at_mut(16 * count);
                aes.cbc_decrypt(&mut decrypting, piece);
                rest = after;
            }
            assert!(done == text && decrypting == encrypting, "{name}: pieces of {pieces:?} blocks");
        });
    }
}
