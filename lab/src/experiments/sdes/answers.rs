//! What the publication left open, answered from the series.

use crate::experiments::Findings;
use crate::measure::{Interval, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series};
use std::collections::BTreeSet;

/// Seconds for 955 MB on one thread and on eight, medians of three runs; microseconds for 68 bytes.
const PUBLISHED_RATE: f64 = 955.0 / 102.36;
const PUBLISHED_GAIN: f64 = 102.36 / 19.07;

pub(super) fn of(findings: &Findings, threads: usize) -> Vec<Answer> {
    let sizes: BTreeSet<u64> = findings.series.iter().filter_map(bytes).collect();
    let Some(&largest) = sizes.last() else { return Vec::new() };
    vec![
        crossover(findings, &sizes, threads),
        gain(findings, largest, threads),
        without_threads(findings, largest),
    ]
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
    Some(ratio_of_medians(&base.walls(), &variant.walls()))
}

fn crossover(findings: &Findings, sizes: &BTreeSet<u64>, threads: usize) -> Answer {
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
                let value = Interval { estimate: *won as f64, low: low as f64, high: *won as f64 };
                effects.push(Effect { name: format!("crossover, {form}"), value, unit: "bytes".into() });
            }
            None => clauses.push(format!("{form}: at no size up to {}", size(*sizes.last().unwrap_or(&0)))),
        }
    }
    Answer {
        question: "From which size on do threads pay?".into(),
        sentence: format!(
            "With {threads} threads on rayon, {}. Published: at 955 MB yes, at 68 bytes not (134 µs instead of 10).",
            clauses.join("; ")
        ),
        effects,
    }
}

fn gain(findings: &Findings, largest: u64, threads: usize) -> Answer {
    let question = "How much do threads gain on the published form?".to_owned();
    let Some(ratio) = speedup(findings, "per block, rayon", "per block", largest) else {
        return Answer { question, sentence: "Not measured.".into(), effects: Vec::new() };
    };
    let sentence = format!(
        "{:.2} times ({:.2} to {:.2}) on {threads} threads at {}; published: {PUBLISHED_GAIN:.1} times on 8.",
        ratio.estimate,
        ratio.low,
        ratio.high,
        size(largest)
    );
    let effect = Effect {
        name: format!("per block, {threads} threads against one"),
        value: ratio,
        unit: "times".into(),
    };
    Answer { question, sentence, effects: vec![effect] }
}

fn without_threads(findings: &Findings, largest: u64) -> Answer {
    let question = "What is left to gain on one thread?".to_owned();
    // In the second cache the memory's rate does not count.
    let bytes = (64 << 10).min(largest);
    let bytes = if at(findings, "shuffles", bytes).is_some() { bytes } else { 16 << 10 };
    let ratio = |variant| speedup(findings, variant, "per block", bytes);
    let (Some(table), Some(shuffles), Some(series), Some(per_block), Some(of_copy)) = (
        ratio("table"),
        ratio("shuffles"),
        at(findings, "shuffles", bytes),
        at(findings, "per block", bytes),
        speedup(findings, "shuffles", "copy", bytes),
    ) else {
        return Answer { question, sentence: "Not measured.".into(), effects: Vec::new() };
    };
    let sentence = format!(
        "More than threads give: at {} a table of 256 bytes is {:.0} times as fast as the permutations for each block ({:.0} MB/s; published {PUBLISHED_RATE:.1}), and five byte shuffles are {:.0} times as fast ({:.1} GB/s, {:.2} of the rate of a copy).",
        size(bytes),
        table.estimate,
        1000.0 * per_block.gigabytes_per_second(),
        shuffles.estimate,
        series.gigabytes_per_second(),
        of_copy.estimate,
    );
    let effect = |name: &str, value| Effect { name: name.to_owned(), value, unit: "times".into() };
    let effects = vec![
        effect("table against per block", table),
        effect("shuffles against per block", shuffles),
        effect("shuffles against copy", of_copy),
    ];
    Answer { question, sentence, effects }
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
        let answers = of(&findings, 2);
        assert!(
            answers[0].sentence.contains("per block: from 64 KiB (not yet at 1 KiB)"),
            "{}",
            answers[0].sentence
        );
        assert!(answers[1].sentence.starts_with("1.83 times"), "{}", answers[1].sentence);
        assert_eq!(answers[2].sentence, "Not measured.");
    }
}
