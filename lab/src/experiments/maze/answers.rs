//! What the publication left open, answered from the series.

use super::conformance::{Finding, ORACLE};
use super::contestants::PROCESSOR;
use super::proof::Verdict;
use super::stages::PARTS;
use crate::experiments::{Findings, geometric_mean};
use crate::measure::{Interval, ratio_of_medians};
use crate::record::{Answer, Effect, Level, Series, Table, csv};
use std::collections::BTreeSet;

const PUBLISHED_BRANCHING: &str = include_str!("../../../published/maze_branching.csv");
const PUBLISHED_RATES: &str = include_str!("../../../published/maze_fps.csv");

pub(super) fn of(findings: &Findings, mazes: &[Finding]) -> Vec<Answer> {
    let view = View::of(findings);
    vec![view.pays(), view.branches(), view.filling_up(), conformance(mazes)]
}

/// The table of rates over a maze's life, with what was published.
pub(super) fn tables(findings: &Findings) -> Vec<Table> {
    vec![View::of(findings).rates()]
}

/// A device (or the processor) and a way to run on it.
type Runner = (String, String);

struct View<'a> {
    findings: &'a Findings,
    runners: Vec<Runner>,
    sides: BTreeSet<u64>,
}

impl<'a> View<'a> {
    fn of(findings: &'a Findings) -> View<'a> {
        let mut runners: Vec<Runner> = Vec::new();
        for series in &findings.series {
            let runner = (device(series).to_owned(), series.variant.clone());
            if !runners.contains(&runner) {
                runners.push(runner);
            }
        }
        let sides = findings.series.iter().filter_map(|series| whole(series, "size")).collect();
        View { findings, runners, sides }
    }

    fn part(&self, (device, variant): &Runner, side: u64, task: &str, part: &Level) -> Option<&'a Series> {
        let factors = [
            ("device", device.as_str().into()),
            ("size", side.into()),
            ("task", task.into()),
            ("part", part.clone()),
        ];
        self.findings.find(variant, &factors)
    }

