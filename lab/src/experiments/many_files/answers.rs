//! The open questions of many-files, answered from the series in plain words.

use super::conditions::CONDITIONS;
use super::effects::main_effect;
use crate::experiments::Findings;
use crate::measure::{Interval, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series, Table};

pub(super) fn add(findings: &mut Findings) {
    let answers = [speed(findings), delays(findings), buffer(findings), tail(findings), product(findings)];
    findings.answers.extend(answers.into_iter().flatten());
    let tables = [factor_table(findings), delay_table(findings)];
    findings.tables.extend(tables.into_iter().flatten());
}

/// `1.25 times as long (1.20 to 1.31)`.
fn longer(effect: Interval) -> String {
    let words = format!("{:.2} times as long ({:.2} to {:.2})", effect.estimate, effect.low, effect.high);
    if effect.excludes(1.0) { words } else { format!("{words}, which may be chance") }
}

fn part<'f>(findings: &'f Findings, name: &str) -> impl Iterator<Item = &'f Series> {
    let level = Level::from(name);
    findings.series.iter().filter(move |series| series.factor("part") == Some(&level))
}

fn is(series: &Series, factor: &str, level: impl Into<Level>) -> bool {
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

fn effects(findings: &Findings, threads: u64) -> Vec<Effect> {
    let mut found = Vec::new();
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
        if let Some(value) = value {
            found.push(Effect { name: words.to_owned(), value, unit: "times as long".to_owned() });
        }
    }
    found
}

fn speed(findings: &Findings) -> Option<Answer> {
    let effects = effects(findings, 2);
    let of = |factor: &str, base: &str, level: &str| {
        let words = STEPS.iter().find(|step| (step.0, step.1, step.2) == (factor, base, level))?.3;
        effects.iter().find(|effect| effect.name == words).map(|effect| effect.value)
    };
    let runtime = of("runtime", "spawned", "openmp")?;
    let allocation = of("buffer", "largest", "whole")?;
    let size = of("buffer", "fixed 65536", "fixed 1024")?;
    let trim = of("trim", "default", "never")?;
    let blame = match (runtime.low > 1.02, allocation.low > 1.02) {
        (true, true) => "Both cost something here",
        (true, false) => "Here it is OpenMP that costs, not the allocation",
        (false, true) => "Here it is the allocation per file that costs, not OpenMP",
        (false, false) => "Neither gave the speed here",
    };
    Some(Answer {
        question: "Was it pthread instead of OpenMP, or no allocation per file, that gave the speed?"
            .to_owned(),
        sentence: format!(
            "{blame}: with 2 threads, all else equal, OpenMP takes {}, a buffer allocated per file (against one of the same size kept) \
             {}, and the published 1 KB buffer (against 64 KB) {}; forbidding the allocator to give memory back takes {}.",
            longer(runtime),
            longer(allocation),
            longer(size),
            longer(trim)
        ),
        effects,
    })
}

/// Turns, anomalous ones, and the longest in medians of its series.
fn count<'s>(series: impl Iterator<Item = &'s Series>) -> (usize, usize, f64) {
    series.fold((0, 0, 0.0), |(turns, anomalous, worst), series| {
        let most = series.wall.max / series.wall.median.estimate;
        (turns + series.wall.count, anomalous + series.wall.anomalous, f64::max(worst, most))
    })
}

fn delays(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut causes = Vec::new();
    let mut tried = Vec::new();
    let (mut turns, mut worst) = (0, 0.0);
    for (condition, words) in CONDITIONS {
        let chosen = || part(findings, "conditions").filter(|series| is(series, "condition", condition));
        let (all, anomalous, most) = count(chosen());
        if all == 0 {
            continue;
        }
        tried.push(words);
        (turns, worst) = (turns + all, f64::max(worst, most));
        let value = Interval::exact(anomalous as f64);
        effects.push(Effect {
            name: format!("anomalous delays of {all} runs, {condition}"),
            value,
            unit: "runs".to_owned(),
        });
        if anomalous > 0 {
            let of = |factor: &str, level: &str| {
                let (turns, anomalous, _) = count(chosen().filter(|series| is(series, factor, level)));
                format!("{level} {anomalous}/{turns}")
            };
            let by = |factor: &str, levels: &[&str]| {
                levels.iter().map(|level| of(factor, level)).collect::<Vec<_>>().join(", ")
            };
            causes.push(format!(
                "\"{condition}\" {anomalous} of {all} runs (longest {most:.0} medians; {}; {}; {})",
                by("runtime", &["spawned", "openmp", "pool"]),
                by("buffer", &["fixed 1024", "whole"]),
                by("wait", &["park", "spin"])
            ));
        }
    }
    if tried.is_empty() {
        return None;
    }
    let sentence = if causes.is_empty() {
        format!(
            "The anomalous delays could not be reproduced in {turns} runs with: {}; the longest run took {worst:.1} medians.",
            tried.join("; ")
        )
    } else {
        format!(
            "The anomalous delays on this machine come under {}. Tried: {}.",
            causes.join(", and "),
            tried.join("; ")
        )
    };
    Some(Answer {
        question: "What causes the anomalous delays (runs of more than 10 medians)?".to_owned(),
        sentence,
        effects,
    })
}

