//! The open questions of aes-instructions, answered from the series; and the tables.

use super::peers::{EIGHT, NARROW_SUFFIX, PLAIN, ROW};
use super::workload::Mode;
use crate::experiments::{Answered, Findings, size_words};
use crate::measure::Interval;
use crate::record::{Answer, Effect, Level, Series, Table};
use cipherloom_kernels::Backend;
use std::collections::{BTreeMap, BTreeSet};

/// The size at which a mode's speed is quoted: start and end do not count, and the second-level cache holds it.
pub(super) const QUOTED: usize = 4 << 10;

/// The parameter that holds a backend's bound, in GB/s.
pub(super) fn bound_name(backend: &str) -> String {
    format!("bound_{backend}_gigabytes_per_second")
}

pub(super) fn of(findings: &Findings) -> Answered {
    let answers = [
        instructions(findings),
        narrow(findings),
        in_flight(findings),
        wider(findings),
        bound(findings),
        others(findings),
        wrong(findings),
        refused(findings),
    ];
    let tables: Vec<Table> = Mode::ALL
        .into_iter()
        .flat_map(|mode| [(mode, 128), (mode, 256)])
        .filter_map(|(mode, key_bits)| table(findings, mode, key_bits))
        .collect();
    Answered { answers: answers.into_iter().flatten().collect(), tables }
}

/// The widest backend that was measured.
fn best_backend(findings: &Findings) -> Option<&'static str> {
    let is_measured =
        |backend: &&Backend| findings.series.iter().any(|series| series.variant == backend.name());
    Backend::ALL.iter().rev().find(is_measured).map(|backend| backend.name())
}

fn at<'f>(findings: &'f Findings, variant: &str, mode: Mode) -> Option<&'f Series> {
    let wanted =
        [("mode", Level::from(mode.name())), ("size", QUOTED.into()), ("key_bits", Level::from(128_u64))];
    findings.find(variant, &wanted)
}

/// GB/s of processor time, from the median turn.
fn speed(series: &Series) -> Interval {
    let bytes = series.work.bytes as f64;
    Interval::of_rounds(&series.cpus().iter().map(|time| bytes / time).collect::<Vec<_>>())
}

/// How many times as fast, by processor time.
fn times(fast: &Series, slow: &Series) -> Interval {
    slow.times_the_processor_time_of(fast)
}

fn words(value: Interval) -> String {
    format!("{} times", value.words(1))
}

fn instructions(findings: &Findings) -> Option<Answer> {
    let row = at(findings, "intrinsics in a row", Mode::Ecb)?;
    let tables = at(findings, "openssl, tables", Mode::Ecb)?;
    let permutations = at(findings, "openssl, vector permutations", Mode::Ecb)?;
    let clock = findings.parameters.get("clock_gigahertz").and_then(number)?;
    let per_gigahertz = speed(row).scaled(1000.0 / clock);
    let (over_tables, over_permutations) = (times(row, tables), times(row, permutations));
    let sentence = format!(
        "Intrinsics in a plain sequence are {} as fast as OpenSSL's tables and {} as its vector permutations (ECB, 4 KB), and make \
         {} MB/s per GHz (published: 399 to 755 on the x86 processors).",
        words(over_tables),
        words(over_permutations),
        per_gigahertz.words(0)
    );
    let fast = "times as fast";
    let effects = vec![
        Effect::new("intrinsics in a row against OpenSSL's tables, ECB", over_tables, fast),
        Effect::new(
            "intrinsics in a row against OpenSSL's vector permutations, ECB",
            over_permutations,
            fast,
        ),
        Effect::new("intrinsics in a row, ECB", speed(row), "GB/s"),
        Effect::new("OpenSSL's tables, ECB", speed(tables), "GB/s"),
    ];
    let mut sentence = sentence;
    let mut effects = effects;
    if let Some(plain) = at(findings, PLAIN, Mode::Ecb) {
        let over_plain = times(row, plain);
        sentence += &format!(" They are {} as fast as our plain C.", words(over_plain));
        effects.push(Effect::new("intrinsics in a row against plain C, ECB", over_plain, fast));
    }
    let question = "What do AES instructions bring (published: 8 to 12 times)?";
    Some(Answer::measured(question, sentence, effects).as_headline())
}

/// The same contestants compiled for 32 bits, as the publication had them.
fn narrow(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for name in [ROW, EIGHT, PLAIN] {
        let (Some(wide), Some(narrow)) =
            (at(findings, name, Mode::Ecb), at(findings, &format!("{name}{NARROW_SUFFIX}"), Mode::Ecb))
        else {
            continue;
        };
        let ratio = times(narrow, wide);
        parts.push(format!("{name} {}", ratio.words(2)));
        effects.push(Effect::new(format!("{name}, 32 bits against 64, ECB"), ratio, "times as fast"));
    }
    let sentence = format!(
        "Compiled for 32 bits, in times of the speed for 64 bits (ECB, 4 KB): {}. Published: 0.73 to \
         0.80 on three Core i7 with AES instructions, 0.89 and 0.95 without.",
        parts.join("; ")
    );
    let question = "What do 32 bits cost?";
    (!parts.is_empty()).then(|| Answer::measured(question, sentence, effects))
}

