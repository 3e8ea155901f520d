//! The open questions of many-files, answered from the series in plain words.

use super::effects::{MainEffect, main_effect};
use super::{decryption, delays, environment, step};
use crate::experiments::{Answered, Findings};
use crate::measure::{Interval, LEAST_ROUNDS, correct_by_holm};
use crate::record::{Answer, Effect, Level, Series, Table};

pub(super) fn of(findings: &Findings) -> Answered {
    let answers = [
        step::answer(findings),
        speed(findings),
        delays::answer(findings),
        delays::guess(findings),
        buffer(findings),
        tail(findings),
        environment::answer(findings),
        decryption::answer(findings),
        product(findings),
    ];
    let tables = [step::table(findings), factor_table(findings), delays::table(findings)];
    Answered {
        answers: answers.into_iter().flatten().collect(),
        tables: tables.into_iter().flatten().collect(),
    }
}

/// `1.25 (1.20 to 1.31) times as long`.
pub(super) fn longer(effect: Interval) -> String {
    let words = format!("{} times as long", effect.words(2));
    if effect.excludes(1.0) { words } else { format!("{words}, which may be chance") }
}

pub(super) fn part<'f>(findings: &'f Findings, name: &str) -> impl Iterator<Item = &'f Series> {
    let level = Level::from(name);
    findings.series.iter().filter(move |series| series.factor("part") == Some(&level))
}

pub(super) fn is(series: &Series, factor: &str, level: impl Into<Level>) -> bool {
    series.factor(factor) == Some(&level.into())
}

/// Every step from one level to another that the design holds.
const STEPS: [(&str, &str, &str, &str); 11] = [
    ("runtime", "spawned", "openmp", "OpenMP instead of threads made for the run"),
    ("runtime", "spawned", "pool", "a persistent pool instead of threads made for the run"),
    ("buffer", "largest", "whole", "a buffer allocated for each file instead of one of the same size kept"),
    ("buffer", "fixed 65536", "largest", "one read of the whole file instead of reads of 64 KB"),
    (
        "buffer",
        "fixed 65536",
        "whole",
        "a buffer per file, as large as the file, instead of a fixed one of 64 KB",
    ),
    ("buffer", "fixed 65536", "fixed 1024", "a fixed buffer of 1 KB instead of 64 KB"),
    ("trim", "default", "never", "an allocator that never gives memory back"),
    ("appear", "inplace", "rename", "a temporary name and a rename"),
    ("appear", "inplace", "unnamed", "an unnamed file and a link"),
    ("order", "strided", "queue", "a queue by size instead of striding (even files)"),
    ("wait", "park", "spin", "idle threads that spin instead of parking"),
];

/// Every step's effect at this number of threads, with its probability corrected for the number of steps.
fn effects(findings: &Findings, threads: u64) -> Vec<Effect> {
    let mut found: Vec<(&str, MainEffect)> = Vec::new();
    for (factor, base, level, words) in STEPS {
        // GCC's OpenMP stops spinning where threads outnumber processors, and a spinning crowd drowns every other effect:
        // so waiting is compared without OpenMP, and all else among those that park.
        let is_comparable = |series: &Series| match factor {
            "wait" => !is(series, "runtime", "openmp"),
            _ => is(series, "wait", "park"),
        };
        let chosen = |name| {
            part(findings, name)
                .filter(|series| is(series, "threads", threads))
                .filter(|series| is_comparable(series))
        };
        let value = main_effect(chosen("factorial"), factor, base, level)
            .or_else(|| main_effect(chosen("appearance"), factor, base, level));
        found.extend(value.map(|value| (words, value)));
    }
    let corrected = correct_by_holm(&found.iter().map(|(_, effect)| effect.probability).collect::<Vec<_>>());
    let with = |((words, effect), probability): ((&str, MainEffect), f64)| Effect {
        probability: Some(probability),
        ..Effect::new(words, effect.value, "times as long")
    };
    found.into_iter().zip(corrected).map(with).collect()
}

