//! S-DES in ECB mode: how much of the published gain from eight threads was the cost of a slow inner loop?
//!
//! The published program runs every block through the permutations, alone or on rayon. Here beside it: the cipher as a
//! table of 256 bytes, which is all that an 8-bit block cipher is, and as five byte shuffles of whole vector registers.

mod answers;
mod cipher;
mod entrants;
mod picture;
mod textbook;

use super::{Context, Experiment, Findings, Published};
use crate::measure::{Contest, Random};
use crate::record::Level;
use anyhow::Context as _;
use entrants::Input;

/// The key of the textbook's example.
const KEY: u16 = 0b10_1000_0010;

/// Four short lines, as the publication had; 68 bytes.
const TEXT: &[u8] = b"Warp threads run along\nthe loom, and weft\ncrosses them. So\ndo cores\n";

/// Sizes of random input.
const BYTES: [usize; 10] =
    [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20, PUBLISHED_BYTES];
/// The published file's.
const PUBLISHED_BYTES: usize = 955_000_000;

/// Sizes at which every number of threads takes part, up to twice the cores.
const TEAM_BYTES: [usize; 3] = [TEXT.len(), 64 << 10, 8 << 20];
const QUICK_BYTES: [usize; 5] = [1 << 10, 16 << 10, 256 << 10, 1 << 20, 8 << 20];

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "s-des",
    question: "From which size on do threads pay for a byte-wise cipher, and what is left to gain without them?",
    published: &[Published {
        file: "sdes_rayon.csv",
        origin: "S-DES in Rust, serial and with rayon on 8 threads of an Apple M1 Pro, 2024",
        csv: include_str!("../../../published/sdes_rayon.csv"),
    }],
    is_ours: |_| true,
    run,
    answer: answers::of,
};

fn run(context: &mut Context) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let key = cipher::Key::new(KEY);
    let table = textbook::substitution(KEY);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).max(2);
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().context("cannot start threads")?;
    let team = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let others = (1..=2 * threads).filter(|&count| count != threads);
    let teams: Vec<rayon::ThreadPool> =
        others.map(team).collect::<Result<_, _>>().context("cannot start threads")?;
    let most_shared = context.by_extent(64 << 10, usize::MAX);
    let rounds = context.by_extent(9, 31);
    let turn_ns = context.by_extent(2_000_000, 5_000_000);
    findings.parameters.insert("rounds".into(), Level::from(rounds));
    findings.parameters.insert("turn_ns".into(), Level::from(turn_ns));
    findings.parameters.insert("threads".into(), Level::from(threads));
    findings.parameters.insert("key".into(), Level::from(format!("{KEY:010b}").as_str()));
    let mut inputs = vec![("the text of 68 bytes".to_owned(), TEXT.to_vec())];
    let sizes: &[usize] = context.by_extent(&QUICK_BYTES, &BYTES);
    inputs.extend(sizes.iter().map(|&bytes| ("random".to_owned(), Random::bytes(context.seed, bytes))));
    if let Some(path) = &context.input {
        let content = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        anyhow::ensure!(!content.is_empty(), "{} is empty; name a file with content", path.display());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push((name, content));
    }
    for (name, clear) in inputs {
        let what = format!("{name}, {} bytes", clear.len());
        let expected: Vec<u8> = clear.iter().map(|block| table[usize::from(*block)]).collect();
        let seed = context.seed + clear.len() as u64;
        let input = Input { name, clear: clear.into(), expected: expected.into() };
        let mut entrants = entrants::all(&input, key, &pool, turn_ns);
        if TEAM_BYTES.contains(&input.clear.len()) && input.clear.len() <= most_shared {
            let of_teams = teams.iter().flat_map(|team| entrants::all(&input, key, team, turn_ns));
            entrants.extend(of_teams.filter(|entrant| entrant.variant.ends_with(", rayon")));
        }
        // The largest takes a minute a round.
        let rounds = if input.clear.len() > 64 << 20 { 8 } else { rounds };
        context.hold(Contest { warm_ups: 1, rounds, seed }, &what, entrants, &mut findings);
    }
    findings.pictures = picture::all(key)?;
    Ok(findings)
}