fn in_flight(findings: &Findings) -> Option<Answer> {
    let row = at(findings, "intrinsics in a row", Mode::Ecb)?;
    let eight = at(findings, "intrinsics, eight in flight", Mode::Ecb)?;
    let step = times(eight, row);
    let sentence = format!(
        "Eight blocks in flight are {} as fast as one after the other in ECB ({} against {} GB/s).",
        words(step),
        speed(eight).words(1),
        speed(row).words(1)
    );
    let effects = vec![Effect::new("eight in flight against a row, ECB", step, "times as fast")];
    let question = "How much more is in the instructions than a plain sequence takes out?";
    Some(Answer::measured(question, sentence, effects).as_headline())
}

/// Within one mode: what wider registers do, and what a mode without intrinsics of its own is compared with.
fn wider(findings: &Findings) -> Option<Answer> {
    let narrow = Backend::Aesni.name();
    let best = best_backend(findings)?;
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for mode in [Mode::Ctr, Mode::CbcDecrypt, Mode::CbcEncryptLanes] {
        let (Some(wide), Some(base)) = (at(findings, best, mode), at(findings, narrow, mode)) else {
            continue;
        };
        if best == narrow {
            continue;
        }
        let ratio = times(wide, base);
        parts.push(format!("{} {}", mode.name(), ratio.words(1)));
        effects.push(Effect::new(
            format!("{best} against {narrow}, {}", mode.name()),
            ratio,
            "times as fast",
        ));
    }
    let row = at(findings, "intrinsics in a row", Mode::Ctr);
    let sequence = at(findings, best, Mode::Ctr).zip(row).map(|(wide, row)| {
        let ratio = times(wide, row);
        let name = format!("{best} against intrinsics in a row, CTR");
        effects.push(Effect::new(name, ratio, "times as fast"));
        format!(" In CTR it is {} as fast as the plain sequence.", words(ratio))
    });
    let sentence = format!(
        "At 4 KB {best} makes, in times of the speed of {narrow} in the same mode: {}.{}",
        parts.join(", "),
        sequence.unwrap_or_default()
    );
    let question = "What do wider registers bring, mode by mode?";
    (!parts.is_empty()).then(|| Answer::measured(question, sentence, effects).as_headline())
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
    let backend = best_backend(findings)?;
    let modes = [Mode::Ctr, Mode::CbcDecrypt, Mode::CbcEncryptLanes, Mode::CbcEncryptOne];
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    let mut has_turns = true;
    for mode in modes {
        let series = at(findings, backend, mode)?;
        // The unit's own rate, measured in turns with the contestants; older records have it from before the contest.
        let percent = match at(findings, &unit_variant(backend), mode) {
            Some(unit) => {
                let size = series.work.bytes as f64 / unit.work.bytes as f64;
                times(series, unit).scaled(100.0 * size)
            }
            None => {
                has_turns = false;
                Interval::exact(percent_of_bound(findings, series)?)
            }
        };
        parts.push(format!("{} {}% ({} GB/s)", mode.name(), percent.words(0), speed(series).words(1)));
        effects.push(Effect::new(format!("{backend}, {}", mode.name()), speed(series), "GB/s"));
        effects.push(Effect::new(format!("{backend}, {}, of the unit", mode.name()), percent, "%"));
    }
    let caution = if has_turns {
        String::new()
    } else {
        let bound_of = |series: &&Series| percent_of_bound(findings, series);
        let all: Vec<f64> = findings.series.iter().filter_map(|series| bound_of(&series)).collect();
        let over = all.iter().filter(|percent| **percent > 100.0).count();
        format!(
            " The unit's rate was measured before the contests, not in turns with them: {over} of {} series exceed it (at most \
             {:.0}%), so these shares are rough.",
            all.len(),
            all.iter().copied().fold(0.0, f64::max)
        )
    };
    let sentence = format!("With {backend} at 4 KB: {}.{caution}", parts.join(", "));
    Some(Answer::measured("How much of the AES unit's speed does each mode reach?", sentence, effects))
}

/// The name of a backend's AES unit on registers alone, as a contestant.
pub(super) fn unit_variant(backend: &str) -> String {
    format!("the unit of {backend}")
}

