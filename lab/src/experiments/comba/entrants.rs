//! The ways to multiply that take part, each with who says what is right.

use super::{Factor, c_program::CProgram, gmp::Gmp};
use crate::experiments::factors;
use crate::measure::{Contestant, Entrant, OnFirstCore, Pinned, Repeated};
use crate::record::{Clock, Factors, Oracle, Work};
use cipherloom_bignum::batch::{self, Each};
use cipherloom_bignum::lanes::LaneMultiplier;
use cipherloom_bignum::threads::{Pool, Spawned, Threads};
use cipherloom_bignum::vector::VectorMultiplier;
use cipherloom_bignum::{Method, Sums, serial};
use num_bigint::BigUint;
use std::hint::black_box;
use std::rc::Rc;

const NUM_BIGINT: Oracle = Oracle("num-bigint");
const GMP: Oracle = Oracle("GMP");

/// Words of all first factors of a batch: enough that starting a thread does not count, and few enough for the cache.
const BATCH_WORDS: usize = 1 << 17;

/// Partial products of a batch at most, so that the slowest form takes a fraction of a second.
const BATCH_PRODUCTS: usize = 1 << 28;

/// Everything that multiplies `a` by `b`.
pub(super) fn all(
    a: &Factor,
    b: &Factor,
    threads: usize,
    turn_ns: u64,
    teams: &[usize],
    builds: &[Gmp],
    programs: &[CProgram],
) -> anyhow::Result<Vec<Entrant<'static>>> {
    let expected: Rc<[u8]> = big_product(a, b).into();
    let enter = |variant: &str, threads: Option<usize>, contestant: Box<dyn Contestant>| Entrant {
        variant: variant.to_owned(),
        factors: levels(a.len(), threads),
        work: Work { bytes: 8 * a.len() as u64, operations: 1 },
        clock: Clock::Process,
        oracle: NUM_BIGINT,
        expected: Rc::clone(&expected),
        contestant,
    };
    let mut lanes = LaneMultiplier::new();
    let mut vector = VectorMultiplier::new();
    let mut entrants = vec![
        enter("serial", None, single(a, b, turn_ns, serial::multiply)),
        enter("lanes", None, single(a, b, turn_ns, move |a, b, product| lanes.multiply(a, b, product))),
        enter(
            "vector comba",
            None,
            single(a, b, turn_ns, move |a, b, product| vector.multiply(a, b, product)),
        ),
    ];
    for (method, sums) in [
        (Method::TwoHalves, Sums::Plain),
        (Method::Columns, Sums::Plain),
        (Method::TwoHalves, Sums::Vector),
        (Method::Columns, Sums::Vector),
    ] {
        let mut add = |mut runtime: Box<dyn Threads>, is_placed: bool| {
            let threads = runtime.threads();
            let kind = if sums == Sums::Vector { "vector " } else { "" };
            let variant = format!("{kind}{} {}", runtime.name(), method.name());
            let multiply = move |a: &[u32], b: &[u32], product: &mut [u32]| {
                runtime.multiply(method, sums, a, b, product)
            };
            let contestant = single(a, b, turn_ns, multiply);
            let contestant = if is_placed { Box::new(OnFirstCore(contestant)) } else { contestant };
            entrants.push(enter(&variant, Some(threads), contestant));
        };
        if sums == Sums::Plain {
            add(Box::new(Spawned::new(threads)), false);
        }
        add(Box::new(Pool::placed(threads, stay_on_own_core)), true);
        // More threads than cores, as published; 2x has two parts whatever there are.
        if method == Method::Columns && sums == Sums::Plain {
            for &team in teams.iter().filter(|&&team| team > threads) {
                add(Box::new(Pool::placed(team, stay_on_own_core)), true);
            }
        }
    }
    for (index, program) in programs.iter().enumerate() {
        for (variant, threads, contestant) in program.all((a, b), teams, turn_ns, index == 0) {
            entrants.push(enter(&variant, Some(threads), Box::new(contestant)));
        }
    }
    for each in [Each::Serial, Each::Lanes] {
        entrants.push(batch_of(each, a, b, threads, turn_ns));
    }
    for build in builds {
        entrants.push(enter(build.variant, None, Box::new(build.contestant(a, b, turn_ns))));
    }
    // num-bigint cannot vouch for itself.
    if let Some(build) = builds.first() {
        let mut entrant = enter("num-bigint", None, num_bigint(a, b, turn_ns));
        entrant.oracle = GMP;
        entrant.expected = build.product(a, b)?.into();
        entrants.push(entrant);
    }
    Ok(entrants)
}

