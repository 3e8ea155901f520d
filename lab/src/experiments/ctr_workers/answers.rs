//! The open questions of ctr-workers, answered from the series in plain words.

use super::{CHUNK, LARGE_BYTES, PUBLISHED_BYTES, TILE};
use crate::experiments::{Findings, size_words};
use crate::measure::{Interval, bootstrap, median, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series, Table};

pub(super) fn add(findings: &mut Findings) {
    let answers = [lost(findings), preparation(findings), tiles(findings), published(findings)];
    findings.answers.extend(answers.into_iter().flatten());
    let tables = [PUBLISHED_BYTES, LARGE_BYTES].map(|bytes| table(findings, bytes));
    findings.tables.extend(tables);
}

fn find<'f>(
    findings: &'f Findings,
    variant: &str,
    workers: usize,
    bytes: usize,
    wait: &str,
) -> Option<&'f Series> {
    let wanted = [
        ("workers", Level::from(workers)),
        ("bytes", bytes.into()),
        ("wait", wait.into()),
        ("tile", TILE.into()),
        ("chunk", CHUNK.into()),
        ("part", "workers".into()),
    ];
    findings.find(variant, &wanted)
}

fn cores(findings: &Findings) -> usize {
    match findings.parameters.get("cores") {
        Some(Level::Whole(cores)) => (*cores as usize).max(1),
        _ => 1,
    }
}

pub(super) fn effect(name: impl Into<String>, value: Interval, unit: &str) -> Effect {
    Effect { name: name.into(), value, unit: unit.to_owned() }
}

/// Time of one over N times the time of N.
fn efficiency(findings: &Findings, variant: &str, workers: usize, bytes: usize) -> Option<Interval> {
    let one = find(findings, variant, 1, bytes, "spin")?.walls();
    let many = find(findings, variant, workers, bytes, "spin")?.walls();
    let count = workers as f64;
    Some(bootstrap(&[&one, &many], |parts| 100.0 * median(&parts[0]) / median(&parts[1]) / count))
}

fn lost(findings: &Findings) -> Option<Answer> {
    let workers = cores(findings);
    if workers < 2 {
        return None;
    }
    let bytes = PUBLISHED_BYTES;
    let (whole, kernel) = (
        efficiency(findings, "end-to-end", workers, bytes)?,
        efficiency(findings, "kernel-only", workers, bytes)?,
    );
    let time = |variant: &str, workers, wait| {
        Some(find(findings, variant, workers, bytes, wait)?.wall.median.estimate)
    };
    let count = workers as f64;
    let lost_time = time("end-to-end", workers, "spin")? - time("end-to-end", 1, "spin")? / count;
    // A part that N workers share would take a N-th of its time with one; synchronisation is not shared.
    let mut effects = vec![
        effect(format!("end-to-end, {workers} workers"), whole, "% of N times one worker"),
        effect(format!("kernel-only, {workers} workers"), kernel, "% of N times one worker"),
    ];
    let mut parts = Vec::new();
    for variant in ["copy-in", "compute", "copy-out", "synchronisation"] {
        let (one, many) = (time(variant, 1, "spin")?, time(variant, workers, "spin")?);
        let lost = many - one / count;
        parts.push(format!("{variant} {:.1} µs", lost / 1e3));
        effects.push(effect(format!("lost to {variant}"), Interval::exact(lost / 1e3), "µs"));
    }
    let parked = ratio_of_medians(
        &find(findings, "end-to-end", workers, bytes, "park")?.walls(),
        &find(findings, "end-to-end", workers, bytes, "spin")?.walls(),
    );
    effects.push(effect("parking instead of spinning", parked, "times as long"));
    Some(Answer {
        question: "Where does the lost part go (published: 5.1 instead of 6 times)?".to_owned(),
        sentence: format!(
            "{workers} workers reach {:.0}% ({:.0} to {:.0}) of {workers} times one over {}, the kernels alone {:.0}%; of \
             {:.1} µs lost: {}. A host that parks instead of spinning makes the run {:.2} times as long.",
            whole.estimate,
            whole.low,
            whole.high,
            size_words(bytes as u64),
            kernel.estimate,
            lost_time / 1e3,
            parts.join(", "),
            parked.estimate
        ),
        effects,
    })
}

fn preparation(findings: &Findings) -> Option<Answer> {
    let mut effects = Vec::new();
    let mut parts = Vec::new();
    for bytes in [PUBLISHED_BYTES, LARGE_BYTES] {
        let read = findings.find("preparation", &[("bytes", bytes.into())])?;
        let whole = find(findings, "end-to-end", cores(findings), bytes, "spin")?;
        let share = bootstrap(&[&read.walls(), &whole.walls()], |parts| {
            let (read, whole) = (median(&parts[0]), median(&parts[1]));
            100.0 * read / (read + whole)
        });
        parts.push(format!("{:.0}% of the time of {}", share.estimate, size_words(bytes as u64)));
        effects.push(effect(
            format!("preparation, {} bytes", bytes),
            share,
            "% of preparation and end-to-end",
        ));
    }
    Some(Answer {
        question: "What does preparing the data cost?".to_owned(),
        sentence: format!(
            "Reading the message from a file in memory takes {} on {} workers: in a real system it is part of the price.",
            parts.join(" and "),
            cores(findings)
        ),
        effects,
    })
}

