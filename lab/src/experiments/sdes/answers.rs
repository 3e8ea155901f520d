//! What the publication left open, answered from the series.

use crate::experiments::{Answered, Findings};
use crate::measure::Interval;
use crate::record::{Answer, Effect, Level, Series};
use std::collections::BTreeSet;

/// Seconds for 955 MB on one thread and on eight, medians of three runs; microseconds for 68 bytes.
const PUBLISHED_TEXT: u64 = 68;
const PUBLISHED_RATE: f64 = 955.0 / 102.36;
const PUBLISHED_GAIN: f64 = 102.36 / 19.07;

pub(super) fn of(findings: &Findings) -> Answered {
    let sizes: BTreeSet<u64> = findings.series.iter().filter_map(bytes).collect();
    let threads = match findings.parameters.get("threads") {
        Some(Level::Whole(threads)) => *threads,
        _ => 0,
    };
    let Some(&largest) = sizes.last() else { return Answered::default() };
    let answers = [
        crossover(findings, &sizes, threads),
        overhead(findings, threads),
        gain(findings, largest, threads),
        team(findings),
        without_threads(findings, largest),
    ];
    Answered { answers: answers.into_iter().flatten().collect(), tables: Vec::new() }
}

fn bytes(series: &Series) -> Option<u64> {
    match series.factor("bytes") {
        Some(Level::Whole(bytes)) => Some(*bytes),
        _ => None,
    }
}

fn at<'a>(findings: &'a Findings, variant: &str, bytes: u64) -> Option<&'a Series> {
    findings.find(variant, &[("bytes", Level::from(bytes))])
}

/// How many times as fast `variant` is as `base`.
fn speedup(findings: &Findings, variant: &str, base: &str, bytes: u64) -> Option<Interval> {
    let (variant, base) = (at(findings, variant, bytes)?, at(findings, base, bytes)?);
    Some(base.times_as_long_as(variant))
}

fn crossover(findings: &Findings, sizes: &BTreeSet<u64>, threads: u64) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut clauses = Vec::new();
    for form in ["per block", "table", "shuffles"] {
        let parallel = format!("{form}, rayon");
        let wins =
            |bytes: &u64| speedup(findings, &parallel, form, *bytes).is_some_and(|ratio| ratio.low > 1.0);
        let lost = sizes.iter().rev().find(|bytes| !wins(bytes));
        let won = sizes.iter().find(|bytes| lost.is_none_or(|lost| *bytes > lost));
        match won {
            Some(won) => {
                let low = lost.copied().unwrap_or(*won);
                clauses.push(format!("{form}: from {} (not yet at {})", size(*won), size(low)));
                let value = Interval { estimate: *won as f64, low: low as f64, high: *won as f64, rounds: 0 };
                effects.push(Effect::new(format!("crossover, {form}"), value, "bytes"));
            }
            None => clauses.push(format!("{form}: at no size up to {}", size(*sizes.last().unwrap_or(&0)))),
        }
    }
    let sentence = format!(
        "With {threads} threads on rayon, {}. Published: at 955 MB yes, at 68 bytes not (134 µs instead of 10).",
        clauses.join("; ")
    );
    Some(Answer::measured("From which size on do threads pay?", sentence, effects).as_headline())
}

/// What fork and join cost, from the smallest input: what threads add to the time of one.
fn overhead(findings: &Findings, threads: u64) -> Option<Answer> {
    let (serial, parallel) =
        (at(findings, "per block", PUBLISHED_TEXT)?, at(findings, "per block, rayon", PUBLISHED_TEXT)?);
    if !serial.took_turns_with(parallel) {
        return None;
    }
    let more = |(parallel, serial): (f64, f64)| (parallel - serial) / 1e3;
    let more =
        Interval::of_rounds(&parallel.walls().into_iter().zip(serial.walls()).map(more).collect::<Vec<_>>());
    let sentence = format!(
        "On {PUBLISHED_TEXT} bytes {threads} threads take {} µs longer than one (published: 124 µs on 8 threads).",
        more.words(1)
    );
    let effects = vec![Effect::new("fork and join", more, "µs")];
    Some(Answer::measured("What do fork and join cost?", sentence, effects).as_headline())
}

fn gain(findings: &Findings, largest: u64, threads: u64) -> Option<Answer> {
    let ratio = speedup(findings, "per block, rayon", "per block", largest)?;
    let sentence = format!(
        "{} times on {threads} threads at {}; published: {PUBLISHED_GAIN:.1} times on 8 at 955 MB.",
        ratio.words(2),
        size(largest)
    );
    let effects = vec![Effect::new(format!("per block, {threads} threads against one"), ratio, "times")];
    Some(Answer::measured("How much do threads gain on the published form?", sentence, effects))
}

