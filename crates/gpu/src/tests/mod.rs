//! Compares the circuit, interpreted and as CUDA text compiled for the CPU, with the kernels of this processor's backends.
//! NIST's answers and other libraries check those.

pub(crate) mod interpreter;
mod processor;

use crate::circuit::counter::STRETCH_BLOCKS;
use crate::circuit::{Circuit, GROUP_BLOCKS, GROUP_THREADS, Gates, Mode};
use crate::emit;
use crate::keys;
use crate::self_test::round_keys;
use cipherloom_kernels::{Aes, Backend};
use processor::{Launch, Processor};

/// Counters whose sums cross 32, 64 and 128 bits, at places that are no multiple of a group.
const FIRSTS: [u128; 6] = [
    0,
    5,
    0x0011_2233_4455_6677_8899_aabb_ffff_f800,
    0x0011_2233_4455_6677_ffff_ffff_ffff_fa07,
    u128::MAX - 3000,
    u128::MAX,
];

/// Numbers of blocks: less than a thread's, less than a group's, more.
const COUNTS: [usize; 5] = [1, 31, 65, 2048, 4100];

pub(crate) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

fn words(bytes: &[u8]) -> Vec<[u32; 4]> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    bytes.chunks_exact(16).map(|block| std::array::from_fn(|i| word(&block[4 * i..4 * i + 4]))).collect()
}

fn bytes(words: &[[u32; 4]]) -> Vec<u8> {
    words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
}

/// One launch, and the right result.
struct Case<'c> {
    masks: &'c [u32],
    rounds: usize,
    first: u128,
    source: &'c [[u32; 4]],
    expected: &'c [u8],
}

/// Every key size, with its own counters and counts, of a mode.
fn each(mode: Mode, check: &mut dyn FnMut(Case<'_>)) {
    for size in [16, 24, 32] {
        let key = &noise(32)[..size];
        let (keys, aes) = (&round_keys(key), Aes::new(key, Backend::Soft).unwrap());
        let rounds = keys.len() - 1;
        assert_eq!(rounds, size / 4 + 6);
        for (mut first, count) in FIRSTS.into_iter().zip(COUNTS.into_iter().cycle()) {
            let mut text = noise(16 * count);
            match mode {
                Mode::Ctr => {
                    let source = words(&text);
                    aes.ctr_xor(&first.to_be_bytes(), 0, &mut text);
                    let (mut source, mut expected) = (&source[..], &text[..]);
                    // A launch does not cross the end of its counters' stretch.
                    while !source.is_empty() {
                        let left = (STRETCH_BLOCKS - first % STRETCH_BLOCKS) as usize;
                        let (now, later) = source.split_at(left.min(source.len()));
                        let (right, right_later) = expected.split_at(16 * now.len());
                        let masks = &keys::of_counters(keys, first);
                        check(Case { masks, rounds, first, source: now, expected: right });
                        first = first.wrapping_add(now.len() as u128);
                        (source, expected) = (later, right_later);
                    }
                }
                Mode::CbcDecrypt => {
                    let mut chain = [7; 16];
                    let source = &words(&[&chain[..], &text].concat());
                    aes.cbc_decrypt(&mut chain, &mut text);
                    check(Case { masks: &keys::of_inverse(keys), rounds, first: 0, source, expected: &text });
                }
            }
        }
    }
}

#[test]
fn the_circuit_in_both_forms_is_aes() {
    for gates in [Gates::Two, Gates::Three] {
        for mode in [Mode::Ctr, Mode::CbcDecrypt] {
            let circuit = Circuit::new(mode, gates);
            each(mode, &mut |Case { masks, rounds, first, source, expected }| {
                let mut sink = vec![[0; 4]; expected.len() / 16];
                interpreter::run(&circuit, masks, rounds, first, source, &mut sink);
                assert!(bytes(&sink) == expected, "{mode:?} {gates:?} {first:#x} {}", sink.len());
            });
        }
    }
}

#[test]
fn the_cuda_text_compiled_for_this_processor_is_aes() {
    let processor = Processor::compile("kernels", &emit::cuda::source());
    for (kernel, mode) in [Mode::Ctr, Mode::CbcDecrypt].into_iter().enumerate() {
        each(mode, &mut |Case { masks, rounds, first, source, expected }| {
            let skip = (first % u128::from(GROUP_BLOCKS)) as u32;
            let aligned = first - u128::from(skip);
            let (count, group_blocks) =
                (expected.len() / 16, (emit::cuda::GROUPS_A_BLOCK * GROUP_BLOCKS) as usize);
            let output = processor.run(&Launch {
                kernel,
                grid: (count + skip as usize).div_ceil(group_blocks),
                threads: emit::cuda::GROUPS_A_BLOCK * GROUP_THREADS,
                counter: [96, 64, 32, 0].map(|shift| (aligned >> shift) as u32),
                blocks: count,
                skip,
                rounds,
                keys: masks,
                source: &bytes(source),
            });
            assert!(output == expected, "{mode:?} {first:#x} {count}");
        });
    }
}
