//! The published measurement: 100 KB for each worker (weak scaling) and 600 KB for all of them (strong), by plain C, OpenSSL and
//! the product's kernels in one contest.
//!
//! ```text
//! start | copy in | all meet | compute | all meet | copy out | end
//!                 |<------ kernel ----->|
//!       |<-------------------- end-to-end ------------------->|
//! ```

use super::answers::{cores, rate};
use super::crew::Crew;
use super::setting::{Setting, Wait};
use super::{CHUNK, IV, KEY, ORACLE, PUBLISHED_BYTES, SHARE_BYTES, message};
use crate::experiments::{Context, Findings, factors};
use crate::external::{Server, Source, number};
use crate::measure::{Contest, Contestant, Entrant, Pinned, Stopwatch};
use crate::record::{Answer, Clock, Effect, Level, Sample, Series, Work};
use cipherloom_kernels::{Aes, Backend};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::process::Command;
use std::rc::Rc;

const PROGRAM: Source = Source {
    name: "ctr_workers",
    text: include_str!("../../../peers/ctr_workers.c"),
    headers: &[
        ("aes_tables.h", include_str!("../../../peers/aes_tables.h")),
        ("random.h", include_str!("../../../peers/random.h")),
    ],
    flags: &["-lcrypto", "-lpthread"],
    packages: "gcc and libssl-dev",
};

/// The published sizes of what is encrypted at once.
const CHUNKS: [usize; 4] = [16, 64, 256, CHUNK];
/// Contestants: the name, and what the C program calls it.
const CIPHERS: [(&str, Option<&str>); 3] =
    [("plain C", Some("plain")), ("OpenSSL", Some("openssl")), ("cipherloom", None)];
const OURS: &str = "cipherloom";
const KERNEL: &str = "kernel";
const WHOLE: &str = "end-to-end";
const PART: &str = "published";
const SHARES: [(&str, &str); 2] = [("weak", "100 KB for each worker"), ("strong", "600 KB for all")];
/// Runs in a turn, and turns that are not recorded.
const RUNS: u64 = 8;
const WARM_UPS: usize = 1;

/// The kernel's time in every turn, beside the whole time that the contest records.
type Log = Rc<RefCell<Vec<Sample>>>;

pub(super) fn hold(workers: &[usize], context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let server = match PROGRAM.compile("cc", &context.scratch) {
        Ok(program) => {
            let server = Server::start("the workers in C", &mut Command::new(program))?;
            Some(Rc::new(RefCell::new(server)))
        }
        Err(reason) => {
            findings
                .notes
                .push(format!("the published measurement is without plain C and OpenSSL: {reason}"));
            None
        }
    };
    let quick: Vec<usize> = workers.iter().copied().filter(|count| [1, 2, 6].contains(count)).collect();
    let workers = context.by_extent(&quick[..], workers);
    let chunks = context.by_extent(&[CHUNK][..], &CHUNKS);
    let (mut entrants, mut logs) = (Vec::new(), Vec::new());
    let mut messages = BTreeMap::new();
    for (share, _) in SHARES {
        for (&workers, &chunk) in
            workers.iter().flat_map(|count| chunks.iter().map(move |chunk| (count, chunk)))
        {
            let bytes = if share == "weak" { SHARE_BYTES * workers } else { PUBLISHED_BYTES };
            let (plain, expected) = messages.entry(bytes).or_insert_with(|| message(bytes));
            for (cipher, in_c) in CIPHERS {
                let log = Log::default();
                let contestant: Box<dyn Contestant> = match (in_c, &server) {
                    (Some(cipher), Some(server)) => {
                        let question = format!("{cipher} {workers} {bytes} {chunk}");
                        Box::new(InC { server: Rc::clone(server), question, log: Rc::clone(&log) })
                    }
                    (Some(_), None) => continue,
                    (None, _) => {
                        let setting = Setting {
                            workers,
                            tile: bytes,
                            chunk,
                            wait: Wait::Spin,
                            copies: true,
                            meets: true,
                        };
                        let crew = Crew::new(Aes::new(&KEY, Backend::best())?, IV, plain.clone(), setting);
                        Box::new(Ours { crew, log: Rc::clone(&log) })
                    }
                };
                let factors = factors([
                    ("workers", workers.into()),
                    ("chunk", chunk.into()),
                    ("bytes", bytes.into()),
                    ("share", share.into()),
                    ("clock", WHOLE.into()),
                    ("part", PART.into()),
                ]);
                logs.push((cipher, factors.clone(), log));
                entrants.push(Entrant {
                    variant: cipher.to_owned(),
                    factors,
                    work: Work { bytes: bytes as u64, operations: 1 },
                    clock: Clock::Process,
                    oracle: ORACLE,
                    expected: Rc::clone(expected),
                    contestant,
                });
            }
        }
    }
    let contest = Contest { warm_ups: WARM_UPS, rounds: context.by_extent(9, 40), seed: context.seed };
    context.hold(contest, "as published: plain C, OpenSSL and ours", entrants, findings);
    for (cipher, factors, log) in logs {
        let whole =
            findings.series.iter().find(|series| series.variant == cipher && series.factors == factors);
        let Some(whole) = whole else { continue };
        let mut factors = factors;
        factors.insert("clock".to_owned(), KERNEL.into());
        let samples = log.borrow()[WARM_UPS..].to_vec();
        let mut kernel =
            Series::new(cipher, factors, whole.work, whole.clock, samples, whole.check().clone());
        kernel.contest = whole.contest;
        findings.series.push(kernel);
    }
    Ok(())
}

/// Plain C or OpenSSL behind the C program.
struct InC {
    server: Rc<RefCell<Server>>,
    question: String,
    log: Log,
}