/// What each number of threads does, at the largest size at which all take part.
fn team(findings: &Findings) -> Option<Answer> {
    let all = || findings.series.iter().filter(|series| series.variant == "per block, rayon");
    let level = |series: &Series| match series.factor("threads") {
        Some(Level::Whole(threads)) => *threads,
        _ => 0,
    };
    let counted = |size: u64| all().filter(move |series| bytes(series) == Some(size)).count();
    let size = all().filter_map(bytes).filter(|&size| counted(size) > 1).max()?;
    let base = at(findings, "per block", size)?;
    let mut of_it: Vec<&Series> = all().filter(|series| bytes(series) == Some(size)).collect();
    of_it.sort_by_key(|series| level(series));
    let gain = |series: &&Series| (level(series), base.times_as_long_as(series));
    let gains: Vec<(u64, Interval)> = of_it.iter().map(gain).collect();
    let words: Vec<String> =
        gains.iter().map(|(threads, gain)| format!("{threads}: {}", gain.words(2))).collect();
    let sentence = format!(
        "At {} with so many threads, in times of the speed of a loop without rayon: {}.",
        self::size(size),
        words.join(", ")
    );
    let effects = gains
        .iter()
        .map(|(threads, gain)| Effect::new(format!("per block, {threads} threads"), *gain, "times"));
    Some(Answer::measured("How does the gain grow with the number of threads?", sentence, effects.collect()))
}

fn without_threads(findings: &Findings, largest: u64) -> Option<Answer> {
    // In the second cache the memory's rate does not count.
    let bytes = (64 << 10).min(largest);
    let bytes = if at(findings, "shuffles", bytes).is_some() { bytes } else { 16 << 10 };
    let ratio = |variant| speedup(findings, variant, "per block", bytes);
    let (table, shuffles) = (ratio("table")?, ratio("shuffles")?);
    let (series, per_block) = (at(findings, "shuffles", bytes)?, at(findings, "per block", bytes)?);
    let of_copy = speedup(findings, "shuffles", "copy", bytes)?;
    let sentence = format!(
        "At {} a table of 256 bytes is {} times as fast as the permutations for each block ({:.0} MB/s; published \
         {PUBLISHED_RATE:.1}), and five byte shuffles are {} times as fast ({:.1} GB/s, {} of the rate of a copy).",
        size(bytes),
        table.words(0),
        1000.0 * per_block.gigabytes_per_second(),
        shuffles.words(0),
        series.gigabytes_per_second(),
        of_copy.words(2),
    );
    let effects = vec![
        Effect::new("table against per block", table, "times"),
        Effect::new("shuffles against per block", shuffles, "times"),
        Effect::new("shuffles against copy", of_copy, "times"),
    ];
    Some(Answer::measured("What is left to gain on one thread?", sentence, effects).as_headline())
}

/// In the unit that reads best.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.0} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.0} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::factors;
    use crate::record::{Clock, Evidence, Oracle, Sample, Work};

    #[test]
    fn the_crossover_stands_between_two_sizes() {
        let mut findings = Findings::default();
        for (bytes, serial, parallel) in [(68_u64, 10, 134), (1024, 100, 150), (65_536, 6400, 3500)] {
            for (variant, nanoseconds) in [("per block", serial), ("per block, rayon", parallel)] {
                let samples = (0..9)
                    .map(|step| Sample { wall_ns: 10 * nanoseconds + step, cpu_ns: 1, repeats: 10 })
                    .collect();
                let evidence = Evidence::compare(Oracle("the test"), b"a", b"a").unwrap();
                let (work, levels) = (Work { bytes, operations: bytes }, factors([("bytes", bytes.into())]));
                findings.series.push(Series::new(variant, levels, work, Clock::Process, samples, evidence));
            }
        }
        findings.parameters.insert("threads".to_owned(), Level::from(2_u64));
        let answers = of(&findings).answers;
        assert!(
            answers[0].sentence.contains("per block: from 64 KiB (not yet at 1 KiB)"),
            "{}",
            answers[0].sentence
        );
        assert!(answers[1].sentence.contains("take 0.1 (0.1 to 0.1) µs longer"), "{}", answers[1].sentence);
        assert!(answers[2].sentence.starts_with("1.83 (1.83 to 1.83) times on 2"), "{}", answers[2].sentence);
        assert_eq!(answers.len(), 3, "what was not measured is not answered");
    }
}
