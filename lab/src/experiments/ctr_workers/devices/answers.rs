//! What devices answer, from their series.

use super::super::answers;
use super::super::{LARGE_BYTES, PUBLISHED_BYTES};
use crate::experiments::{Answered, Findings};
use crate::record::{Answer, Effect, Level, Series, Table};

/// Under which name a device's counted ceiling stands among the parameters, in Mbit/s.
pub(super) fn ceiling_parameter(kernel: &str, device: &str) -> String {
    format!("counted ceiling of {kernel} on {device}, Mbit/s")
}

pub(in super::super) fn add(findings: &Findings, answered: &mut Answered) {
    let tables = [PUBLISHED_BYTES, LARGE_BYTES].map(|bytes| table(findings, bytes));
    answered.tables.extend(tables.into_iter().chain([streams(findings)]).flatten());
    answered.answers.extend(devices(findings).iter().filter_map(|device| today(findings, device)));
}

fn of<'f>(findings: &'f Findings, part: &'f str, variant: &'f str) -> impl Iterator<Item = &'f Series> {
    let is_of = move |series: &&Series| {
        series.variant == variant && series.factor("part") == Some(&Level::from(part))
    };
    findings.series.iter().filter(is_of)
}

fn name<'s>(series: &'s Series, factor: &str) -> &'s str {
    match series.factor(factor) {
        Some(Level::Name(name)) => name,
        _ => "",
    }
}

fn devices(findings: &Findings) -> Vec<String> {
    let mut devices: Vec<String> =
        of(findings, "device", "end-to-end").map(|series| name(series, "device").to_owned()).collect();
    devices.dedup();
    devices
}

/// The median of the fastest kernel over this message, in nanoseconds.
#[cfg(feature = "gpu")]
pub(super) fn fastest_kernel(findings: &Findings, device: &str, bytes: usize) -> Option<f64> {
    of(findings, "device", "kernel-only")
        .filter(|series| name(series, "device") == device && series.work.bytes == bytes as u64)
        .map(|series| series.wall.median.estimate)
        .min_by(f64::total_cmp)
}

fn megabits(series: &Series) -> f64 {
    8e3 * series.work.bytes as f64 / series.wall.median.estimate
}

fn table(findings: &Findings, bytes: usize) -> Option<Table> {
    let mut rows = Vec::new();
    for whole in of(findings, "device", "end-to-end").filter(|series| series.work.bytes == bytes as u64) {
        let (device, kernel) = (name(whole, "device"), name(whole, "kernel"));
        let workers = whole.factor("workers").map(Level::to_string).unwrap_or_default();
        let mut row = vec![format!("{device}: {kernel}, {workers}")];
        let part = |variant: &str| {
            findings.series.iter().find(|series| series.variant == variant && series.factors == whole.factors)
        };
        for variant in ["copy-in", "compute", "copy-out"] {
            let time = part(variant).map(|series| format!("{:.1}", series.wall.median.estimate / 1e3));
            row.push(time.unwrap_or_else(|| "-".to_owned()));
        }
        row.push(format!("{:.0}", megabits(whole)));
        let kernel_rate = part("kernel-only").map(megabits);
        row.push(kernel_rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")));
        let percent = match (findings.parameters.get(&ceiling_parameter(kernel, device)), kernel_rate) {
            (Some(Level::Number(ceiling)), Some(rate)) => format!("{:.1}", 100.0 * rate / ceiling),
            _ => "-".to_owned(),
        };
        row.push(percent);
        rows.push(row);
    }
    let columns = ["", "copy-in", "compute", "copy-out", "Mbit/s", "kernel Mbit/s", "% of counted ceiling"];
    (!rows.is_empty()).then(|| Table {
        title: format!("Devices, {bytes} bytes: kernel and workers, µs by phase"),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

fn streams(findings: &Findings) -> Option<Table> {
    let rows: Vec<Vec<String>> = of(findings, "streams", "overlapped")
        .map(|series| {
            let under_way = series.factor("streams").map(Level::to_string).unwrap_or_default();
            let device = name(series, "device");
            vec![format!("{device}: {under_way} under way"), format!("{:.0}", megabits(series))]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!("Devices, {LARGE_BYTES} bytes: the product's way, by pieces under way"),
        columns: ["", "Mbit/s"].map(str::to_owned).to_vec(),
        rows,
    })
}

fn today(findings: &Findings, device: &str) -> Option<Answer> {
    let bytes = PUBLISHED_BYTES;
    let here = |variant: &'static str, workers: Option<u64>| {
        of(findings, "device", variant)
            .filter(move |series| {
                name(series, "device") == device
                    && series.work.bytes == bytes as u64
                    && workers.is_none_or(|workers| series.factor("workers") == Some(&workers.into()))
            })
            .min_by(|a, b| a.wall.median.estimate.total_cmp(&b.wall.median.estimate))
    };
    let rate = |series: &Series| answers::rate(series, 8e3 * series.work.bytes as f64);
    let (one, six) = (here("end-to-end", Some(1))?, here("end-to-end", Some(6))?);
    let (best, kernel) = (here("end-to-end", None)?, here("kernel-only", None)?);
    let processor = findings
        .series
        .iter()
        .filter(|series| {
            series.variant == "end-to-end"
                && series.factor("part") == Some(&"workers".into())
                && series.work.bytes == bytes as u64
        })
        .min_by(|a, b| a.wall.median.estimate.total_cmp(&b.wall.median.estimate))?;
    let driver = findings.versions.get(device).map_or_else(String::new, |driver| format!(", {driver}"));
    let named = [
        ("one worker", one),
        ("six workers", six),
        ("the best, end to end", best),
        ("the best kernel alone", kernel),
        ("this processor, end to end", processor),
    ];
    let words = |series: &Series| rate(series).words(0);
    let sentence = format!(
        "{} Mbit/s on one worker and {} on six over the published {} bytes, end to end; {} at best \
         ({}, {} workers), {} in the kernel alone ({}, {} workers). This machine's processor makes {} end to end.{}",
        words(one),
        words(six),
        bytes,
        words(best),
        name(best, "kernel"),
        best.factor("workers").map(Level::to_string).unwrap_or_default(),
        words(kernel),
        name(kernel, "kernel"),
        kernel.factor("workers").map(Level::to_string).unwrap_or_default(),
        words(processor),
        wrong(findings, device)
    );
    let effects = named.into_iter().map(|(name, series)| Effect::new(name, rate(series), "Mbit/s"));
    let question = format!("And on an accelerator of today: {device}{driver}?");
    Some(Answer::measured(&question, sentence, effects.collect()).as_headline())
}

/// How many series of a device gave wrong results and were not timed.
fn wrong(findings: &Findings, device: &str) -> String {
    let level = Level::from(device);
    let wrong = findings
        .excluded
        .iter()
        .filter(|out| out.was_wrong && out.factors.get("device") == Some(&level))
        .count();
    if wrong == 0 {
        String::new()
    } else {
        format!(" {wrong} series of it gave wrong results and were not timed.")
    }
}
