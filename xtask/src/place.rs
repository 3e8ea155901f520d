//! Where things are: the repository's root, the build folder, the release builds.

use crate::chore::Program;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

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

/// The lab, a workspace of its own.
pub(crate) fn lab() -> PathBuf {
    root().join("lab")
}

/// A program that the chores use in its release build.
struct Built {
    /// Gives the folder of its workspace.
    workspace: fn() -> PathBuf,
    package: &'static str,
    program: &'static str,
    features: &'static str,
    /// Names the executable to a stage that runs while cargo is busy with something else.
    variable: &'static str,
}

/// The command as it is released: with object stores.
const COMMAND: Built = Built {
    workspace: root,
    package: "cipherloom-cli",
    program: "cipherloom",
    features: "stores",
    variable: "CIPHERLOOM_XTASK_COMMAND",
};

const LAB: Built = Built {
    workspace: lab,
    package: "cipherloom-lab",
    program: "cipherloom-lab",
    features: "",
    variable: "CIPHERLOOM_XTASK_LAB",
};

/// Builds the command as it is released and gives its path. The chores use this one build.
///
/// # Errors
/// If the build fails, or cargo names no executable.
pub(crate) fn release_build() -> Result<PathBuf> {
    built(&COMMAND)
}

/// Builds the lab for release and gives its path.
///
/// # Errors
/// As [`release_build`].
pub(crate) fn lab_build() -> Result<PathBuf> {
    built(&LAB)
}

/// What tells another process of the chores where these builds are.
///
/// # Errors
/// As [`release_build`].
pub(crate) fn builds() -> Result<[(&'static str, PathBuf); 2]> {
    Ok([(COMMAND.variable, release_build()?), (LAB.variable, lab_build()?)])
}

fn built(wanted: &Built) -> Result<PathBuf> {
    static KNOWN: Mutex<Vec<(&str, PathBuf)>> = Mutex::new(Vec::new());
    if let Some(path) = std::env::var_os(wanted.variable) {
        return Ok(path.into());
    }
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, path)) = known.iter().find(|(package, _)| *package == wanted.package) {
        return Ok(path.clone());
    }
    let build =
        ["build", "--release", "--locked", "--package", wanted.package, "--features", wanted.features];
    let build =
        Program::cargo().folder((wanted.workspace)()).args(build).environment("CARGO_TARGET_DIR", target());
    build.run()?;
    // Cargo alone knows the folder (it depends on the target); asked again, it answers from its cache.
    let messages = build.args(["--quiet", "--message-format", "json"]).output()?;
    let path = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == wanted.program)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo named no executable called `{}`", wanted.program))?;
    known.push((wanted.package, path.clone()));
    Ok(path)
}
