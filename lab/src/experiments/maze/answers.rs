//! What the publication left open, answered from the series.

use super::conformance;
use super::contestants::PROCESSOR;
use super::published::{
    PUBLISHED_BRANCHING, PUBLISHED_RATES, number, published_cells, published_forms, published_ratios,
    published_row, rows_of,
};
use super::stages::PARTS;
use crate::experiments::{Answered, Findings, geometric_mean};
use crate::measure::{Interval, bootstrap, median};
use crate::record::{Answer, Effect, Level, Series, Table};
use std::collections::BTreeSet;

pub(super) fn of(findings: &Findings) -> Answered {
    let view = View::of(findings);
    let verdicts = findings.tables.iter().find(|table| table.title == conformance::TITLE);
    let answers =
        [view.pays(), view.branches(), view.filling_up(), view.solving(), view.dots(), view.variants()];
    let answers = answers.into_iter().chain([verdicts.map(conformance::answer)]).flatten().collect();
    let tables = [view.rates(), published_cells(), published_forms()];
    Answered { answers, tables: tables.into_iter().chain(verdicts.cloned()).collect() }
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
                let of_filling = |part: u32| {
                    let series = self.part(runner, *side, "fill", &Level::from(u64::from(part)))?;
                    Some(1e9 / series.wall.median.estimate)
                };
                rows.push(vec![
                    runner.0.clone(),
                    runner.1.clone(),
                    side.to_string(),
                    number(of_part(1)),
                    number(of_part(PARTS)),
                    number(self.rate(runner, *side, "grow")),
                    number(of_filling(1)),
                    number(of_filling(PARTS)),
                    number(self.rate(runner, *side, "fill")),
                    number(self.rate(runner, *side, "dots")),
                ]);
            }
        }
        rows.retain(|row| row[3..].iter().any(|rate| rate != "-"));
        let title = format!(
            "Frames per second: the first and the last of {PARTS} parts and all of growing, the same of filling, and dots"
        );
        let columns =
            ["device", "how", "cells a side", "first", "last", "growing", "first", "last", "filling", "dots"];
        Table { title, columns: columns.map(str::to_owned).to_vec(), rows }
    }

    /// How many times the rate of `base` this runner has over a whole life; the parts were measured in contests of their own.
    fn gain(&self, runner: &Runner, base: &Runner, side: u64) -> Option<Interval> {
        let parts =
            |runner| (1..=PARTS).map(|part| self.grown(runner, side, part)).collect::<Option<Vec<_>>>();
        let (own, others) = (parts(runner)?, parts(base)?);
        let frames: Vec<f64> = own.iter().map(|part| whole(part, "frames").unwrap_or(0) as f64).collect();
        let walls: Vec<Vec<f64>> = others.iter().chain(&own).map(|part| part.walls()).collect();
        let walls: Vec<&[f64]> = walls.iter().map(Vec::as_slice).collect();
        let seconds = |times: &[Vec<f64>]| -> f64 {
            times.iter().zip(&frames).map(|(times, frames)| median(times) * frames).sum()
        };
        Some(bootstrap(&walls, |times| seconds(&times[..others.len()]) / seconds(&times[others.len()..])))
    }

    fn pays(&self) -> Option<Answer> {
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
            let forms = self.runners.iter().filter(|(name, _)| name == device);
            // The form that is faster at the largest size that both it and the processor have.
            let gains = |side: u64| {
                let all = forms.clone().filter_map(|form| Some((form, self.gain(form, &threads, side)?)));
                all.max_by(|left, right| left.1.estimate.total_cmp(&right.1.estimate))
            };
            let measured: Vec<(u64, &Runner, Interval)> = self
                .sides
                .iter()
                .filter_map(|&side| gains(side).map(|(form, gain)| (side, form, gain)))
                .collect();
            let (Some(least), Some(most)) = (measured.first(), measured.last()) else { continue };
            // From here on it wins at every size.
            let lost = measured.iter().rposition(|(_, _, gain)| gain.low <= 1.0);
            let first = measured.get(lost.map_or(0, |lost| lost + 1));
            let pays = match first {
                Some((first, ..)) => format!("pays from {first} cells a side on"),
                None => format!("does not pay up to {} cells a side", most.0),
            };
            let words = |(side, form, gain): &(u64, &Runner, Interval)| {
                let rate = self.rate(form, *side, "grow").unwrap_or(0.0);
                format!(
                    "{} frames a second at {side} ({} times the processor's)",
                    frames_per_second(rate),
                    gain.words(2)
                )
            };
            clauses.push(format!("{device} {pays}: {}, {}.", words(least), words(most)));
            let name = format!("{device} against all threads, {} cells a side", most.0);
            effects.push(Effect::new(name, most.2, "times"));
        }
        if self.devices().is_empty() {
            clauses.push("No graphics device was measured.".into());
        }
        clauses.push("Published: 0.5 to 60 frames a second at 128 to 2048 cells a side on phones.".into());
        let question = "How fast does a maze grow, and when does a device pay?";
        Some(Answer::measured(question, clauses.join(" "), effects).as_headline())
    }

    fn branches(&self) -> Option<Answer> {
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
                let ratio = b.times_as_long_as(a);
                clauses.push(format!("{device}, {side} cells a side, {when} frames: {}", ratio.words(2)));
                let name = format!("selects' time against branches', {device}, {when} frames");
                effects.push(Effect::new(name, ratio, "times"));
            }
        }
        let (low, high) = published_ratios();
        let sentence = format!("{}. Published: {low:.2} to {high:.2}, by the device.", clauses.join("; "));
        let question = "Do branches cost more than selects? (time of selects over time of branches)";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects).as_headline())
    }

    fn filling_up(&self) -> Option<Answer> {
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for runner in &self.runners {
            let Some(side) = self.common_side(&[runner]) else { continue };
            let (Some(first), Some(last)) = (self.grown(runner, side, 1), self.grown(runner, side, PARTS))
            else {
                continue;
            };
            // Two parts of a life are two contests.
            let ratio = first.times_as_long_as(last);
            clauses.push(format!("{}, {}, {side} cells a side: {}", runner.0, runner.1, ratio.words(2)));
            let name = format!("last frames' rate against the first's, {}, {}", runner.0, runner.1);
            effects.push(Effect::new(name, ratio, "times"));
        }
        let of = |variant: &str| {
            let rates = rows_of(PUBLISHED_BRANCHING).into_iter().filter(|row| row[1] == variant);
            geometric_mean(
                rates.map(|row| number(&row[4]) / number(&row[3])).filter(|ratio| ratio.is_finite()),
            )
        };
        let sentence = format!(
            "{}. Published, mean of all devices: branches {:.2}, selects {:.2}.",
            clauses.join("; "),
            of("branch"),
            of("select")
        );
        let question =
            "Does the rate fall as the maze fills? (rate of the last frames over that of the first)";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }

    /// The largest size at which a runner has grown a maze and solved it in this way.
    fn solved_side(&self, runner: &Runner, task: &str) -> Option<u64> {
        let has_both =
            |side: &&u64| ["grow", task].iter().all(|task| self.rate(runner, **side, task).is_some());
        self.sides.iter().rev().find(has_both).copied()
    }

    fn solving(&self) -> Option<Answer> {
        let mut clauses = Vec::new();
        for runner in &self.runners {
            for (task, words) in [("fill", "filling dead ends"), ("dots", "wandering dots")] {
                let Some(side) = self.solved_side(runner, task) else { continue };
                let (Some(grown), Some(solved)) =
                    (self.rate(runner, side, "grow"), self.rate(runner, side, task))
                else {
                    continue;
                };
                clauses.push(format!(
                    "{}, {}, {side} cells a side: {words} {:.2}",
                    runner.0,
                    runner.1,
                    solved / grown
                ));
            }
        }
        let rates = rows_of(PUBLISHED_RATES);
        let pairs = rates.iter().filter(|row| row[2] == "generate").filter_map(|row| {
            let solved =
                rates.iter().find(|other| other[2] == "solve" && other[0] == row[0] && other[3] == row[3])?;
            Some((number(&row[4]), number(&solved[4])))
        });
        // Screens show no more than 60: two cells at that limit tell nothing.
        let told: Vec<f64> = pairs
            .filter(|&(grown, solved)| grown < 60.0 || solved < 60.0)
            .map(|(grown, solved)| solved / grown)
            .collect();
        let faster = told.iter().filter(|ratio| **ratio > 1.0).count();
        let sentence = format!(
            "Frames a second of solving over those of growing: {}. Published: solving is faster in {faster} of the {} cells below the \
             screens' limit, {:.2} times on average.",
            clauses.join("; "),
            told.len(),
            geometric_mean(told.iter().copied())
        );
        let question = "Is solving faster than growing?";
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, Vec::new()))
    }

    /// What precision and the origin of random numbers do in the published form, where the browser takes part.
    fn variants(&self) -> Option<Answer> {
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for runner in self.runners.iter().filter(|(_, variant)| variant.starts_with("branches, ")) {
            let base: Runner = (runner.0.clone(), "branches".to_owned());
            let pair =
                |side: &u64| Some((*side, self.grown(runner, *side, 1)?, self.grown(&base, *side, 1)?));
            let Some((side, series, base)) = self.sides.iter().rev().find_map(pair) else { continue };
            let ratio = series.times_as_long_as(base);
            let what = runner.1.trim_start_matches("branches, ");
            clauses.push(format!("{}, {side} cells a side, {what}: {}", runner.0, ratio.words(2)));
            effects.push(Effect::new(
                format!("{what} instead of highp made there, {}", runner.0),
                ratio,
                "times as long",
            ));
        }
        let question = "What do precision and random numbers from the processor cost in the published form?";
        let sentence = format!(
            "Time of the first frames, in times of whole numbers in highp and random numbers made on the device: {}. The text has no index \
             that is not constant.",
            clauses.join("; ")
        );
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }

    /// Whether the number of dots matters, where several were measured.
    fn dots(&self) -> Option<Answer> {
        let mut clauses = Vec::new();
        let mut effects = Vec::new();
        for runner in &self.runners {
            let level = Level::from(runner.0.as_str());
            let mut counted: Vec<(u64, &Series)> = self
                .findings
                .series
                .iter()
                .filter(|series| series.variant == runner.1 && series.factor("device") == Some(&level))
                .filter_map(|series| Some((whole(series, "dots")?, series)))
                .collect();
            counted.sort_by_key(|(dots, _)| *dots);
            let Some((least, base)) = counted.first().copied() else { continue };
            for (dots, series) in &counted[1..] {
                let ratio = series.times_as_long_as(base);
                clauses.push(format!(
                    "{}, {}: {dots} instead of {least} {}",
                    runner.0,
                    runner.1,
                    ratio.words(2)
                ));
                let name = format!("{dots} dots instead of {least}, {}, {}", runner.0, runner.1);
                effects.push(Effect::new(name, ratio, "times as long"));
            }
        }
        let question = "Does speed depend on the number of dots (published: no)?";
        let sentence = format!("Time of a frame, in times of the fewest dots': {}.", clauses.join("; "));
        (!clauses.is_empty()).then(|| Answer::measured(question, sentence, effects))
    }
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
