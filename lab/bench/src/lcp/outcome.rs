//! What the bench of e-books found: medians and ratios, as a table and for the record.

use super::rows::{Kind, Row, Variant};
use crate::measure::{self, Sample, Spread};
use crate::table;
use clap::ValueEnum;
use serde::Serialize;

/// One variant over one row.
#[derive(Serialize)]
pub(super) struct Outcome {
    row: String,
    /// Of all sources.
    bytes: u64,
    variant: &'static str,
    /// Seconds.
    wall: Spread,
    /// Seconds.
    processor: Spread,
    /// Wall time as a multiple of `cp`'s.
    wall_to_copy: Option<f64>,
    /// How many times as much processor time lcpencrypt takes.
    processor_of_lcpencrypt: Option<f64>,
    /// How many times as much wall time lcpencrypt takes.
    wall_of_lcpencrypt: Option<f64>,
    /// How many times as much wall time the same takes with one thread.
    gain_of_second_thread: Option<f64>,
    samples: Vec<Sample>,
}

/// The outcomes of a row whose variants gave `samples`.
pub(super) fn of_row(row: Row, bytes: u64, variants: &[Variant], samples: Vec<Vec<Sample>>) -> Vec<Outcome> {
    let row = row.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let kinds: Vec<Kind> = variants.iter().map(|variant| variant.kind).collect();
    let medians: Vec<Sample> = samples.iter().map(|samples| medians(samples)).collect();
    let of = |wanted: Kind| kinds.iter().position(|kind| *kind == wanted).map(|index| medians[index]);
    let outcome = |(index, samples): (usize, Vec<Sample>)| {
        let (kind, own) = (kinds[index], medians[index]);
        let theirs = of(Kind::Lcpencrypt).filter(|_| matches!(kind, Kind::Ours { .. }));
        let single = match kind {
            Kind::Ours { threads: 2, has_checksum } => of(Kind::Ours { threads: 1, has_checksum }),
            _ => None,
        };
        Some(Outcome {
            row: row.clone(),
            bytes,
            variant: variants[index].name,
            wall: measure::spread(samples.iter().map(|sample| sample.wall))?,
            processor: measure::spread(samples.iter().map(|sample| sample.processor))?,
            wall_to_copy: of(Kind::Copy).map(|copy| own.wall / copy.wall),
            processor_of_lcpencrypt: theirs.map(|theirs| theirs.processor / own.processor),
            wall_of_lcpencrypt: theirs.map(|theirs| theirs.wall / own.wall),
            gain_of_second_thread: single.map(|single| single.wall / own.wall),
            samples,
        })
    };
    samples.into_iter().enumerate().filter_map(outcome).collect()
}

fn medians(samples: &[Sample]) -> Sample {
    let median = |of: fn(&Sample) -> f64| {
        measure::spread(samples.iter().map(of)).map_or(f64::NAN, |spread| spread.median)
    };
    Sample { wall: median(|sample| sample.wall), processor: median(|sample| sample.processor) }
}

/// The table of one row.
pub(super) fn text(outcomes: &[Outcome]) -> String {
    let Some(first) = outcomes.first() else { return String::new() };
    let title = format!("{}, {:.1} MB; gain: over lcpencrypt", first.row, first.bytes as f64 / 1e6);
    let columns = ["variant", "runs", "wall, ms", "CPU, ms", "wall/cp", "CPU gain", "wall gain", "1 to 2"];
    let ratio = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let row = |outcome: &Outcome| {
        vec![
            outcome.variant.to_owned(),
            outcome.samples.len().to_string(),
            format!("{:.1}", outcome.wall.median * 1e3),
            format!("{:.1}", outcome.processor.median * 1e3),
            ratio(outcome.wall_to_copy),
            ratio(outcome.processor_of_lcpencrypt),
            ratio(outcome.wall_of_lcpencrypt),
            ratio(outcome.gain_of_second_thread),
        ]
    };
    table::text(title, &columns, outcomes.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipherloom_peers::Program;

    #[test]
    fn ratios_are_of_medians_and_only_where_they_mean_something() {
        let ours = |threads| Kind::Ours { threads, has_checksum: true };
        let variant = |name, kind| Variant { name, program: Program::new("true"), rounds: 1, kind };
        let variants = [
            variant("cp", Kind::Copy),
            variant("one", ours(1)),
            variant("two", ours(2)),
            variant("theirs", Kind::Lcpencrypt),
        ];
        let sample = |wall| vec![Sample { wall, processor: wall * 2.0 }];
        let samples = vec![sample(1.0), sample(4.0), sample(2.0), sample(40.0)];
        let found = of_row(Row::Epub, 1_500_000, &variants, samples);
        assert_eq!(found[0].processor_of_lcpencrypt, None);
        assert_eq!(found[1].gain_of_second_thread, None);
        assert_eq!(found[2].gain_of_second_thread, Some(2.0));
        assert_eq!(found[2].wall_to_copy, Some(2.0));
        assert_eq!(found[2].processor_of_lcpencrypt, Some(20.0));
        assert_eq!(found[3].wall_of_lcpencrypt, None);
        let text = text(&found);
        assert!(text.starts_with("\nepub, 1.5 MB"), "{text}");
    }
}
