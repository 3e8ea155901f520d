//! Where a user's calibration is kept: the user's cache folder, by the system's convention.

use std::env;
use std::path::PathBuf;

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
