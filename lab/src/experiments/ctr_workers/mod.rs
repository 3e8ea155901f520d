//! ctr-workers: AES-CTR with the message cut into equal parts, one for each core with a small memory of its own.
//!
//! Published: 600 KB over six accelerator cores with 256 KB each, data moved in and out by DMA, start and end
//! synchronised by the host; 35 Mbit/s on one, 177 on six. Left open: what preparing the data costs, and where the part
//! goes that is lost from six to five times. Here: threads with a private tile, each phase timed apart.
//!
//! | variant | what a repeat is |
//! |---|---|
//! | `end-to-end` | start all, copy in, compute, copy out, wait for all |
//! | `kernel-only` | the same without the copies: the tile is encrypted where it is |
//! | `copy-in`, `compute`, `copy-out` | that phase of `end-to-end`, of the worker who was longest at it |
//! | `synchronisation` | wall time of `end-to-end` less the longest worker's |
//! | `preparation` | the message read from a file into the host's memory |
//!
//! And the same on the graphics devices of this machine (`devices/`), where the program is built with them.

mod answers;
mod crew;
mod devices;
mod setting;

use super::{Context, Experiment, Findings, Published, factors};
use crate::measure::{Contest, Contestant, Entrant, Pinned, Random, Stopwatch};
use crate::record::{Clock, Oracle, Sample, Series, Work};
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit, array::Array};
use anyhow::Context as _;
use cipherloom_kernels::{Aes, Backend};
use crew::{Crew, Phases};
use setting::{Setting, Wait};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::rc::Rc;

/// The experiment.
#[derive(Debug)]
pub struct CtrWorkers;

const ORACLE: Oracle = Oracle("RustCrypto aes 0.9, CTR written out");
const KEY: [u8; 16] = [9; 16];
/// A counter whose low half overflows on the way.
const IV: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 0];

/// The published message.
const PUBLISHED_BYTES: usize = 614_400;
const LARGE_BYTES: usize = 16 << 20;
/// The published private memory, and a chunk that its tables have.
const TILE: usize = 256 << 10;
const CHUNK: usize = 1024;

impl Experiment for CtrWorkers {
    fn name(&self) -> &'static str {
        "ctr-workers"
    }

    fn question(&self) -> &'static str {
        "What does preparing the data cost, and where does the speed go that is lost between one worker and many?"
    }

    fn published(&self) -> Option<Published> {
        Some(Published {
            file: "ctr_workers.csv",
            origin: "AES-CTR on the private memories of the Cell processor's cores, beside desktop processors (2007)",
            csv: include_str!("../../../published/ctr_workers.csv"),
        })
    }

    fn run(&self, context: &mut Context) -> anyhow::Result<Findings> {
        let mut findings = Findings::default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        findings.parameters.insert("cores".to_owned(), cores.into());
        findings.parameters.insert("backend".to_owned(), Backend::best().name().into());
        let workers = counts(cores);
        let standard = Setting { workers: 1, tile: TILE, chunk: CHUNK, wait: Wait::Spin, copies: true };
        for bytes in [PUBLISHED_BYTES, LARGE_BYTES] {
            let by_workers = workers.iter().flat_map(|&workers| {
                [Wait::Spin, Wait::Park].map(|wait| Setting { workers, wait, ..standard })
            });
            hold(by_workers.collect(), bytes, "workers", context, &mut findings)?;
            preparation(bytes, context, &mut findings)?;
        }
        let tiles: &[usize] = context.by_extent(
            &[16 << 10, 256 << 10, 4 << 20],
            &[16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20],
        );
        let both = [1, cores.max(2)];
        let by_tile =
            tiles.iter().flat_map(|&tile| both.map(|workers| Setting { workers, tile, ..standard }));
        hold(by_tile.collect(), LARGE_BYTES, "tile", context, &mut findings)?;
        let chunks: &[usize] = context
            .by_extent(&[16, 256, 1 << 10, 64 << 10], &[16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10]);
        let by_chunk =
            chunks.iter().flat_map(|&chunk| both.map(|workers| Setting { workers, chunk, ..standard }));
        hold(by_chunk.collect(), PUBLISHED_BYTES, "chunk", context, &mut findings)?;
        devices::hold(context, &mut findings);
        answers::add(&mut findings);
        devices::add(&mut findings);
        Ok(findings)
    }
}