fn buffer(findings: &Findings) -> Option<Answer> {
    let series: Vec<&Series> =
        part(findings, "buffer-size").filter(|series| series.variant == "buffer-size").collect();
    let best = series.iter().min_by(|a, b| a.wall.median.estimate.total_cmp(&b.wall.median.estimate))?;
    let effects: Vec<Effect> = series
        .iter()
        .map(|series| Effect {
            name: series.factor("buffer").map(ToString::to_string).unwrap_or_default(),
            value: ratio_of_medians(&series.walls(), &best.walls()),
            unit: "times as long as the best".to_owned(),
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
    Some(Answer {
        question: "How does the buffer's size change the time?".to_owned(),
        sentence: format!(
            "The best here is {}; the published 1 KB takes {}{end}.",
            bytes(&best.factor("buffer").map(ToString::to_string).unwrap_or_default()),
            longer(published.value)
        ),
        effects,
    })
}

fn tail(findings: &Findings) -> Option<Answer> {
    let chosen = |threads: u64| {
        part(findings, "tail")
            .filter(move |series| series.variant == "tail" && is(series, "threads", threads))
    };
    let spin = main_effect(chosen(20), "wait", "park", "spin")?;
    let queue = main_effect(chosen(2), "order", "strided", "queue")?;
    let crowd = |wait: &'static str| {
        let pool =
            |threads| chosen(threads).find(|series| is(series, "wait", wait) && is(series, "order", "queue"));
        Some(ratio_of_medians(&pool(20)?.walls(), &pool(2)?.walls()))
    };
    let (parked, spinning) = (crowd("park")?, crowd("spin")?);
    let p99 = |wait: &'static str| {
        let found = chosen(20).find(|series| is(series, "wait", wait) && is(series, "order", "queue"))?;
        Some(found.wall.p99 / found.wall.median.estimate)
    };
    let effect =
        |name: &str, value| Effect { name: name.to_owned(), value, unit: "times as long".to_owned() };
    Some(Answer {
        question: "What do oversubscription, striding and spinning do?".to_owned(),
        sentence: format!(
            "On uneven files a queue by size instead of striding takes {} with 2 threads; 20 threads instead of 2 take \
             {} when idle threads park and {} when they spin; at 20 threads spinning takes {} as parking, and its 99th \
             percentile is {:.1} medians (parking {:.1}).",
            longer(queue),
            longer(parked),
            longer(spinning),
            longer(spin),
            p99("spin")?,
            p99("park")?
        ),
        effects: vec![
            effect("a queue by size instead of striding, uneven files, 2 threads", queue),
            effect("20 threads instead of 2, parking", parked),
            effect("20 threads instead of 2, spinning", spinning),
            effect("spinning instead of parking, 20 threads", spin),
        ],
    })
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
        let faster = ratio_of_medians(&published.walls(), &ours.walls());
        effects.push(Effect {
            name: name("published against product"),
            value: faster,
            unit: "times as long".to_owned(),
        });
        let above = ratio_of_medians(&ours.walls(), &floor.walls());
        effects.push(Effect {
            name: name("product against copy"),
            value: above,
            unit: "times as long".to_owned(),
        });
    }
    // The least and the most, each with its shape.
    let ends = |ending: &str| {
        let all = || effects.iter().filter(|effect| effect.name.ends_with(ending));
        let by = |a: &&Effect, b: &&Effect| a.value.estimate.total_cmp(&b.value.estimate);
        let words = |effect: &Effect| {
            let shape = effect.name.split(':').next().unwrap_or_default();
            format!("{:.2} ({shape})", effect.value.estimate)
        };
        Some(format!("{} to {}", words(all().min_by(by)?), words(all().max_by(by)?)))
    };
    let (published, floor) = (ends("published against product")?, ends("product against copy")?);
    Some(Answer {
        question: "And the product?".to_owned(),
        sentence: format!(
            "Each at its best number of threads, the published program takes {published} times as long as cipherloom, \
             which takes {floor} times as long as the same pipeline without a cipher."
        ),
        effects,
    })
}

fn factor_table(findings: &Findings) -> Option<Table> {
    let two = effects(findings, 2);
    let many = effects(findings, 20);
    (!two.is_empty()).then(|| Table {
        title: "Main effects: times as long, all else equal (95% interval)".to_owned(),
        columns: ["change", "2 threads", "20 threads"].map(str::to_owned).to_vec(),
        rows: two
            .iter()
            .map(|effect| {
                let words =
                    |value: Interval| format!("{:.2} ({:.2}-{:.2})", value.estimate, value.low, value.high);
                let other = many.iter().find(|other| other.name == effect.name);
                let other = other.map_or_else(|| "-".to_owned(), |other| words(other.value));
                vec![effect.name.clone(), words(effect.value), other]
            })
            .collect(),
    })
}

fn delay_table(findings: &Findings) -> Option<Table> {
    let mut rows = Vec::new();
    for (condition, _) in CONDITIONS {
        for runtime in ["spawned", "openmp", "pool"] {
            for buffer in ["fixed 1024", "whole"] {
                let chosen: Vec<&Series> = part(findings, "conditions")
                    .filter(|series| is(series, "condition", condition))
                    .filter(|series| is(series, "runtime", runtime) && is(series, "buffer", buffer))
                    .collect();
                let (turns, anomalous, worst) = count(chosen.iter().copied());
                let median = |wait| {
                    chosen.iter().find(|series| is(series, "wait", wait)).map(|s| s.wall.median.estimate)
                };
                let words = |time: Option<f64>| {
                    time.map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time / 1e6))
                };
                if turns > 0 {
                    rows.push(vec![
                        format!("{condition}, {runtime}, {buffer}"),
                        words(median("park")),
                        words(median("spin")),
                        format!("{anomalous}/{turns}"),
                        format!("{worst:.1}"),
                    ]);
                }
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: "The hunt for delays: 10 files of 1 MB, 10 threads".to_owned(),
        columns: ["condition", "ms, parking", "ms, spinning", "delays", "longest, medians"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}
