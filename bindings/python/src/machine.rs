//! This machine as the planner sees it, with the calibration that the user keeps (`cipherloom calibrate`).

use crate::hints::hint;
use cipherloom::machine::Machine;
use cipherloom::machine::{Calibration, calibration_file};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use std::ffi::CString;

/// Looks at this machine. A calibration that is damaged is warned of, and otherwise as good as none.
pub(crate) fn detect(py: Python<'_>) -> PyResult<Machine> {
    let kept = calibration_file().and_then(|path| std::fs::read(path).ok());
    let calibration = match kept.as_deref().map(Calibration::from_json) {
        None => Calibration::default(),
        Some(Ok(calibration)) => calibration,
        Some(Err(error)) => {
            let text = format!("{error}; hint: {}", hint(&error).unwrap_or_default());
            let text = CString::new(text)?;
            PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &text, 1)?;
            Calibration::default()
        }
    };
    Ok(Machine::detect(calibration))
}