/// 1, 2, 4, … up to the cores, the cores themselves, and the published six.
fn counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(2 * count))
        .take_while(|&count| count <= cores)
        .chain([cores, 6])
        .collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// The message, and what it must become.
fn message(bytes: usize) -> (Vec<u8>, Rc<[u8]>) {
    let plain = Random::bytes(bytes as u64, bytes);
    let cipher = Aes128::new(&Array(KEY));
    let mut counter = u128::from_be_bytes(IV);
    let mut encrypted = plain.clone();
    for chunk in encrypted.chunks_mut(16) {
        let mut stream = Array(counter.to_be_bytes());
        cipher.encrypt_block(&mut stream);
        chunk.iter_mut().zip(&stream).for_each(|(text, key)| *text ^= key);
        counter = counter.wrapping_add(1);
    }
    (plain, encrypted.into())
}

/// The phases of every turn, for the series beside `end-to-end`.
type Log = Rc<RefCell<Vec<(Sample, Vec<Phases>)>>>;

struct Workers {
    crew: Crew,
    /// Without copies the output is not the message's; then this one's is compared.
    checked: Option<Crew>,
    log: Log,
    repeats: u64,
}

impl Contestant for Workers {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let crew = self.checked.as_mut().unwrap_or(&mut self.crew);
        crew.run();
        let output = crew.output();
        self.checked = None;
        Ok(output)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let _core = Pinned::to(0);
        // Wakes the crew: others had their turns meanwhile.
        self.crew.run();
        let watch = Stopwatch::start(Clock::Process);
        let mut sum: Vec<Phases> = Vec::new();
        for _ in 0..self.repeats {
            let run = self.crew.run();
            sum.resize(run.len(), Phases::default());
            for (sum, run) in sum.iter_mut().zip(run) {
                sum.copy_in += run.copy_in;
                sum.compute += run.compute;
                sum.copy_out += run.copy_out;
            }
        }
        let sample = watch.stop(self.repeats);
        self.log.borrow_mut().push((sample, sum));
        Ok(sample)
    }
}

fn hold(
    settings: Vec<Setting>,
    bytes: usize,
    part: &str,
    context: &mut Context,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let (plain, encrypted) = message(bytes);
    let rounds = context.by_extent(9, 40);
    let (mut entrants, mut logs) = (Vec::new(), Vec::new());
    let crew = |setting| -> anyhow::Result<Crew> {
        Ok(Crew::new(Aes::new(&KEY, Backend::best())?, IV, plain.clone(), setting))
    };
    for (setting, copies) in settings.iter().flat_map(|&setting| [(setting, true), (setting, false)]) {
        let log = Log::default();
        let contestant = Workers {
            crew: crew(Setting { copies, ..setting })?,
            checked: if copies { None } else { Some(crew(setting)?) },
            log: Rc::clone(&log),
            repeats: if bytes > 1 << 20 { 1 } else { 8 },
        };
        entrants.push(Entrant {
            variant: if copies { "end-to-end" } else { "kernel-only" }.to_owned(),
            factors: setting.factors(bytes, part),
            work: Work { bytes: bytes as u64, operations: 1 },
            clock: Clock::Process,
            oracle: ORACLE,
            expected: Rc::clone(&encrypted),
            contestant: Box::new(contestant),
        });
        if copies {
            logs.push((setting.factors(bytes, part), log));
        }
    }
    let what = format!("{}: by {part}", super::size_words(bytes as u64));
    context.hold(Contest { warm_ups: WARM_UPS, rounds, seed: context.seed }, &what, entrants, findings);
    for (factors, log) in logs {
        let whole =
            findings.series.iter().find(|series| series.variant == "end-to-end" && series.factors == factors);
        if let Some(parts) = whole.map(|whole| phases(whole, &log.borrow()[WARM_UPS..])) {
            findings.series.extend(parts);
        }
    }
    Ok(())
}

