//! Where things are: the repository's root, the build folder, the built command.

use crate::chore::Program;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The repository's root: the folder above this crate.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's build folder, in which the chores keep what they install.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// Builds the command as it is released (with object stores) and gives its path. The chores use this one build.
///
/// # Errors
/// If the build fails, or cargo names no executable.
pub(crate) fn release_build() -> Result<PathBuf> {
    let build = Program::cargo().folder(root()).args([
        "build",
        "--release",
        "--package",
        "cipherloom-cli",
        "--features",
        "stores",
    ]);
    build.run()?;
    // Cargo alone knows the folder (it depends on the target); asked again, it answers from its cache.
    let messages = build.args(["--quiet", "--message-format", "json"]).output()?;
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "cipherloom")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .context("cargo built the command but named no executable called `cipherloom`")
}