impl Contestant for InC {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let mut server = self.server.borrow_mut();
        let answer = server.ask(&format!("result {}", self.question))?;
        server.bytes(number(&answer, "bytes")? as usize)
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let answer = self.server.borrow_mut().ask(&format!("time {} {RUNS}", self.question))?;
        let sample = |name| -> anyhow::Result<Sample> {
            Ok(Sample { wall_ns: number(&answer, name)?, cpu_ns: number(&answer, "cpu")?, repeats: RUNS })
        };
        self.log.borrow_mut().push(sample("kernel")?);
        sample("wall")
    }
}

/// The product's kernels.
struct Ours {
    crew: Crew,
    log: Log,
}

impl Contestant for Ours {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.crew.run();
        Ok(self.crew.output())
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let _core = Pinned::to(0);
        // Wakes the crew: others had their turns meanwhile.
        self.crew.run();
        let watch = Stopwatch::start(Clock::Process);
        let kernel = (0..RUNS).map(|_| self.crew.run()[0].compute).sum();
        let sample = watch.stop(RUNS);
        self.log.borrow_mut().push(Sample { wall_ns: kernel, ..sample });
        Ok(sample)
    }
}

fn find<'f>(
    findings: &'f Findings,
    cipher: &str,
    share: &str,
    workers: usize,
    clock: &str,
) -> Option<&'f Series> {
    let wanted =
        [("share", share), ("clock", clock), ("part", PART)].map(|(name, level)| (name, Level::from(level)));
    let numbers = [("workers", Level::from(workers)), ("chunk", CHUNK.into())];
    findings.find(cipher, &[&wanted[..], &numbers[..]].concat())
}

/// The rate of every contestant by the number of workers, by the published clock; and what copying and waiting add.
pub(super) fn answers(findings: &Findings) -> Vec<Answer> {
    let counts: std::collections::BTreeSet<usize> = findings
        .series
        .iter()
        .filter(|series| series.factor("part") == Some(&PART.into()))
        .filter_map(|series| match series.factor("workers") {
            Some(Level::Whole(workers)) => Some(*workers as usize),
            _ => None,
        })
        .collect();
    let mut effects = Vec::new();
    let mut of_share = |share: &str, clock: &str| {
        let of_cipher = CIPHERS.iter().filter_map(|(cipher, _)| {
            let rates: Vec<String> = counts
                .iter()
                .filter_map(|&workers| {
                    let series = find(findings, cipher, share, workers, clock)?;
                    let rate = rate(series, 8e3 * series.work.bytes as f64);
                    let name = format!("{cipher}, {workers} workers, {share} scaling, {clock}");
                    effects.push(Effect::new(name, rate, "Mbit/s"));
                    Some(format!("{workers}: {}", rate.words(0)))
                })
                .collect();
            (!rates.is_empty()).then(|| format!("{cipher} {}", rates.join(", ")))
        });
        of_cipher.collect::<Vec<_>>().join("; ")
    };
    let cores = cores(findings);
    let lists = SHARES.map(|(share, words)| format!("{words}: {}.", of_share(share, KERNEL)));
    let sentence = format!(
        "Mbit/s of the kernels alone, from the meeting after copying in to the meeting after computing, in chunks of 1 KB, by the number \
         of workers on {cores} cores. {}",
        lists.join(" ")
    );
    let question = "How fast is it, timed as published (plain C 58 Mbit/s on a Pentium 4, OpenSSL 76; 35 with one worker, 177 with six)?";
    let kernels = Answer::measured(question, sentence, std::mem::take(&mut effects));
    if kernels.effects.is_empty() {
        return Vec::new();
    }
    let mut of_share = |share: &str| {
        let parts = counts.iter().filter_map(|&workers| {
            let (whole, kernel) =
                (find(findings, OURS, share, workers, WHOLE)?, find(findings, OURS, share, workers, KERNEL)?);
            let ratio = whole.times_as_long_as(kernel);
            effects.push(Effect::new(
                format!("end-to-end instead of the kernel alone, {workers} workers, {share} scaling"),
                ratio,
                "times as long",
            ));
            Some(format!("{workers}: {}", ratio.words(2)))
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let lists = SHARES.map(|(share, words)| format!("{words} {}", of_share(share)));
    let sentence = format!(
        "A run of cipherloom's with its copies and its meetings takes, in times of its kernel alone, by the number of workers on {cores} \
         cores: {}.",
        lists.join("; ")
    );
    let question = "What do copying and waiting add to the kernel?";
    vec![kernels.as_headline(), Answer::measured(question, sentence, effects)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_contestants_are_right_and_have_both_clocks() {
        let folder = tempfile::tempdir().unwrap();
        let mut context = Context { scratch: folder.path().to_owned(), ..Context::of_a_test() };
        let mut findings = Findings::default();
        hold(&[1, 2, 6], &mut context, &mut findings).unwrap();
        assert_eq!(
            (findings.excluded.len(), findings.series.len()),
            (0, 2 * 3 * 3 * 2),
            "{:?}",
            findings.excluded.first()
        );
        for (cipher, _) in CIPHERS {
            for workers in [1, 2, 6] {
                let of = |clock| find(&findings, cipher, "weak", workers, clock).unwrap().samples.clone();
                assert!(
                    of(KERNEL).iter().zip(of(WHOLE)).all(|(kernel, whole)| kernel.wall_ns <= whole.wall_ns)
                );
            }
        }
        let answers = answers(&findings);
        assert!(
            answers[0].sentence.contains("100 KB for each worker: plain C 1: "),
            "{}",
            answers[0].sentence
        );
        assert_eq!(answers[1].effects.len(), 6);
    }
}