/// Turns whose phases are not recorded either.
const WARM_UPS: usize = 2;

/// The phases of an end-to-end series as series of their own, under its evidence: it is the same work.
fn phases(whole: &Series, log: &[(Sample, Vec<Phases>)]) -> Vec<Series> {
    type Of = fn(&Sample, &[Phases]) -> u64;
    fn most(run: &[Phases], of: fn(&Phases) -> u64) -> u64 {
        run.iter().map(of).max().unwrap_or(0)
    }
    let kinds: [(&str, Of); 4] = [
        ("copy-in", |_, run| most(run, |phases| phases.copy_in)),
        ("compute", |_, run| most(run, |phases| phases.compute)),
        ("copy-out", |_, run| most(run, |phases| phases.copy_out)),
        ("synchronisation", |sample, run| sample.wall_ns.saturating_sub(most(run, |phases| phases.busy()))),
    ];
    kinds
        .into_iter()
        .map(|(variant, of)| {
            let sample =
                |(sample, run): &(Sample, Vec<Phases>)| Sample { wall_ns: of(sample, run), ..*sample };
            let samples = log.iter().map(sample).collect();
            Series::new(
                variant,
                whole.factors.clone(),
                whole.work,
                whole.clock,
                samples,
                whole.check().clone(),
            )
        })
        .collect()
}

/// Reading the message from a file into memory.
struct Reading {
    path: PathBuf,
    buffer: Vec<u8>,
}

impl Contestant for Reading {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.turn()?;
        Ok(self.buffer.clone())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let watch = Stopwatch::start(Clock::Process);
        let mut file =
            File::open(&self.path).with_context(|| format!("cannot open {}", self.path.display()))?;
        file.read_exact(&mut self.buffer).with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(watch.stop(1))
    }
}

fn preparation(bytes: usize, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let (plain, _) = message(bytes);
    let path = context.scratch.join(format!("message-{bytes}"));
    std::fs::write(&path, &plain).with_context(|| format!("cannot write {}", path.display()))?;
    let entrant = Entrant {
        variant: "preparation".to_owned(),
        factors: factors([("bytes", bytes.into()), ("part", "workers".into())]),
        work: Work { bytes: bytes as u64, operations: 1 },
        clock: Clock::Process,
        oracle: Oracle("the input"),
        expected: plain.into(),
        contestant: Box::new(Reading { path, buffer: vec![0; bytes] }),
    };
    let contest = Contest { warm_ups: 2, rounds: context.by_extent(9, 40), seed: context.seed };
    context.hold(contest, "preparing the message", vec![entrant], findings);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_workers_and_every_tile_gives_the_oracle_s_result() {
        // A length that neither tiles nor chunks nor workers divide.
        let (plain, encrypted) = message(100_003);
        for wait in [Wait::Spin, Wait::Park] {
            for (workers, tile, chunk) in
                [(1, 16 << 10, 16), (2, 16 << 10, 64), (3, 64 << 10, 1024), (7, 1 << 20, 65_536)]
            {
                let setting = Setting { workers, tile, chunk, wait, copies: true };
                let mut crew =
                    Crew::new(Aes::new(&KEY, Backend::best()).unwrap(), IV, plain.clone(), setting);
                for _ in 0..3 {
                    assert_eq!(crew.run().len(), workers);
                    assert!(crew.output() == encrypted[..], "{setting:?}");
                }
            }
        }
    }

    #[test]
    fn counts_are_doubled_up_to_the_cores() {
        assert_eq!(counts(2), [1, 2, 6]);
        assert_eq!(counts(12), [1, 2, 4, 6, 8, 12]);
    }
}
