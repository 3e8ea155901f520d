//! Answers: an open question, a sentence that a person understands, and the effects with intervals on which it rests.

use crate::measure::Interval;
use serde::{Deserialize, Serialize};

/// An open question, answered from this record's series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What was left open.
    pub question: String,
    /// The answer, with its number, in plain words.
    pub sentence: String,
    /// What it rests on.
    #[serde(default)]
    pub basis: Basis,
    /// Whether BENCHMARKS.md quotes it.
    #[serde(default)]
    pub is_headline: bool,
    /// The numbers behind it.
    pub effects: Vec<Effect>,
}

/// What an answer rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Every clause is a figure of the record, with its interval.
    #[default]
    Measured,
    /// An explanation that the figures suggest and do not prove.
    Guess,
}

impl Basis {
    /// As a reader sees it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Basis::Measured => "measured",
            Basis::Guess => "guess",
        }
    }
}

impl Answer {
    /// A measured answer.
    #[must_use]
    pub fn measured(question: &str, sentence: String, effects: Vec<Effect>) -> Answer {
        let (question, basis) = (question.to_owned(), Basis::Measured);
        Answer { question, sentence, basis, is_headline: false, effects }
    }

    /// A guess at the reason for what is measured.
    #[must_use]
    pub fn guess(question: &str, sentence: String, effects: Vec<Effect>) -> Answer {
        Answer { basis: Basis::Guess, ..Answer::measured(question, sentence, effects) }
    }

    /// The same, quoted in BENCHMARKS.md.
    #[must_use]
    pub fn as_headline(self) -> Answer {
        Answer { is_headline: true, ..self }
    }
}

/// One number of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// What was changed, or what was measured.
    pub name: String,
    /// How large it is, with its interval.
    pub value: Interval,
    /// `times`, `GB/s`, `ns`, `words`, …
    pub unit: String,
    /// The probability that it is chance, where several factors are tested: corrected for their number (Holm).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
}

impl Effect {
    /// An effect that is no test among several.
    #[must_use]
    pub fn new(name: impl Into<String>, value: Interval, unit: &str) -> Effect {
        Effect { name: name.into(), value, unit: unit.to_owned(), probability: None }
    }
}

/// A picture that belongs to the answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// A short name, unique in the record.
    pub name: String,
    /// What it shows.
    pub caption: String,
    /// The PNG file, in base64.
    pub png_base64: String,
}

/// Figures side by side, as a person reads them; printed after a run, and shown in the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows, with units.
    pub title: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows of as many fields.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Aligned with spaces: the first column to the left, the others to the right.
    #[must_use]
    pub fn text(&self) -> String {
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let width = |column: usize| {
            lines().filter_map(|line| line.get(column)).map(|field| field.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for line in lines() {
            for (column, (field, width)) in line.iter().zip(&widths).enumerate() {
                let padding = " ".repeat(width - field.chars().count());
                text +=
                    &if column == 0 { format!("  {field}{padding}") } else { format!("  {padding}{field}") };
            }
            text = text.trim_end().to_owned() + "\n";
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned() {
        let table = Table {
            title: "Speed".to_owned(),
            columns: vec!["size".to_owned(), "GB/s".to_owned()],
            rows: vec![
                vec!["16 B".to_owned(), "1.5".to_owned()],
                vec!["1 KB".to_owned(), "10.25".to_owned()],
            ],
        };
        assert_eq!(table.text(), "Speed\n  size   GB/s\n  16 B    1.5\n  1 KB  10.25\n");
    }
}
