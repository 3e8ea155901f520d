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
    /// The numbers behind it.
    pub effects: Vec<Effect>,
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
