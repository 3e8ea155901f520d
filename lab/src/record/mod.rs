//! The record of one run of one experiment: what was measured, on what, how it was checked, and what it answers.
//!
//! ```text
//! Record ─┬ machine, build, load      what it ran on, and how quiet that was
//!         ├ parameters                what was chosen: sizes, rounds
//!         ├ series ─┬ variant, factors, work     what was timed
//!         │         ├ samples                    wall and processor nanoseconds of every turn
//!         │         ├ check                      the evidence that the result is right
//!         │         └ summary                    median, interval, tail
//!         ├ excluded, notes           what was not measured, and why
//!         ├ answers                   the open questions, in words, with effects and intervals
//!         └ published                 where the figures come from that stand beside it
//! ```
//!
//! Answers and tables are a function of the rest: [`crate::experiments::answer_again`] makes them anew, so that no sentence
//! outlives its figures.
//!
//! Written as JSON ([`Record::write`], [`Record::read`]) and exported as CSV ([`csv`]). A change of fields that older
//! readers would misread raises [`SCHEMA`].

mod answer;
pub mod csv;
mod evidence;
mod file;
mod series;

pub use answer::{Answer, Basis, Effect, Picture, Table};
pub use evidence::{Evidence, Oracle, WrongResult};
pub use file::{RecordError, file_name_of};
pub use series::{Clock, Factors, Host, Level, Sample, Series, Work};

use crate::measure::{Build, Load, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the record's form.
pub const SCHEMA: u32 = 1;

/// How much of an experiment is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Seconds: few sizes, few rounds; a hint.
    Quick,
    /// Minutes: every size, enough rounds for the tail.
    Full,
}

/// One run of one experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`] when it was written.
    pub schema: u32,
    /// The experiment's name, as `cipherloom-lab list` shows it.
    pub experiment: String,
    /// What the experiment asks, in a sentence.
    pub question: String,
    /// How much of it was run.
    pub extent: Extent,
    /// The seed of every order and every random input.
    pub seed: u64,
    /// When it began (UTC, RFC 3339).
    pub started: String,
    /// Wall time of the whole run, in seconds.
    pub seconds: f64,
    /// The hardware and system.
    pub machine: Machine,
    /// The program: compiler, commit, versions.
    pub build: Build,
    /// What else the machine did meanwhile.
    pub load: Load,
    /// What was chosen, in words or numbers.
    pub parameters: BTreeMap<String, Level>,
    /// Everything that was timed.
    pub series: Vec<Series>,
    /// What was to be timed and was not.
    pub excluded: Vec<Excluded>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The open questions, answered.
    pub answers: Vec<Answer>,
    /// Figures side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<Table>,
    /// Pictures that belong to the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<Picture>,
    /// The published figures that belong beside these.
    pub published: Option<PublishedOrigin>,
}

impl Record {
    /// Why its numbers are hints and no results, in sentences; nothing for a record that may be cited.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.build.is_debug {
            warnings.push("It was made by a debug build: its times are worth nothing.".to_owned());
        }
        if self.build.uncommitted_changes {
            warnings.push(format!("The program had changes that are not in commit {}.", self.build.commit));
        }
        warnings.extend(self.load.warning());
        warnings
    }
}

/// A variant that was not measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Excluded {
    /// The variant's name.
    pub variant: String,
    /// Its factors.
    pub factors: Factors,
    /// Whether its result was wrong; otherwise it could not be run.
    pub was_wrong: bool,
    /// Why, in words.
    pub reason: String,
}

/// Where published figures come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedOrigin {
    /// The file under `lab/published/`.
    pub file: String,
    /// The publication, as far as it is known.
    pub origin: String,
}
