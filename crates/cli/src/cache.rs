//! The calibration that the user keeps, read for a plan.

use crate::output;
use cipherloom::machine::{Calibration, calibration_file};

/// The calibration of this machine, or the built-in one. A damaged file is told once and otherwise as good as none.
pub fn calibration() -> Calibration {
    let Some(json) = calibration_file().and_then(|path| std::fs::read(path).ok()) else {
        return Calibration::default();
    };
    Calibration::from_json(&json).unwrap_or_else(|error| {
        output::warn(error);
        Calibration::default()
    })
}
