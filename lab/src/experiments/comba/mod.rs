//! Modified Comba: when do threads inside one product of long integers pay, and where is the idea's place today?
//!
//! Published with OpenMP for 3 to 384 words; here with threads spawned for each product and with a pool that spins before
//! it parks, on to 4096 words, beside what was not published: vector lanes, batches, and a current GMP.

mod answers;
mod entrants;
mod gmp;

use super::{Context, Experiment, Findings, Published};
use crate::measure::{Contest, Random};
use crate::record::Level;
use std::rc::Rc;

/// A factor's words, lowest first.
type Factor = Rc<[u32]>;

/// The published sizes, and on.
const WORDS: [usize; 19] =
    [3, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096];
const QUICK_WORDS: [usize; 9] = [3, 8, 32, 48, 64, 128, 384, 1024, 4096];

/// The experiment.
pub struct Comba;

impl Experiment for Comba {
    fn name(&self) -> &'static str {
        "comba"
    }

    fn question(&self) -> &'static str {
        "From how many words on do threads inside one product of long integers pay?"
    }

    fn published(&self) -> Option<Published> {
        Some(Published {
            file: "comba.csv",
            origin: "Modified Comba multiplication with OpenMP on five processors of 2006 to 2011",
            csv: include_str!("../../../published/comba.csv"),
        })
    }

    fn is_ours(&self, variant: &str) -> bool {
        variant != "num-bigint" && !variant.starts_with("gmp")
    }

    fn run(&self, context: &mut Context) -> anyhow::Result<Findings> {
        let mut findings = Findings::default();
        let (builds, lacking) = gmp::find(&context.scratch);
        for build in &builds {
            findings.versions.insert(build.variant.to_owned(), build.version.clone());
        }
        findings.notes.extend(lacking);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).max(2);
        let rounds = context.by_extent(21, 41);
        let turn_ns = context.by_extent(2_000_000, 3_000_000);
        let sizes: &[usize] = context.by_extent(&QUICK_WORDS, &WORDS);
        findings.parameters.insert("rounds".into(), Level::from(rounds));
        findings.parameters.insert("turn_ns".into(), Level::from(turn_ns));
        findings.parameters.insert("threads".into(), Level::from(threads));
        let mut random = Random::new(context.seed);
        for &words in sizes {
            let mut factor = || -> Factor { (0..words).map(|_| random.next_word() as u32).collect() };
            let (a, b) = (factor(), factor());
            let entrants = entrants::all(&a, &b, threads, turn_ns, &builds)?;
            let contest = Contest { warm_ups: 1, rounds, seed: context.seed + words as u64 };
            context.hold(contest, &format!("{words} words"), entrants, &mut findings);
        }
        findings.answers = answers::of(&findings, sizes, threads);
        Ok(findings)
    }
}
