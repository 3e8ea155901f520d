//! Where the calibration is kept: the user's cache folder, by the system's convention.

use crate::output;
use cipherloom::machine::Calibration;
use std::env;
use std::path::PathBuf;

/// Path of the calibration file; `None` where the environment names no home.
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
