//! Where things are: the repository's root, the build folder, the release builds.

use crate::Program;
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The repository's root: the folder above this crate.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo's build folder, in which the chores keep what they install.
#[must_use]
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// A folder of the build folder, made if it is not there.
///
/// # Errors
/// If it cannot be made.
pub fn make_folder(name: &str) -> Result<PathBuf> {
    let folder = target().join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The value of PATH with a folder in front, so that its programs are found first.
///
/// # Errors
/// If the folder's name cannot stand in PATH.
pub fn first_on_path(folder: &Path) -> Result<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).context("the folder cannot stand in PATH")
}

/// Waits until no other stage has the lock of this name in the build folder. Until the file is closed, others wait.
///
/// # Errors
/// If it cannot be made or locked.
pub fn lock(name: &str) -> Result<File> {
    let path = target().join(name);
    let lock = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(lock)
}

/// The lab, a workspace of its own.
#[must_use]
pub fn lab() -> PathBuf {
    root().join("lab")
}

/// A program that the chores use in its release build.
struct Built {
    /// The folder of its workspace.
    workspace: &'static str,
    package: &'static str,
    program: &'static str,
    features: &'static str,
}

/// The command as it is released: with object stores.
const COMMAND: Built =
    Built { workspace: "", package: "cipherloom-cli", program: "cipherloom", features: "stores" };

const LAB: Built =
    Built { workspace: "lab", package: "cipherloom-lab", program: "cipherloom-lab", features: "" };

const BENCH: Built =
    Built { workspace: "lab", package: "cipherloom-bench", program: "cipherloom-bench", features: "" };

/// Builds the command as it is released and gives its path. The chores use this one build.
///
/// # Errors
/// If the build fails, or cargo names no executable.
pub fn release_build() -> Result<PathBuf> {
    built(&COMMAND)
}

/// Builds the lab for release and gives its path.
///
/// # Errors
/// As [`release_build`].
pub fn lab_build() -> Result<PathBuf> {
    built(&LAB)
}

/// Builds the bench for release and gives its path.
///
/// # Errors
/// As [`release_build`].
pub fn bench_build() -> Result<PathBuf> {
    built(&BENCH)
}

fn built(wanted: &Built) -> Result<PathBuf> {
    static KNOWN: Mutex<Vec<(&str, PathBuf)>> = Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, path)) = known.iter().find(|(package, _)| *package == wanted.package) {
        return Ok(path.clone());
    }
    let build =
        ["build", "--release", "--locked", "--package", wanted.package, "--features", wanted.features];
    let build = Program::cargo()
        .folder(root().join(wanted.workspace))
        .args(build)
        .environment("CARGO_TARGET_DIR", target());
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
