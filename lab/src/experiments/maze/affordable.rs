//! What a size will take, by what is known of each device: a slow one is spared what a fast one can do.

use super::conformance::{Finding, ORACLE};
use super::contestants::PROCESSOR;
use super::stages::Stage;
use crate::experiments::Findings;
use crate::measure::Entrant;
use crate::record::{Level, Series};

/// Turns beside those that are recorded: the one that is compared, and the warm-up.
const OTHER_TURNS: f64 = 2.0;

/// Fewer rounds than this say nothing.
const LEAST_ROUNDS: f64 = 3.0;

/// Nanoseconds for a cell in a frame, as far as known; 0 if nothing is: the slowest part of this task at the largest size
/// that was timed, or else those of the last whole life.
pub(super) fn nanoseconds(
    findings: &Findings,
    mazes: &[Finding],
    device: &str,
    variant: &str,
    task: &str,
) -> f64 {
    let is_of_it = |series: &&Series| {
        series.variant == variant
            && series.factor("device") == Some(&Level::from(device))
            && series.factor("task") == Some(&Level::from(task))
    };
    let of_it = || findings.series.iter().filter(is_of_it);
    let most = of_it().map(|series| series.work.operations).max().unwrap_or(0);
    let largest = of_it().filter(|series| series.work.operations == most);
    let timed = largest.map(|series| series.wall.median.estimate / most as f64).fold(0.0, f64::max);
    let is_its_life = |maze: &&Finding| match device {
        PROCESSOR => maze.device == ORACLE,
        _ => maze.device == device && maze.form == variant,
    };
    match mazes.iter().rfind(is_its_life) {
        Some(life) if timed == 0.0 => life.nanoseconds(),
        _ => timed,
    }
}

/// Those of the entrants that can take all their turns within `patience` seconds each, and how many rounds all of them can
/// take, at most `most`; the others are noted, once each.
pub(super) fn among(
    entrants: Vec<Entrant<'static>>,
    stage: &Stage,
    most: usize,
    patience: f64,
    mazes: &[Finding],
    findings: &mut Findings,
) -> (Vec<Entrant<'static>>, usize) {
    let work = stage.setting.cells() as f64 * f64::from(stage.frames) / 1e9;
    let mut rounds = most;
    let mut affordable = Vec::new();
    for entrant in entrants {
        let Some(Level::Name(device)) = entrant.factors.get("device") else { continue };
        let turn = work * nanoseconds(findings, mazes, device, &entrant.variant, stage.rule.name());
        let possible = patience / turn - OTHER_TURNS;
        if possible >= LEAST_ROUNDS {
            rounds = rounds.min(possible as usize);
            affordable.push(entrant);
            continue;
        }
        let note = format!(
            "{device}, {}: too slow to time {} at {} cells a side here",
            entrant.variant,
            stage.rule.name(),
            stage.setting.width
        );
        if !findings.notes.contains(&note) {
            findings.notes.push(note);
        }
    }
    (affordable, rounds)
}
