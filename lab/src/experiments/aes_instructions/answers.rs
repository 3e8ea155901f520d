//! The open questions of aes-instructions, answered from the series; and the tables.

use super::workload::Mode;
use crate::experiments::{Findings, size_words};
use crate::measure::{Interval, bootstrap, median, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series, Table};
use cipherloom_kernels::Backend;
use std::collections::BTreeSet;

/// The size at which a mode's speed is quoted: start and end do not count, and the second-level cache holds it.
const QUOTED: usize = 4 << 10;

/// The parameter that holds a backend's bound, in GB/s.
pub(super) fn bound_name(backend: &str) -> String {
    format!("bound_{backend}_gigabytes_per_second")
}

pub(super) fn add(findings: &mut Findings) {
    let answers = [instructions(findings), in_flight(findings), bound(findings), others(findings)];
    findings.answers.extend(answers.into_iter().flatten());
    let tables: Vec<Table> = Mode::ALL
        .into_iter()
        .flat_map(|mode| [(mode, 128), (mode, 256)])
        .filter_map(|(mode, key_bits)| table(findings, mode, key_bits))
        .collect();
    findings.tables.extend(tables);
}

fn at<'f>(findings: &'f Findings, variant: &str, mode: Mode) -> Option<&'f Series> {
    let wanted =
        [("mode", Level::from(mode.name())), ("size", QUOTED.into()), ("key_bits", Level::from(128_u64))];
    findings.find(variant, &wanted)
}

/// GB/s of processor time, from the median turn.
fn speed(series: &Series) -> Interval {
    let bytes = series.work.bytes as f64;
    bootstrap(&[&series.cpus()], |parts| bytes / median(&parts[0]))
}

/// How many times as fast, by processor time.
fn times(fast: &Series, slow: &Series) -> Interval {
    ratio_of_medians(&slow.cpus(), &fast.cpus())
}

fn words(value: Interval) -> String {
    format!("{:.1} times ({:.1} to {:.1})", value.estimate, value.low, value.high)
}

fn effect(name: impl Into<String>, value: Interval, unit: &str) -> Effect {
    Effect { name: name.into(), value, unit: unit.to_owned() }
}

fn instructions(findings: &Findings) -> Option<Answer> {
    let row = at(findings, "intrinsics in a row", Mode::Ecb)?;
    let tables = at(findings, "openssl, tables", Mode::Ecb)?;
    let permutations = at(findings, "openssl, vector permutations", Mode::Ecb)?;
    let clock = findings.parameters.get("clock_gigahertz").and_then(number)?;
    let per_gigahertz = 1000.0 * speed(row).estimate / clock;
    let (over_tables, over_permutations) = (times(row, tables), times(row, permutations));
    Some(Answer {
        question: "What do AES instructions bring (published: 8 to 12 times)?".to_owned(),
        sentence: format!(
            "Intrinsics in a plain sequence are {} as fast as OpenSSL's tables and {} as its vector permutations, and make \
             {per_gigahertz:.0} MB/s per GHz (published: 399 to 755 on the x86 processors).",
            words(over_tables),
            words(over_permutations)
        ),
        effects: vec![
            effect("intrinsics in a row against OpenSSL's tables, ECB", over_tables, "times as fast"),
            effect(
                "intrinsics in a row against OpenSSL's vector permutations, ECB",
                over_permutations,
                "times as fast",
            ),
            effect("intrinsics in a row, ECB", speed(row), "GB/s"),
            effect("OpenSSL's tables, ECB", speed(tables), "GB/s"),
        ],
    })
}

fn in_flight(findings: &Findings) -> Option<Answer> {
    let row = at(findings, "intrinsics in a row", Mode::Ecb)?;
    let eight = at(findings, "intrinsics, eight in flight", Mode::Ecb)?;
    let best = at(findings, Backend::best().name(), Mode::Ctr)?;
    let (step, beyond) = (times(eight, row), times(best, eight));
    Some(Answer {
        question: "How much more is in the instructions than a plain sequence takes out?".to_owned(),
        sentence: format!(
            "Eight blocks in flight are {} as fast as one after the other ({:.1} against {:.1} GB/s); wider registers \
             ({} in CTR) are {} as fast again.",
            words(step),
            speed(eight).estimate,
            speed(row).estimate,
            Backend::best().name(),
            words(beyond)
        ),
        effects: vec![
            effect("eight in flight against a row, ECB", step, "times as fast"),
            effect(
                format!("{} in CTR against eight in flight", Backend::best().name()),
                beyond,
                "times as fast",
            ),
        ],
    })
}

