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
//! The published measurement itself (`published`) has plain C, OpenSSL and the product's kernels in one contest: after copying in
//! all workers meet, then the clock runs until all have computed.
//!
//! And the same on the graphics devices of this machine (`devices/`), where the program is built with them.

mod answers;
mod crew;
mod devices;
mod published;
mod setting;

use super::{Answered, Context, Experiment, Findings, Published, factors};
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

const ORACLE: Oracle = Oracle("RustCrypto aes 0.9, CTR written out");
const KEY: [u8; 16] = [9; 16];
/// A counter whose low half overflows on the way.
const IV: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 255, 255, 255, 255, 255, 255, 255, 0];

/// The published message.
const PUBLISHED_BYTES: usize = 614_400;
/// What each published worker had of it.
const SHARE_BYTES: usize = 102_400;
const LARGE_BYTES: usize = 16 << 20;
/// Where the message is read from: by name, and in words.
const ORIGINS: &[(&str, &str)] =
    &[(MEMORY, "a file system in memory"), ("page cache", "the page cache of a disk"), ("disk", "a disk")];
const MEMORY: &str = "memory";
/// The published private memory, and a chunk that its tables have.
const TILE: usize = 256 << 10;
const CHUNK: usize = 1024;

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "ctr-workers",
    question: "What does preparing the data cost, and where does the speed go that is lost between one worker and many?",
    published: &[Published {
        file: "ctr_workers.csv",
        origin: "AES-CTR on the private memories of the Cell processor's cores, beside desktop processors (2007)",
        csv: include_str!("../../../published/ctr_workers.csv"),
    }],
    is_ours: |_| true,
    run,
    answer,
};

fn answer(findings: &Findings) -> Answered {
    let mut answered = answers::of(findings);
    devices::add(findings, &mut answered);
    answered
}

fn run(context: &mut Context) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    findings.parameters.insert("cores".to_owned(), cores.into());
    findings.parameters.insert("backend".to_owned(), Backend::best().name().into());
    let workers = counts(cores);
    let standard =
        Setting { workers: 1, tile: TILE, chunk: CHUNK, wait: Wait::Spin, copies: true, meets: false };
    for bytes in [PUBLISHED_BYTES, LARGE_BYTES] {
        let by_workers = workers
            .iter()
            .flat_map(|&workers| [Wait::Spin, Wait::Park].map(|wait| Setting { workers, wait, ..standard }));
        hold(by_workers.collect(), bytes, "workers", context, &mut findings)?;
        preparation(bytes, context, &mut findings)?;
    }
    published::hold(&workers, context, &mut findings)?;
    let tiles: &[usize] = context.by_extent(
        &[16 << 10, 256 << 10, 4 << 20],
        &[16 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20],
    );
    let both = [1, cores.max(2)];
    let by_tile = tiles.iter().flat_map(|&tile| both.map(|workers| Setting { workers, tile, ..standard }));
    hold(by_tile.collect(), LARGE_BYTES, "tile", context, &mut findings)?;
    let chunks: &[usize] = context
        .by_extent(&[16, 256, 1 << 10, 64 << 10], &[16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10]);
    let by_chunk =
        chunks.iter().flat_map(|&chunk| both.map(|workers| Setting { workers, chunk, ..standard }));
    hold(by_chunk.collect(), PUBLISHED_BYTES, "chunk", context, &mut findings)?;
    devices::hold(context, &mut findings);
    Ok(findings)
}

/// The published one to six, then 8, 16, … up to the cores, and the cores themselves.
fn counts(cores: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = std::iter::successors(Some(8), |count| Some(2 * count))
        .take_while(|&count| count <= cores)
        .chain(1..=6)
        .chain([cores])
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
            let (factors, check) = (whole.factors.clone(), whole.check().clone());
            let mut series = Series::new(variant, factors, whole.work, whole.clock, samples, check);
            series.contest = whole.contest;
            series
        })
        .collect()
}

/// Reading the message from a file into memory.
struct Reading {
    path: PathBuf,
    buffer: Vec<u8>,
    /// Whether the system first forgets what it has of the file, so that the disk must be asked.
    is_cold: bool,
}

impl Contestant for Reading {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.turn()?;
        Ok(self.buffer.clone())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        if self.is_cold {
            let file =
                File::open(&self.path).with_context(|| format!("cannot open {}", self.path.display()))?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
                .with_context(|| format!("cannot drop the pages of {}", self.path.display()))?;
        }
        let watch = Stopwatch::start(Clock::Process);
        let mut file =
            File::open(&self.path).with_context(|| format!("cannot open {}", self.path.display()))?;
        file.read_exact(&mut self.buffer).with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(watch.stop(1))
    }
}

/// The message read from memory, from the page cache and from a disk, in turns.
fn preparation(bytes: usize, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let (plain, _) = message(bytes);
    let disk = match crate::scratch::on_disk() {
        Ok(disk) => Some(disk),
        Err(reason) => {
            findings.notes.push(format!("preparation from a disk is left out: {reason}"));
            None
        }
    };
    let expected: Rc<[u8]> = plain.clone().into();
    let mut entrants = Vec::new();
    for (origin, _) in ORIGINS {
        let folder = match (*origin == MEMORY, &disk) {
            (true, _) => &context.scratch,
            (false, Some(disk)) => disk.path(),
            (false, None) => continue,
        };
        let path = folder.join(format!("message-{bytes}"));
        let cannot_write = || format!("cannot write {}", path.display());
        std::fs::write(&path, &plain).with_context(cannot_write)?;
        // Pages that are not on the disk yet cannot be dropped.
        File::open(&path).and_then(|file| file.sync_all()).with_context(cannot_write)?;
        entrants.push(Entrant {
            variant: "preparation".to_owned(),
            factors: factors([
                ("bytes", bytes.into()),
                ("part", "workers".into()),
                ("origin", (*origin).into()),
            ]),
            work: Work { bytes: bytes as u64, operations: 1 },
            clock: Clock::Process,
            oracle: Oracle("the input"),
            expected: Rc::clone(&expected),
            contestant: Box::new(Reading { path, buffer: vec![0; bytes], is_cold: *origin == "disk" }),
        });
    }
    let contest = Contest { warm_ups: 2, rounds: context.by_extent(9, 40), seed: context.seed };
    context.hold(contest, "preparing the message", entrants, findings);
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
                let setting = Setting { workers, tile, chunk, wait, copies: true, meets: false };
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
    fn workers_that_meet_give_the_oracle_s_result_and_the_time_between_two_meetings() {
        let (plain, encrypted) = message(100_003);
        for workers in [1, 3, 6] {
            let setting =
                Setting { workers, tile: 1 << 20, chunk: 1024, wait: Wait::Spin, copies: true, meets: true };
            let mut crew = Crew::new(Aes::new(&KEY, Backend::best()).unwrap(), IV, plain.clone(), setting);
            for _ in 0..3 {
                let phases = crew.run();
                assert!(phases.iter().all(|other| other.compute == phases[0].compute && other.compute > 0));
                assert!(crew.output() == encrypted[..], "{setting:?}");
            }
        }
    }

    #[test]
    fn counts_are_doubled_up_to_the_cores() {
        assert_eq!(counts(2), [1, 2, 3, 4, 5, 6]);
        assert_eq!(counts(12), [1, 2, 3, 4, 5, 6, 8, 12]);
    }
}