    fn grown(&self, runner: &Runner, side: u64, part: u32) -> Option<&'a Series> {
        self.part(runner, side, "grow", &Level::from(u64::from(part)))
    }

    /// Frames per second over a whole life.
    fn rate(&self, runner: &Runner, side: u64, task: &str) -> Option<f64> {
        let parts: Vec<&Series> = if task == "grow" {
            (1..=PARTS).map(|part| self.grown(runner, side, part)).collect::<Option<_>>()?
        } else {
            vec![self.part(runner, side, task, &Level::from("all"))?]
        };
        let frames = |series: &Series| whole(series, "frames").unwrap_or(0) as f64;
        let seconds: f64 = parts.iter().map(|part| frames(part) * part.wall.median.estimate / 1e9).sum();
        Some(parts.into_iter().map(frames).sum::<f64>() / seconds)
    }

    /// The largest size that every one of these has measured.
    fn common_side(&self, runners: &[&Runner]) -> Option<u64> {
        let has_all = |side: &&u64| runners.iter().all(|runner| self.rate(runner, **side, "grow").is_some());
        self.sides.iter().rev().find(has_all).copied()
    }

    fn devices(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.runners.iter().map(|(device, _)| device.as_str()).collect();
        names.dedup();
        names.retain(|name| *name != PROCESSOR);
        names.sort_unstable();
        names.dedup();
        names
    }

    fn rates(&self) -> Table {
        let mut rows = Vec::new();
        for side in &self.sides {
            rows.extend(published_row(*side));
            for runner in &self.runners {
                let number = |rate: Option<f64>| rate.map_or("-".to_owned(), frames_per_second);
                let of_part =
                    |part| self.grown(runner, *side, part).map(|series| 1e9 / series.wall.median.estimate);
                rows.push(vec![
                    runner.0.clone(),
                    runner.1.clone(),
                    side.to_string(),
                    number(of_part(1)),
                    number(of_part(PARTS)),
                    number(self.rate(runner, *side, "grow")),
                    number(self.rate(runner, *side, "fill")),
                    number(self.rate(runner, *side, "dots")),
                ]);
            }
        }
        rows.retain(|row| row[3..].iter().any(|rate| rate != "-"));
        let title = format!(
            "Frames per second: the first and the last of {PARTS} parts of growing, all of it, and solving"
        );
        let columns = ["device", "how", "cells a side", "first", "last", "growing", "filling", "dots"];
        Table { title, columns: columns.map(str::to_owned).to_vec(), rows }
    }

    fn pays(&self) -> Answer {
        let question = "How fast does a maze grow, and when does a device pay?".to_owned();
        let threads: Runner = (PROCESSOR.into(), "all threads".into());
        let one: Runner = (PROCESSOR.into(), "one thread".into());
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        if let Some(side) = self.common_side(&[&threads, &one]) {
            let rate = |runner| self.rate(runner, side, "grow").unwrap_or(0.0);
            clauses.push(format!(
                "At {side} by {side} cells this processor makes {} frames a second on one thread and {} on all.",
                frames_per_second(rate(&one)),
                frames_per_second(rate(&threads))
            ));
        }
        for device in self.devices() {
            let forms: Vec<&Runner> = self.runners.iter().filter(|(name, _)| name == device).collect();
            let best =
                |side: u64| forms.iter().filter_map(|form| self.rate(form, side, "grow")).fold(0.0, f64::max);
            let gain = |side: u64| best(side) / self.rate(&threads, side, "grow").unwrap_or(f64::INFINITY);
            let common = |side: &&u64| gain(**side) > 0.0;
            let (Some(least), Some(most)) =
                (self.sides.iter().find(common), self.sides.iter().rev().find(common))
            else {
                continue;
            };
            // From here on it wins at every size.
            let lost = self.sides.iter().rev().filter(common).find(|side| gain(**side) <= 1.0);
            let first = self.sides.iter().filter(common).find(|side| lost.is_none_or(|lost| *side > lost));
            let pays = match first {
                Some(first) => format!("pays from {first} cells a side on"),
                None => format!("does not pay up to {most} cells a side"),
            };
            clauses.push(format!(
                "{device} {pays}: {} frames a second at {least} ({:.2} times the processor's), {} at {most} ({:.2} times).",
                frames_per_second(best(*least)),
                gain(*least),
                frames_per_second(best(*most)),
                gain(*most)
            ));
            effects.push(Effect {
                name: format!("{device} against all threads, {most} cells a side"),
                value: Interval::exact(gain(*most)),
                unit: "times".into(),
            });
        }
        if self.devices().is_empty() {
            clauses.push("No graphics device was measured.".into());
        }
        clauses.push("Published: 0.5 to 60 frames a second at 128 to 2048 cells a side on phones.".into());
        Answer { question, sentence: clauses.join(" "), effects }
    }

    fn branches(&self) -> Answer {
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for device in self.devices() {
            let [branches, selects]: [Runner; 2] =
                ["branches", "selects"].map(|form| (device.to_owned(), form.to_owned()));
            let Some(side) = self.common_side(&[&branches, &selects]) else { continue };
            for (part, when) in [(1, "first"), (PARTS, "last")] {
                let (Some(a), Some(b)) =
                    (self.grown(&branches, side, part), self.grown(&selects, side, part))
                else {
                    continue;
                };
                let ratio = ratio_of_medians(&b.walls(), &a.walls());
                clauses.push(format!(
                    "{device}, {side} cells a side, {when} frames: {:.2} ({:.2} to {:.2})",
                    ratio.estimate, ratio.low, ratio.high
                ));
                let name = format!("selects' time against branches', {device}, {when} frames");
                effects.push(Effect { name, value: ratio, unit: "times".into() });
            }
        }
        let (low, high) = published_ratios();
        let measured = if clauses.is_empty() {
            "No graphics device was measured.".to_owned()
        } else {
            clauses.join("; ") + "."
        };
        Answer {
            question: "Do branches cost more than selects? (time of selects over time of branches)".into(),
            sentence: format!("{measured} Published: {low:.2} to {high:.2}, by the device."),
            effects,
        }
    }

    fn filling_up(&self) -> Answer {
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for runner in &self.runners {
            let Some(side) = self.common_side(&[runner]) else { continue };
            let (Some(first), Some(last)) = (self.grown(runner, side, 1), self.grown(runner, side, PARTS))
            else {
                continue;
            };
            let ratio = ratio_of_medians(&first.walls(), &last.walls());
            clauses.push(format!("{}, {}: {:.2}", runner.0, runner.1, ratio.estimate));
            let name = format!("last frames' rate against the first's, {}, {}", runner.0, runner.1);
            effects.push(Effect { name, value: ratio, unit: "times".into() });
        }
        let of = |variant: &str| {
            let rates = rows_of(PUBLISHED_BRANCHING);
            geometric_mean(
                rates
                    .into_iter()
                    .filter(|row| row[1] == variant)
                    .map(|row| number(&row[4]) / number(&row[3])),
            )
        };
        Answer {
            question:
                "Does the rate fall as the maze fills? (rate of the last frames over that of the first)"
                    .into(),
            sentence: format!(
                "At the largest size of each: {}. Published, mean of all devices: branches {:.2}, selects {:.2}.",
                clauses.join("; "),
                of("branch"),
                of("select")
            ),
            effects,
        }
    }
}