/// Percent of its backend's unit that a series reaches.
fn percent_of_bound(findings: &Findings, series: &Series) -> Option<f64> {
    let bound = findings.parameters.get(&bound_name(&series.variant)).and_then(number)?;
    Some(100.0 * speed(series).estimate / bound)
}

fn number(level: &Level) -> Option<f64> {
    match level {
        Level::Number(number) => Some(*number),
        Level::Whole(number) => Some(*number as f64),
        Level::Name(_) => None,
    }
}

fn bound(findings: &Findings) -> Option<Answer> {
    let backend = Backend::best().name();
    let modes = [Mode::Ctr, Mode::CbcDecrypt, Mode::CbcEncryptLanes, Mode::CbcEncryptOne];
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for mode in modes {
        let series = at(findings, backend, mode)?;
        let percent = percent_of_bound(findings, series)?;
        parts.push(format!("{} {percent:.0}% ({:.1} GB/s)", mode.name(), speed(series).estimate));
        effects.push(effect(format!("{backend}, {}", mode.name()), speed(series), "GB/s"));
        effects.push(effect(
            format!("{backend}, {}, of the unit", mode.name()),
            Interval::exact(percent),
            "%",
        ));
    }
    Some(Answer {
        question: "How much of the AES unit's speed does each mode reach?".to_owned(),
        sentence: format!("With {backend} at 4 KB: {}; CBC on one lane waits for itself.", parts.join(", ")),
        effects,
    })
}

fn others(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for mode in [Mode::Ctr, Mode::CbcEncryptLanes, Mode::CbcDecrypt] {
        let ours = at(findings, Backend::best().name(), mode)?;
        let theirs = findings.series.iter().filter(|series| {
            Backend::from_name(&series.variant).is_none()
                && ["mode", "size", "key_bits"].iter().all(|name| series.factor(name) == ours.factor(name))
        });
        let best = theirs.min_by(|a, b| a.cpu.median.estimate.total_cmp(&b.cpu.median.estimate))?;
        let ratio = times(ours, best);
        parts.push(format!("{} {} the best other, {}", mode.name(), words(ratio), best.variant));
        effects.push(effect(
            format!("{}: ours against {}", mode.name(), best.variant),
            ratio,
            "times as fast",
        ));
    }
    Some(Answer {
        question: "Where do the product's kernels stand beside other libraries?".to_owned(),
        sentence: format!("At 4 KB and AES-128, as fast as: {}.", parts.join("; ")),
        effects,
    })
}

/// One mode: a row a contestant, a column a size.
fn table(findings: &Findings, mode: Mode, key_bits: usize) -> Option<Table> {
    let (mode_level, bits) = (Level::from(mode.name()), Level::from(key_bits));
    let all: Vec<&Series> = findings
        .series
        .iter()
        .filter(|series| {
            series.factor("mode") == Some(&mode_level) && series.factor("key_bits") == Some(&bits)
        })
        .collect();
    let size_of = |series: &Series| match series.factor("size") {
        Some(Level::Whole(size)) => *size,
        _ => 0,
    };
    let sizes: BTreeSet<u64> = all.iter().map(|series| size_of(series)).collect();
    let clock = findings.parameters.get("clock_gigahertz").and_then(number)?;
    let mut names: Vec<&str> = Vec::new();
    for series in &all {
        if !names.contains(&series.variant.as_str()) {
            names.push(&series.variant);
        }
    }
    let quoted = sizes.iter().copied().find(|&size| size == QUOTED as u64).or(sizes.first().copied())?;
    let rows = names.iter().map(|name| {
        let of = |size| all.iter().find(|series| series.variant == *name && size_of(series) == size);
        let mut row = vec![(*name).to_owned()];
        row.extend(sizes.iter().map(|&size| {
            of(size).map_or_else(|| "-".to_owned(), |series| format!("{:.2}", speed(series).estimate))
        }));
        let speed_at = of(quoted).map(|series| speed(series).estimate);
        let field = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        row.push(field(speed_at.map(|speed| speed / clock), 2));
        row.push(field(speed_at.map(|speed| clock / speed), 2));
        row.push(field(of(quoted).and_then(|series| percent_of_bound(findings, series)), 0));
        row
    });
    let mut columns = vec![String::new()];
    columns.extend(sizes.iter().map(|&size| size_words(size)));
    columns.extend(["per GHz", "cycles/byte", "% of unit"].map(str::to_owned));
    (!all.is_empty()).then(|| Table {
        title: format!(
            "AES-{key_bits} {}: GB/s of processor time; at {} GB/s per GHz, cycles per byte, percent of the unit",
            mode.name(),
            size_words(quoted)
        ),
        columns,
        rows: rows.collect(),
    })
}
