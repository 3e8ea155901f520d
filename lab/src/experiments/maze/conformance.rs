//! Whether devices grow a perfect maze: a whole life from plot to end on the device alone, and a verdict on it.

use super::proof::Verdict;
use super::stages::{Story, bytes};
use crate::record::{Answer, Table};
use aws_lc_rs::digest::{SHA256, digest};
use std::collections::BTreeSet;

/// The name under which the oracle stands among devices.
pub(super) const ORACLE: &str = "the oracle";

/// The title of the table of findings, which answers are made of.
pub(super) const TITLE: &str = "Does it grow the oracle's maze? SHA-256 of all cells begins with the digest";

/// What became of one maze on one device.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) device: String,
    pub(super) driver: String,
    pub(super) form: String,
    pub(super) size: u32,
    pub(super) frames: u32,
    /// For all of them, once.
    pub(super) seconds: f64,
    pub(super) digest: String,
    pub(super) verdict: Verdict,
}

impl Finding {
    /// For a cell in a frame.
    pub(super) fn nanoseconds(&self) -> f64 {
        self.seconds * 1e9 / (f64::from(self.frames) * f64::from(self.size).powi(2))
    }
}

/// The oracle's own maze, whose proof has been made.
pub(super) fn oracle(story: &Story) -> Finding {
    Finding {
        device: ORACLE.to_owned(),
        driver: String::new(),
        form: String::new(),
        size: story.setting.width,
        frames: story.frames,
        seconds: story.seconds,
        digest: sha256(&bytes(&story.grown)),
        verdict: Verdict::Perfect,
    }
}

/// The table of findings.
pub(super) fn table(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        vec![
            finding.device.clone(),
            finding.driver.clone(),
            finding.form.clone(),
            finding.size.to_string(),
            finding.frames.to_string(),
            format!("{:.2}", finding.seconds),
            finding.digest[..16].to_owned(),
            finding.verdict.to_string(),
        ]
    };
    Table {
        title: TITLE.to_owned(),
        columns: ["device", "driver", "form", "cells a side", "frames", "seconds, once", "digest", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: findings.iter().map(row).collect(),
    }
}

/// What the drivers did, from the table of verdicts, whose columns are device, driver, form, size, …, verdict.
pub(super) fn answer(table: &Table) -> Answer {
    let field = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let verdict = |row: &[String]| row.last().cloned().unwrap_or_default();
    let perfect = Verdict::Perfect.to_string();
    let mazes: Vec<&Vec<String>> = table.rows.iter().filter(|row| field(row, 0) != ORACLE).collect();
    let right = mazes.iter().filter(|row| verdict(row) == perfect).count();
    let wrong: Vec<String> = mazes
        .iter()
        .filter(|row| verdict(row) != perfect)
        .map(|row| {
            format!(
                "{} ({}), {}, {}: {}",
                field(row, 0),
                field(row, 1),
                field(row, 2),
                field(row, 3),
                verdict(row)
            )
        })
        .collect();
    let drivers: BTreeSet<String> =
        mazes.iter().map(|row| format!("{} with {}", field(row, 0), field(row, 1))).collect();
    let largest = |is: &dyn Fn(&Vec<String>) -> bool| {
        table
            .rows
            .iter()
            .filter(|row| is(row))
            .filter_map(|row| field(row, 3).parse::<u64>().ok())
            .max()
            .unwrap_or(0)
    };
    let proven = format!(
        "The processor's mazes are proven perfect up to {} cells a side.",
        largest(&|row| field(row, 0) == ORACLE)
    );
    let published = "Published: two of eight broke walls or stopped growing.";
    let sentence = match (mazes.len(), wrong.len()) {
        (0, _) => format!("{proven} No graphics device was examined. {published}"),
        (count, 0) => format!(
            "{proven} All {count} mazes of devices are the same, cell by cell, up to {}: {}. {published}",
            largest(&|row| field(row, 0) != ORACLE),
            drivers.into_iter().collect::<Vec<_>>().join("; ")
        ),
        (count, _) => {
            format!("{proven} {right} of {count} mazes of devices are the same. Not: {}.", wrong.join("; "))
        }
    };
    Answer::measured("Does every driver grow a perfect maze?", sentence, Vec::new()).as_headline()
}

/// SHA-256 of cells as bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
