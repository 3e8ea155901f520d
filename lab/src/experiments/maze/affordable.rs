//! What a size will take, by the rate of the size before: a slow device is spared what a fast one can do.

use super::stages::Stage;
use crate::experiments::Findings;
use crate::measure::Entrant;
use crate::record::{Level, Series};

/// The slowest part's nanoseconds for a cell in a frame, at the largest size measured; 0 if nothing is known.
pub(super) fn nanoseconds(findings: &Findings, device: &str, variant: &str, task: &str) -> f64 {
    let is_of_it = |series: &&Series| {
        series.variant == variant
            && series.factor("device") == Some(&Level::from(device))
            && series.factor("task") == Some(&Level::from(task))
    };
    let of_it = || findings.series.iter().filter(is_of_it);
    let most = of_it().map(|series| series.work.operations).max().unwrap_or(0);
    let largest = of_it().filter(|series| series.work.operations == most);
    largest.map(|series| series.wall.median.estimate / most as f64).fold(0.0, f64::max)
}

/// Those of the entrants that can take all their turns within `patience` seconds; the others are noted, once each.
pub(super) fn among(
    entrants: Vec<Entrant<'static>>,
    stage: &Stage,
    rounds: usize,
    patience: f64,
    findings: &mut Findings,
) -> Vec<Entrant<'static>> {
    let (cells, frames) = (stage.setting.cells() as f64, f64::from(stage.frames));
    let is_affordable = |entrant: &Entrant<'static>, findings: &mut Findings| {
        let Some(Level::Name(device)) = entrant.factors.get("device") else { return true };
        let pace = nanoseconds(findings, device, &entrant.variant, stage.rule.name());
        let seconds = pace * cells * frames * (rounds as f64 + 2.0) / 1e9;
        if seconds <= patience {
            return true;
        }
        let note = format!(
            "{device}, {}: too slow for {} at {} cells a side, which was left out",
            entrant.variant,
            stage.rule.name(),
            stage.setting.width
        );
        if !findings.notes.contains(&note) {
            findings.notes.push(note);
        }
        false
    };
    entrants.into_iter().filter(|entrant| is_affordable(entrant, findings)).collect()
}