fn tiles(findings: &Findings) -> Option<Answer> {
    let workers = cores(findings).max(2);
    let of = |part: &str, factor: &str| -> Vec<(u64, &Series)> {
        let all = findings.series.iter().filter(|series| {
            series.variant == "end-to-end"
                && series.factor("part") == Some(&Level::from(part))
                && series.factor("workers") == Some(&Level::from(workers))
        });
        let level = |series: &Series| match series.factor(factor) {
            Some(Level::Whole(number)) => *number,
            _ => 0,
        };
        all.map(|series| (level(series), series)).collect()
    };
    let fastest = |all: &[(u64, &Series)]| {
        all.iter()
            .min_by(|a, b| a.1.wall.median.estimate.total_cmp(&b.1.wall.median.estimate))
            .map(|best| best.0)
    };
    let (tiles, chunks) = (of("tile", "tile"), of("chunk", "chunk"));
    let (tile, chunk) = (fastest(&tiles)?, fastest(&chunks)?);
    let speed = |(level, series): &(u64, &Series)| {
        let bytes = series.work.bytes as f64;
        let value = bootstrap(&[&series.walls()], |parts| bytes / median(&parts[0]));
        (*level, value)
    };
    let mut effects = Vec::new();
    for (name, all) in [("tile", &tiles), ("chunk", &chunks)] {
        for (level, value) in all.iter().map(speed) {
            effects.push(effect(format!("{name} of {}", size_words(level)), value, "GB/s"));
        }
    }
    let small = chunks.iter().map(speed).find(|(level, _)| *level == 16)?.1;
    let best = chunks.iter().map(speed).find(|(level, _)| *level == chunk)?.1;
    Some(Answer {
        question: "Which private memory and which chunk are best?".to_owned(),
        sentence: format!(
            "With {workers} workers a tile of {} and chunks of {}; chunks of 16 bytes, which cost the published cores \
             nothing, make {:.1} GB/s instead of {:.1}.",
            size_words(tile),
            size_words(chunk),
            small.estimate,
            best.estimate
        ),
        effects,
    })
}

fn published(findings: &Findings) -> Option<Answer> {
    let megabits = |workers| {
        let series = find(findings, "end-to-end", workers, PUBLISHED_BYTES, "spin")?;
        let bits = 8.0 * series.work.bytes as f64;
        Some(bootstrap(&[&series.walls()], |parts| 1e3 * bits / median(&parts[0])))
    };
    let (one, all) = (megabits(1)?, megabits(cores(findings))?);
    Some(Answer {
        question: "How fast is it today (published: 35 Mbit/s on one worker, 177 on six)?".to_owned(),
        sentence: format!(
            "{:.0} Mbit/s on one worker and {:.0} on {}, end to end over the same 614,400 bytes.",
            one.estimate,
            all.estimate,
            cores(findings)
        ),
        effects: vec![effect("one worker", one, "Mbit/s"), effect("a worker on each core", all, "Mbit/s")],
    })
}

fn table(findings: &Findings, bytes: usize) -> Table {
    let variants = ["end-to-end", "kernel-only", "copy-in", "compute", "copy-out", "synchronisation"];
    let mut rows = Vec::new();
    for series in findings.series.iter().filter(|series| series.variant == "end-to-end") {
        let (Some(Level::Whole(workers)), Some(Level::Name(wait))) =
            (series.factor("workers"), series.factor("wait"))
        else {
            continue;
        };
        let times: Vec<Option<f64>> = variants
            .iter()
            .map(|variant| {
                Some(find(findings, variant, *workers as usize, bytes, wait)?.wall.median.estimate)
            })
            .collect();
        if series.factor("part") != Some(&Level::from("workers"))
            || series.factor("bytes") != Some(&bytes.into())
        {
            continue;
        }
        let mut row = vec![format!("{workers} workers, {wait}")];
        row.extend(
            times.iter().map(|time| time.map_or_else(|| "-".to_owned(), |time| format!("{:.1}", time / 1e3))),
        );
        row.push(format!("{:.0}", 8e3 * series.gigabytes_per_second()));
        rows.push(row);
    }
    let mut columns = vec![String::new()];
    columns.extend(variants.map(str::to_owned));
    columns.push("Mbit/s".to_owned());
    Table { title: format!("{} bytes: µs by phase", bytes), columns, rows }
}
