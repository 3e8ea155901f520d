//! Whether devices grow a perfect maze: a whole life from plot to end on the device alone, and a verdict on it.

use super::proof::Verdict;
use super::stages::{Story, bytes};
use crate::record::Table;
use aws_lc_rs::digest::{SHA256, digest};

/// The name under which the oracle stands among devices.
pub(super) const ORACLE: &str = "the oracle";

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
        title: "Does it grow the oracle's maze? SHA-256 of all cells begins with the digest".to_owned(),
        columns: ["device", "driver", "form", "cells a side", "frames", "seconds, once", "digest", "verdict"]
            .map(str::to_owned)
            .to_vec(),
        rows: findings.iter().map(row).collect(),
    }
}

/// SHA-256 of cells as bytes, in hexadecimal.
pub(super) fn sha256(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