fn others(findings: &Findings) -> Option<Answer> {
    let best_of_ours = best_backend(findings)?;
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for mode in [Mode::Ctr, Mode::CbcEncryptLanes, Mode::CbcDecrypt] {
        let ours = at(findings, best_of_ours, mode)?;
        let theirs = findings.series.iter().filter(|series| {
            Backend::from_name(&series.variant).is_none()
                && !["the unit of ", "intrinsics", PLAIN].iter().any(|ours| series.variant.starts_with(ours))
                && ["mode", "size", "key_bits"].iter().all(|name| series.factor(name) == ours.factor(name))
        });
        let best = theirs.min_by(|a, b| a.cpu.median.estimate.total_cmp(&b.cpu.median.estimate))?;
        let ratio = times(ours, best);
        parts.push(format!("{} {} the best other, {}", mode.name(), words(ratio), best.variant));
        effects.push(Effect::new(
            format!("{}: ours against {}", mode.name(), best.variant),
            ratio,
            "times as fast",
        ));
    }
    let sentence = format!("{best_of_ours} at 4 KB and AES-128, as fast as: {}.", parts.join("; "));
    Some(Answer::measured("Where do the product's kernels stand beside other libraries?", sentence, effects))
}

/// Peers with wrong results: a mistake in the call is as likely as one in the library.
fn wrong(findings: &Findings) -> Option<Answer> {
    let wrong: Vec<String> = findings
        .excluded
        .iter()
        .filter(|out| out.was_wrong && Backend::from_name(&out.variant).is_none())
        .map(|out| {
            let level = |name: &str| out.factors.get(name).map(Level::to_string).unwrap_or_default();
            let size = level("size").parse().map_or_else(|_| level("size"), size_words);
            format!("{} in {} at {size}", out.variant, level("mode"))
        })
        .collect();
    let sentence = format!(
        "{} series of other libraries differ from the oracle's result and are not timed: {}. That a length field of 16 bits in a \
         job ends at 64 KB is the likely reason.",
        wrong.len(),
        wrong.join("; ")
    );
    let question = "Is a peer's result wrong, or our call of it?";
    (!wrong.is_empty()).then(|| Answer::guess(question, sentence, Vec::new()))
}

/// What a library refused itself.
fn refused(findings: &Findings) -> Option<Answer> {
    // By mode and reason: who, and at which sizes.
    type Who<'f> = (BTreeSet<&'f str>, BTreeSet<u64>);
    let mut groups: BTreeMap<(String, &str), Who<'_>> = BTreeMap::new();
    let mut count = 0;
    for out in findings.excluded.iter().filter(|out| !out.was_wrong) {
        let Some((_, reason)) = out.reason.split_once(" refuses: ") else { continue };
        let mode = out.factors.get("mode").map(Level::to_string).unwrap_or_default();
        let (variants, sizes) = groups.entry((mode, reason)).or_default();
        variants.insert(&out.variant);
        sizes.extend(out.factors.get("size").and_then(number).map(|size| size as u64));
        count += 1;
    }
    let groups: Vec<String> = groups
        .into_iter()
        .map(|((mode, reason), (variants, sizes))| {
            let sizes: Vec<String> = sizes.into_iter().map(size_words).collect();
            let variants: Vec<&str> = variants.into_iter().collect();
            format!("{mode} at {} by {} ({reason})", sizes.join(", "), variants.join("; "))
        })
        .collect();
    let sentence = format!(
        "{count} series are not timed because the library's calls that check refuse their jobs: {}. No result of it is wrong.",
        groups.join(". ")
    );
    let question = "Does intel-ipsec-mb do what it is asked?";
    let is_right = !findings.excluded.iter().any(|out| out.was_wrong && out.variant.starts_with("ipsec-mb"));
    (count > 0 && is_right).then(|| Answer::measured(question, sentence, Vec::new()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::factors;
    use crate::record::Excluded;

    fn out(was_wrong: bool, reason: &str) -> Findings {
        let levels = factors([("mode", "CBC encrypt, even lanes".into()), ("size", 65_536_usize.into())]);
        let variant = "ipsec-mb jobs".to_owned();
        let excluded = vec![Excluded { variant, factors: levels, was_wrong, reason: reason.to_owned() }];
        Findings { excluded, ..Findings::default() }
    }

    #[test]
    fn a_job_that_a_library_refuses_is_no_wrong_result() {
        let findings = out(false, "the ciphers in C: intel-ipsec-mb 1.3.0 refuses: Invalid length");
        assert!(wrong(&findings).is_none());
        let sentence = refused(&findings).unwrap().sentence;
        assert!(
            sentence.contains("CBC encrypt, even lanes at 64 KB by ipsec-mb jobs (Invalid length)"),
            "{sentence}"
        );
        let findings = out(true, "differs");
        assert!(refused(&findings).is_none() && wrong(&findings).is_some());
    }
}