fn levels(words: usize, threads: Option<usize>) -> Factors {
    match threads {
        Some(threads) => factors([("words", words.into()), ("threads", threads.into())]),
        None => factors([("words", words.into()), ("threads", 1_usize.into())]),
    }
}

/// A thread's way to begin: it stays where it is put as long as it lives.
fn stay_on_own_core(index: usize) {
    std::mem::forget(Pinned::to(index));
}

/// One product at a time, again and again.
fn single(
    a: &Factor,
    b: &Factor,
    turn_ns: u64,
    multiply: impl FnMut(&[u32], &[u32], &mut [u32]) + 'static,
) -> Box<dyn Contestant> {
    let (a, b) = (Rc::clone(a), Rc::clone(b));
    let state = (multiply, vec![0u32; 2 * a.len()]);
    let (left, right) = (Rc::clone(&a), Rc::clone(&b));
    let result = move |(multiply, product): &mut (_, Vec<u32>)| {
        product.fill(u32::MAX);
        call(multiply, &left, &right, product);
        bytes(product)
    };
    let pass = move |(multiply, product): &mut (_, Vec<u32>)| {
        call(multiply, black_box(&a), black_box(&b), product);
        black_box(product);
    };
    Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass))
}

/// Fixes the type of the closure in both places.
fn call(multiply: &mut impl FnMut(&[u32], &[u32], &mut [u32]), a: &[u32], b: &[u32], product: &mut [u32]) {
    multiply(a, b, product);
}

fn num_bigint(a: &Factor, b: &Factor, turn_ns: u64) -> Box<dyn Contestant> {
    let words = a.len();
    let state = (BigUint::from_slice(a), BigUint::from_slice(b));
    let result = move |(a, b): &mut (BigUint, BigUint)| padded((&*a * &*b).to_bytes_le(), words);
    let pass = |(a, b): &mut (BigUint, BigUint)| drop(black_box(black_box(&*a) * black_box(&*b)));
    Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass))
}

/// Many pairs at once; every pair is different, and the first is this one.
fn batch_of(each: Each, a: &Factor, b: &Factor, threads: usize, turn_ns: u64) -> Entrant<'static> {
    let words = a.len();
    let pairs = (BATCH_WORDS / words).min(BATCH_PRODUCTS / (words * words)).max(2 * threads);
    let rows = |factor: &Factor, step: u32| -> Vec<u32> {
        let row = |pair: usize| factor.iter().map(move |word| word.wrapping_add(step * pair as u32));
        (0..pairs).flat_map(row).collect()
    };
    let (a, b) = (rows(a, 1), rows(b, 7));
    let expected: Vec<u8> =
        a.chunks(words).zip(b.chunks(words)).flat_map(|(a, b)| big_product(a, b)).collect();
    let state = (a, b, vec![0u32; 2 * words * pairs]);
    let pass = move |(a, b, products): &mut (Vec<u32>, Vec<u32>, Vec<u32>)| {
        batch::multiply(each, threads, words, black_box(a), black_box(b), products);
        black_box(products);
    };
    let result = move |state: &mut (Vec<u32>, Vec<u32>, Vec<u32>)| {
        state.2.fill(u32::MAX);
        pass(state);
        bytes(&state.2)
    };
    Entrant {
        variant: format!("batch of {}", each.name()),
        factors: levels(words, Some(threads)),
        work: Work { bytes: (8 * words * pairs) as u64, operations: pairs as u64 },
        clock: Clock::Process,
        oracle: NUM_BIGINT,
        expected: expected.into(),
        contestant: Box::new(Repeated::new(Clock::Process, turn_ns, state, result, pass)),
    }
}

fn big_product(a: &[u32], b: &[u32]) -> Vec<u8> {
    padded((BigUint::from_slice(a) * BigUint::from_slice(b)).to_bytes_le(), a.len())
}

/// The product's bytes, as many as two factors of so many words have.
fn padded(mut product: Vec<u8>, words: usize) -> Vec<u8> {
    product.resize(8 * words, 0);
    product
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}
