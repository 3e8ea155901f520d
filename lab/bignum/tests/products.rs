//! Every way to multiply, against num-bigint (an independent library), over lengths and operands that find slips in
//! carries: random, all ones, sparse, a single bit.

use cipherloom_bignum::batch::{self, Each};
use cipherloom_bignum::lanes::LaneMultiplier;
use cipherloom_bignum::threads::{Alone, Pool, Spawned, Threads};
use cipherloom_bignum::vector::VectorMultiplier;
use cipherloom_bignum::{Method, Sums, serial};
use num_bigint::BigUint;
use proptest::prelude::*;

const LENGTHS: [usize; 26] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 28, 31, 32, 33, 48, 63, 64, 65, 127, 128, 223, 225, 385];

fn expected(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut words = (BigUint::from_slice(a) * BigUint::from_slice(b)).to_u32_digits();
    words.resize(2 * a.len(), 0);
    words
}

/// A fixed sequence of words (xorshift), so that a failure can be repeated.
fn random(length: usize, seed: u64) -> Vec<u32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u32
    };
    (0..length).map(|_| next()).collect()
}

fn sparse(length: usize, seed: u64) -> Vec<u32> {
    random(length, seed).into_iter().map(|word| if word % 5 == 0 { 1 << (word % 32) } else { 0 }).collect()
}

fn pairs(length: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
    let ones = vec![u32::MAX; length];
    let mut top = vec![0; length];
    top[length - 1] = 1 << 31;
    let mut bottom = vec![0; length];
    bottom[0] = 1;
    vec![
        (random(length, 1), random(length, 2)),
        (random(length, 3), ones.clone()),
        (ones.clone(), ones.clone()),
        (sparse(length, 4), sparse(length, 5)),
        (sparse(length, 6), ones.clone()),
        (top.clone(), top.clone()),
        (top, ones.clone()),
        (bottom, ones),
        (vec![0; length], random(length, 7)),
    ]
}

fn check(name: &str, mut multiply: impl FnMut(&[u32], &[u32], &mut [u32])) {
    for length in LENGTHS {
        for (case, (a, b)) in pairs(length).iter().enumerate() {
            // What stood there before must not matter.
            let mut product = vec![0xdead_beef; 2 * length];
            multiply(a, b, &mut product);
            assert_eq!(product, expected(a, b), "{name}, {length} words, case {case}");
        }
    }
}

#[test]
fn serial_products() {
    check("serial", serial::multiply);
}

#[test]
fn vector_products() {
    let mut vector = VectorMultiplier::new();
    check("vector", |a, b, product| vector.multiply(a, b, product));
}

#[test]
fn lane_products() {
    let mut lanes = LaneMultiplier::new();
    check("lanes", |a, b, product| lanes.multiply(a, b, product));
}

#[test]
fn lanes_do_not_overflow_in_long_columns_of_ones() {
    let mut lanes = LaneMultiplier::new();
    for length in [223, 224, 446, 447, 1000] {
        let ones = vec![u32::MAX; length];
        let mut product = vec![0; 2 * length];
        lanes.multiply(&ones, &ones, &mut product);
        assert_eq!(product, expected(&ones, &ones), "{length} words");
    }
}

#[test]
fn products_on_threads_of_every_kind() {
    for threads in [1, 2, 3, 4, 9] {
        let kinds: [&mut dyn Threads; 5] = [
            &mut Alone::new(threads),
            &mut Spawned::new(threads),
            &mut Pool::new(threads),
            &mut Pool::with_spins(threads, 0),
            &mut Pool::with_spins(threads, 50),
        ];
        for kind in kinds {
            for method in [Method::TwoHalves, Method::Columns] {
                for sums in [Sums::Plain, Sums::Vector] {
                    let name = format!("{} {}, {sums:?}, {threads} threads", kind.name(), method.name());
                    check(&name, |a, b, product| kind.multiply(method, sums, a, b, product));
                }
            }
        }
    }
}

#[test]
fn batches_on_threads() {
    for each in [Each::Serial, Each::Lanes] {
        for (length, count) in [(1, 1), (3, 7), (32, 5), (17, 2)] {
            let (a, b) = (random(length * count, 8), random(length * count, 9));
            let wanted: Vec<u32> =
                a.chunks(length).zip(b.chunks(length)).flat_map(|(a, b)| expected(a, b)).collect();
            for threads in [1, 2, 3, 8] {
                let mut products = vec![0; 2 * a.len()];
                batch::multiply(each, threads, length, &a, &b, &mut products);
                assert_eq!(products, wanted, "{}, {count} of {length} words, {threads} threads", each.name());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_operands(a in proptest::collection::vec(any::<u32>(), 1..80), seed in any::<u64>(), threads in 1usize..6) {
        let b = random(a.len(), seed);
        let wanted = expected(&a, &b);
        let mut product = vec![0; 2 * a.len()];
        serial::multiply(&a, &b, &mut product);
        prop_assert_eq!(&product, &wanted);
        LaneMultiplier::new().multiply(&a, &b, &mut product);
        prop_assert_eq!(&product, &wanted);
        VectorMultiplier::new().multiply(&a, &b, &mut product);
        prop_assert_eq!(&product, &wanted);
        for method in [Method::TwoHalves, Method::Columns] {
            Alone::new(threads).multiply(method, Sums::Vector, &a, &b, &mut product);
            prop_assert_eq!(&product, &wanted);
        }
    }
}
