//! The open questions of ctr-workers, answered from the series in plain words.

use super::{CHUNK, LARGE_BYTES, MEMORY, ORIGINS, PUBLISHED_BYTES, TILE, published};
use crate::experiments::{Answered, Findings, size_words};
use crate::measure::{Interval, bootstrap, median};
use crate::record::{Answer, Effect, Level, Series, Table};

pub(super) fn of(findings: &Findings) -> Answered {
    let answers = [lost(findings), preparation(findings), tiles(findings)];
    let tables = [PUBLISHED_BYTES, LARGE_BYTES].map(|bytes| table(findings, bytes));
    let answers = answers.into_iter().flatten().chain(published::answers(findings)).collect();
    Answered { answers, tables: tables.to_vec() }
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

pub(super) fn cores(findings: &Findings) -> usize {
    match findings.parameters.get("cores") {
        Some(Level::Whole(cores)) => (*cores as usize).max(1),
        _ => 1,
    }
}

/// Time of one over N times the time of N.
fn efficiency(findings: &Findings, variant: &str, workers: usize, bytes: usize) -> Option<Interval> {
    let one = find(findings, variant, 1, bytes, "spin")?;
    let many = find(findings, variant, workers, bytes, "spin")?;
    Some(one.times_as_long_as(many).scaled(100.0 / workers as f64))
}

/// Nanoseconds lost in each round: what `workers` took beyond their share of what one took in the same round.
fn lost_time(findings: &Findings, variant: &str, workers: usize, bytes: usize) -> Option<Interval> {
    let one = find(findings, variant, 1, bytes, "spin")?;
    let many = find(findings, variant, workers, bytes, "spin")?;
    if !one.took_turns_with(many) {
        return None;
    }
    let lost = |(many, one): (f64, f64)| many - one / workers as f64;
    Some(Interval::of_rounds(&many.walls().into_iter().zip(one.walls()).map(lost).collect::<Vec<_>>()))
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
    let all = lost_time(findings, "end-to-end", workers, bytes)?;
    // A part that N workers share would take a N-th of its time with one; synchronisation is not shared.
    let percent = "% of N times one worker";
    let mut effects = vec![
        Effect::new(format!("end-to-end, {workers} workers"), whole, percent),
        Effect::new(format!("kernel-only, {workers} workers"), kernel, percent),
        Effect::new("lost in all", all.scaled(1e-3), "µs"),
    ];
    let (mut parts, mut unclear) = (Vec::new(), Vec::new());
    for variant in ["copy-in", "compute", "copy-out", "synchronisation"] {
        let lost = lost_time(findings, variant, workers, bytes)?.scaled(1e-3);
        let list = if lost.excludes(0.0) { &mut parts } else { &mut unclear };
        list.push(format!("{variant} {} µs", lost.words(1)));
        effects.push(Effect::new(format!("lost to {variant}"), lost, "µs"));
    }
    let parked = find(findings, "end-to-end", workers, bytes, "park")?.times_as_long_as(find(
        findings,
        "end-to-end",
        workers,
        bytes,
        "spin",
    )?);
    effects.push(Effect::new("parking instead of spinning", parked, "times as long"));
    let listed = |parts: &[String]| if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
    let spinning = find(findings, "end-to-end", workers, bytes, "spin")?;
    let sentence = format!(
        "{workers} workers reach {}% of {workers} times one over {}, the kernels alone {}%. A run loses {} µs. Parts that take more or less \
         than their share, beyond chance: {}. Not established: {}. {} of {} runs took more than ten medians of {:.0} µs; the longest took {:.0} µs. A \
         host that parks instead of spinning takes {} times as long.",
        whole.words(0),
        size_words(bytes as u64),
        kernel.words(0),
        all.scaled(1e-3).words(1),
        listed(&parts),
        listed(&unclear),
        spinning.wall.anomalous,
        spinning.samples.len(),
        spinning.wall.median.estimate / 1e3,
        spinning.wall.max / 1e3,
        parked.words(2)
    );
    let question = "Where does the lost part go (published: 5.1 instead of 6 times)?";
    Some(Answer::measured(question, sentence, effects).as_headline())
}

/// What reading takes, in percent of reading and everything after it; the two were not measured in turns.
fn share(read: &Series, whole: &Series) -> Interval {
    bootstrap(&[&read.walls(), &whole.walls()], |parts| {
        let (read, whole) = (median(&parts[0]), median(&parts[1]));
        100.0 * read / (read + whole)
    })
}

fn preparation(findings: &Findings) -> Option<Answer> {
    let (mut effects, mut parts) = (Vec::new(), Vec::new());
    for bytes in [PUBLISHED_BYTES, LARGE_BYTES] {
        let whole = find(findings, "end-to-end", cores(findings), bytes, "spin")?;
        let size = size_words(bytes as u64);
        for (origin, words) in ORIGINS {
            // Records that do not name the origin read from memory.
            let named =
                findings.find("preparation", &[("bytes", bytes.into()), ("origin", (*origin).into())]);
            let unnamed = || {
                (*origin == MEMORY)
                    .then(|| findings.find("preparation", &[("bytes", bytes.into())]))
                    .flatten()
            };
            let Some(read) = named.or_else(unnamed) else { continue };
            let share = share(read, whole);
            parts.push(format!("{size} from {words} {}%", share.words(0)));
            effects.push(Effect::new(
                format!("preparation of {size} from {words}"),
                share,
                "% of preparation and end-to-end",
            ));
        }
    }
    let sentence = format!(
        "Of reading and everything after it on {} workers, reading takes: {}.",
        cores(findings),
        parts.join(", ")
    );
    (!parts.is_empty()).then(|| Answer::measured("What does preparing the data cost?", sentence, effects))
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
        (*level, rate(series, bytes))
    };
    let mut effects = Vec::new();
    for (name, all) in [("tile", &tiles), ("chunk", &chunks)] {
        for (level, value) in all.iter().map(speed) {
            effects.push(Effect::new(format!("{name} of {}", size_words(level)), value, "GB/s"));
        }
    }
    let small = chunks.iter().map(speed).find(|(level, _)| *level == 16)?.1;
    let best = chunks.iter().map(speed).find(|(level, _)| *level == chunk)?.1;
    let sentence = format!(
        "With {workers} workers the fastest are a tile of {} and chunks of {}. Chunks of 16 bytes, which cost the published cores \
         nothing, make {} GB/s instead of {}.",
        size_words(tile),
        size_words(chunk),
        small.words(1),
        best.words(1)
    );
    Some(Answer::measured("Which private memory and which chunk are best?", sentence, effects))
}

/// `amount` for the nanoseconds of each round.
pub(super) fn rate(series: &Series, amount: f64) -> Interval {
    Interval::of_rounds(&series.walls().iter().map(|wall| amount / wall).collect::<Vec<_>>())
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
