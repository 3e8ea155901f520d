//! Fixed costs of a machine: the numbers from which the planner tells when a second thread, a split or more lanes
//! pay.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::env;
use std::path::PathBuf;

/// Version of the stored form; another one is ignored and measured anew.
const VERSION: u32 = 1;

/// What things cost on a machine. Times in nanoseconds, rates in bytes per second of one core.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    pub(super) version: u32,
    /// True if measured here; false for the built-in figures.
    pub measured: bool,
    /// What one more thread costs a run of small files: starting it, getting it onto a CPU of its own, and what the two
    /// then wait for each other in the kernel.
    pub thread_ns: f64,
    /// Reading a small file and writing another, opening and closing included.
    pub entry_ns: f64,
    /// Moving file content from the page cache and back (read and write together).
    pub copy_bytes_per_second: f64,
    /// AES-GCM over one segment.
    pub gcm_bytes_per_second: f64,
    /// AES-128-CTR with the chosen backend.
    pub ctr_bytes_per_second: f64,
    /// AES-128-CBC encryption of one stream.
    pub cbc_bytes_per_second: f64,
    /// AES-128-CBC encryption with all lanes of the chosen backend filled.
    pub lanes_bytes_per_second: f64,
}

impl Default for Calibration {
    /// Figures of a two-core x86-64 server of 2023 with AES instructions: right in order of magnitude elsewhere.
    fn default() -> Self {
        Calibration {
            version: VERSION,
            measured: false,
            thread_ns: 1_000_000.0,
            entry_ns: 15_000.0,
            copy_bytes_per_second: 3.0e9,
            gcm_bytes_per_second: 4.0e9,
            ctr_bytes_per_second: 5.0e9,
            cbc_bytes_per_second: 1.2e9,
            lanes_bytes_per_second: 4.5e9,
        }
    }
}

impl Calibration {
    /// Reads the stored form.
    ///
    /// # Errors
    /// If it is not JSON of this version with positive, finite figures; the remedy is to calibrate again.
    pub fn from_json(json: &[u8]) -> Result<Calibration, Error> {
        let calibration: Calibration =
            serde_json::from_slice(json).map_err(|error| Error::Calibration(error.to_string()))?;
        if calibration.version != VERSION {
            return Err(Error::Calibration(format!("version {}", calibration.version)));
        }
        let sane = calibration.figures().iter().all(|(_, figure)| figure.is_finite() && *figure > 0.0);
        if !sane {
            return Err(Error::Calibration("a figure is not positive".to_owned()));
        }
        Ok(calibration)
    }

    /// The stored form.
    ///
    /// # Panics
    /// Never: plain numbers always serialise.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain numbers serialise")
    }

    /// Every figure with its name, for tables.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, f64); 7] {
        [
            ("one more thread, ns", self.thread_ns),
            ("small file there and back, ns", self.entry_ns),
            ("copy, bytes/s", self.copy_bytes_per_second),
            ("AES-256-GCM, bytes/s", self.gcm_bytes_per_second),
            ("AES-128-CTR, bytes/s", self.ctr_bytes_per_second),
            ("AES-128-CBC one stream, bytes/s", self.cbc_bytes_per_second),
            ("AES-128-CBC all lanes, bytes/s", self.lanes_bytes_per_second),
        ]
    }
}

/// Path of the calibration file; `None` where the environment names no home.
#[must_use]
pub fn calibration_file() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|home| home.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
    };
    Some(folder?.join("cipherloom").join("calibration.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_storage() {
        let calibration = Calibration::default();
        assert_eq!(Calibration::from_json(calibration.to_json().as_bytes()).unwrap(), calibration);
    }

    #[test]
    fn damaged_or_foreign_is_refused() {
        let good = Calibration::default().to_json();
        for bad in [
            "{}".to_owned(),
            good.replace("\"version\": 1", "\"version\": 2"),
            good.replace("15000.0", "-1.0"),
            good[..good.len() / 2].to_owned(),
        ] {
            assert!(Calibration::from_json(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