/// The effect with its probability: what a single interval says is not enough among several factors.
fn tested(effect: &Effect) -> String {
    let chance = match effect.probability {
        Some(probability) if probability > 0.05 => format!(", which may be chance: p = {probability:.2}"),
        _ => String::new(),
    };
    format!("{} times as long{chance}", effect.value.words(2))
}

fn speed(findings: &Findings) -> Option<Answer> {
    let effects = effects(findings, 2);
    let of = |factor: &str, base: &str, level: &str| {
        let words = STEPS.iter().find(|step| (step.0, step.1, step.2) == (factor, base, level))?.3;
        effects.iter().find(|effect| effect.name == words)
    };
    let runtime = of("runtime", "spawned", "openmp")?;
    let allocation = of("buffer", "largest", "whole")?;
    let size = of("buffer", "fixed 65536", "fixed 1024")?;
    let trim = of("trim", "default", "never")?;
    let costs = |effect: &Effect| effect.value.low > 1.0 && effect.probability.is_none_or(|p| p <= 0.05);
    let blame = match (costs(runtime), costs(allocation)) {
        (true, true) => "Both cost something",
        (true, false) => "OpenMP costs something, the allocation is not shown to",
        (false, true) => "The allocation per file costs something, OpenMP is not shown to",
        (false, false) => "Neither is shown to cost anything",
    };
    let sentence = format!(
        "{blame}: with 2 threads, all else equal, OpenMP takes {}, a buffer allocated per file (against one of the same size kept) \
         {}, and the published 1 KB buffer (against 64 KB) {}; forbidding the allocator to give memory back takes {}. \
         Probabilities are corrected for {} tests (Holm).",
        tested(runtime),
        tested(allocation),
        tested(size),
        tested(trim),
        effects.len()
    );
    let question = "Was it pthread instead of OpenMP, or no allocation per file, that gave the speed?";
    Some(Answer::measured(question, sentence, effects).as_headline())
}

fn buffer(findings: &Findings) -> Option<Answer> {
    let series: Vec<&Series> =
        part(findings, "buffer-size").filter(|series| series.variant == "buffer-size").collect();
    let best = series.iter().min_by(|a, b| a.wall.median.estimate.total_cmp(&b.wall.median.estimate))?;
    let effects: Vec<Effect> = series
        .iter()
        .map(|series| {
            let name = series.factor("buffer").map(ToString::to_string).unwrap_or_default();
            Effect::new(name, series.times_as_long_as(best), "times as long as the best")
        })
        .collect();
    let worst = effects.iter().max_by(|a, b| a.value.estimate.total_cmp(&b.value.estimate))?;
    let published = effects.iter().find(|effect| effect.name == "fixed 1024")?;
    let bytes = |name: &str| super::super::size_words(name.trim_start_matches("fixed ").parse().unwrap_or(0));
    let end = if std::ptr::eq(worst, published) {
        ", the worst".to_owned()
    } else {
        format!(", and the worst, {}, {}", bytes(&worst.name), longer(worst.value))
    };
    let sentence = format!(
        "The fastest here is {}; the published 1 KB takes {}{end}.",
        bytes(&best.factor("buffer").map(ToString::to_string).unwrap_or_default()),
        longer(published.value)
    );
    Some(Answer::measured("How does the buffer's size change the time?", sentence, effects))
}

fn tail(findings: &Findings) -> Option<Answer> {
    let chosen = |threads: u64| {
        part(findings, "tail")
            .filter(move |series| series.variant == "tail" && is(series, "threads", threads))
    };
    let spin = main_effect(chosen(20), "wait", "park", "spin")?.value;
    let queue = main_effect(chosen(2), "order", "strided", "queue")?.value;
    let crowd = |wait: &'static str| {
        let pool =
            |threads| chosen(threads).find(|series| is(series, "wait", wait) && is(series, "order", "queue"));
        Some(pool(20)?.times_as_long_as(pool(2)?))
    };
    let (parked, spinning) = (crowd("park")?, crowd("spin")?);
    let p99 = |wait: &'static str| {
        let found = chosen(20).find(|series| is(series, "wait", wait) && is(series, "order", "queue"))?;
        Some(found.wall.p99 / found.wall.median.estimate)
    };
    let effect = |name: &str, value| Effect::new(name, value, "times as long");
    Some(Answer::measured(
        "What do oversubscription, striding and spinning do?",
        format!(
            "On uneven files a queue by size instead of striding takes {} with 2 threads; 20 threads instead of 2 take \
             {} when idle threads park and {} when they spin; at 20 threads spinning instead of parking takes {}, and its 99th \
             percentile is {:.1} medians (parking {:.1}).",
            longer(queue),
            longer(parked),
            longer(spinning),
            longer(spin),
            p99("spin")?,
            p99("park")?
        ),
        vec![
            effect("a queue by size instead of striding, uneven files, 2 threads", queue),
            effect("20 threads instead of 2, parking", parked),
            effect("20 threads instead of 2, spinning", spinning),
            effect("spinning instead of parking, 20 threads", spin),
        ],
    ))
}

