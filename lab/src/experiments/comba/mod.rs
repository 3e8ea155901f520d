//! Modified Comba: when do threads inside one product of long integers pay, and where is the idea's place today?
//!
//! Published with OpenMP for 3 to 384 words; here with OpenMP in C, whose team stays, with threads spawned for each product and
//! with a pool that spins before it parks, on to 4096 words. Beside them is what was not published: the same sums in vector
//! registers, classic ways in words of 32 and 64 bits, rows of 64 bits with two chains of carries, batches, GMP and FLINT; and what
//! was published as future work, modular products and a curve.

mod answers;
mod c_program;
mod crossover;
mod entrants;
mod gmp;
mod modular;
mod published;
mod timed;

use super::{Context, Experiment, Findings, Published};
use crate::external::version;
use crate::measure::{Contest, Random, clock_gigahertz};
use crate::record::Level;
use std::rc::Rc;

/// A factor's words, lowest first.
type Factor = Rc<[u32]>;

/// The published sizes, and on.
const WORDS: [usize; 19] =
    [3, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
const QUICK_WORDS: [usize; 9] = [3, 8, 32, 48, 64, 128, 384, 1024, 4096];

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "comba",
    question: "From how many words on do threads inside one product of long integers pay?",
    published: &[Published {
        file: "comba.csv",
        origin: "Modified Comba multiplication with OpenMP on five processors of 2006 to 2011",
        csv: published::FIGURES,
    }],
    is_ours: |variant| {
        !["num-bigint", "flint", "OpenSSL", "AWS-LC"].contains(&variant) && !variant.starts_with("gmp")
    },
    run,
    answer: answers::of,
};

fn run(context: &mut Context) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let (builds, lacking) = gmp::find(&context.scratch);
    for build in &builds {
        findings.versions.insert(build.variant.to_owned(), build.version.clone());
    }
    findings.notes.extend(lacking);
    let (programs, lacking) = c_program::find(&context.scratch);
    findings.notes.extend(lacking);
    for (compiler, argument) in [("gcc", "--version"), ("clang", "--version")] {
        findings.versions.extend(version(compiler, argument).map(|words| (compiler.to_owned(), words)));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).max(2);
    let rounds = context.by_extent(9, 41);
    let turn_ns = context.by_extent(2_000_000, 3_000_000);
    let sizes: &[usize] = context.by_extent(&QUICK_WORDS, &WORDS);
    findings.parameters.insert("rounds".into(), Level::from(rounds));
    findings.parameters.insert("turn_ns".into(), Level::from(turn_ns));
    findings.parameters.insert("threads".into(), Level::from(threads));
    findings.parameters.insert("clock_gigahertz".into(), clock_gigahertz().into());
    // Quick runs have the cores, and twice as many threads; full ones all between.
    let teams: Vec<usize> = context.by_extent(vec![threads, 2 * threads], (2..=2 * threads).collect());
    let mut random = Random::new(context.seed);
    for &words in sizes {
        let mut factor = || -> Factor { (0..words).map(|_| random.next_word() as u32).collect() };
        let (a, b) = (factor(), factor());
        let entrants = entrants::all(&a, &b, threads, turn_ns, &teams, &builds, &programs)?;
        let contest = Contest { warm_ups: 1, rounds, seed: context.seed + words as u64 };
        context.hold(contest, &format!("{words} words"), entrants, &mut findings);
    }
    modular::hold(threads, turn_ns, context, &mut findings)?;
    Ok(findings)
}