fn conformance(mazes: &[Finding]) -> Answer {
    let mazes: Vec<&Finding> = mazes.iter().filter(|maze| maze.device != ORACLE).collect();
    let perfect = mazes.iter().filter(|maze| maze.verdict == Verdict::Perfect).count();
    let wrong: Vec<String> = mazes
        .iter()
        .filter(|maze| maze.verdict != Verdict::Perfect)
        .map(|maze| {
            format!("{} ({}), {}, {}: {}", maze.device, maze.driver, maze.form, maze.size, maze.verdict)
        })
        .collect();
    let drivers: BTreeSet<String> =
        mazes.iter().map(|maze| format!("{} with {}", maze.device, maze.driver)).collect();
    let sentence = match (mazes.len(), wrong.len()) {
        (0, _) => "No graphics device was examined. Published: two of eight broke walls or stopped growing."
            .to_owned(),
        (count, 0) => format!(
            "All {count} mazes are the oracle's, cell by cell: {}. Published: two of eight broke walls or stopped growing.",
            drivers.into_iter().collect::<Vec<_>>().join("; ")
        ),
        (count, _) => format!("{perfect} of {count} mazes are the oracle's. Not: {}.", wrong.join("; ")),
    };
    Answer { question: "Does every driver grow a perfect maze?".into(), sentence, effects: Vec::new() }
}

/// What was published for the power of two below this size.
fn published_row(side: u64) -> Option<Vec<String>> {
    let range = |task: &str| {
        let of_size = rows_of(PUBLISHED_RATES)
            .into_iter()
            .filter(|row| row[2] == task && row[3] == (side - 1).to_string());
        let rates: Vec<f64> = of_size.map(|row| number(&row[4])).collect();
        let most = rates.iter().copied().reduce(f64::max)?;
        Some(format!("{:.1} to {most:.1}", rates.iter().copied().fold(most, f64::min)))
    };
    let unknown = || "-".to_owned();
    let first = ["published", "phones, at most 60", &(side - 1).to_string(), "-", "-"].map(str::to_owned);
    let solve = range("solve").unwrap_or_else(unknown);
    Some(first.into_iter().chain([range("generate")?, unknown(), solve]).collect())
}

/// The least and the greatest ratio of selects' time to branches' in the publication.
fn published_ratios() -> (f64, f64) {
    let rows = rows_of(PUBLISHED_BRANCHING);
    let rate = |like: &[String], column: usize| {
        rows.iter()
            .find(|row| row[0] == like[0] && row[2] == like[2] && row[1] == "select")
            .map(|select| number(&like[column]) / number(&select[column]))
    };
    let ratios = rows
        .iter()
        .filter(|row| row[1] == "branch")
        .flat_map(|row| [3, 4].into_iter().filter_map(|column| rate(row, column)));
    ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)))
}

/// The rows of published figures without the header.
fn rows_of(text: &str) -> Vec<Vec<String>> {
    csv::rows(text).into_iter().skip(1).collect()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

fn device(series: &Series) -> &str {
    match series.factor("device") {
        Some(Level::Name(name)) => name,
        _ => PROCESSOR,
    }
}

fn whole(series: &Series, factor: &str) -> Option<u64> {
    match series.factor(factor) {
        Some(Level::Whole(number)) => Some(*number),
        _ => None,
    }
}

fn frames_per_second(rate: f64) -> String {
    if rate < 100.0 { format!("{rate:.1}") } else { format!("{rate:.0}") }
}
