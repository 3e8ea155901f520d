//! `cipherloom-lab list`: what there is to run.

use crate::experiments::ALL;

/// The experiments with their questions, a line each.
#[must_use]
pub fn text() -> String {
    ALL.iter().map(|experiment| format!("{:<18} {}\n", experiment.name, experiment.question)).collect()
}