fn product(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    for series in part(findings, "grid").filter(|series| series.variant == "cipherloom") {
        // At the product's own thread counts, each program at its best.
        let shape = |other: &&Series| {
            ["files", "file_bytes"].iter().all(|name| other.factor(name) == series.factor(name))
        };
        let best = |variant: &str| {
            let all =
                part(findings, "grid").filter(|other| other.variant == variant).filter(|other| shape(other));
            all.min_by(|a, b| a.wall.median.estimate.total_cmp(&b.wall.median.estimate))
        };
        let (Some(ours), Some(published), Some(floor)) =
            (best("cipherloom"), best("published"), best("copy"))
        else {
            continue;
        };
        if !std::ptr::eq(ours, series) {
            continue;
        }
        let bytes = series.work.bytes / series.work.operations.max(1);
        let name = |of: &str| {
            format!("{} files of {}: {of}", series.work.operations, super::super::size_words(bytes))
        };
        let faster = published.times_as_long_as(ours);
        effects.push(Effect::new(name("published against product"), faster, "times as long"));
        let above = ours.times_as_long_as(floor);
        effects.push(Effect::new(name("product against copy"), above, "times as long"));
    }
    // The least and the most, each with its shape.
    let ends = |ending: &str| {
        let all = || effects.iter().filter(|effect| effect.name.ends_with(ending));
        let by = |a: &&Effect, b: &&Effect| a.value.estimate.total_cmp(&b.value.estimate);
        let words = |effect: &Effect| {
            let shape = effect.name.split(':').next().unwrap_or_default();
            format!("{} with {shape}", effect.value.words(2))
        };
        Some(format!("from {} to {}", words(all().min_by(by)?), words(all().max_by(by)?)))
    };
    let (published, floor) = (ends("published against product")?, ends("product against copy")?);
    let sentence = format!(
        "Each at its best number of threads. The published program's time in times of cipherloom's: {published}. \
         cipherloom's in times of the same pipeline without a cipher: {floor}."
    );
    Some(Answer::measured("And the product?", sentence, effects))
}

fn factor_table(findings: &Findings) -> Option<Table> {
    let two = effects(findings, 2);
    let many = effects(findings, 20);
    (!two.is_empty()).then(|| Table {
        title: format!(
            "Main effects: times as long, all else equal, with {} and p of {} tests (Holm)",
            interval_name(two[0].value),
            two.len()
        ),
        columns: ["change", "2 threads", "p", "20 threads", "p"].map(str::to_owned).to_vec(),
        rows: two
            .iter()
            .map(|effect| {
                let words = |effect: &Effect| {
                    let probability = effect.probability.map_or_else(String::new, |p| format!("{p:.4}"));
                    [effect.value.words(2), probability]
                };
                let other = many.iter().find(|other| other.name == effect.name);
                let other = other.map_or_else(|| ["-", "-"].map(str::to_owned), words);
                [[effect.name.clone()].to_vec(), words(effect).to_vec(), other.to_vec()].concat()
            })
            .collect(),
    })
}

/// What an interval of so many rounds may be called.
pub(super) fn interval_name(value: Interval) -> &'static str {
    if value.rounds >= LEAST_ROUNDS { "95% intervals" } else { "the range of the rounds" }
}
