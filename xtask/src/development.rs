//! The development build that the stages share: one profile and one set of features for each workspace, so that each dependency
//! is compiled once; dynamic, since devices need that; and linted while it is compiled: clippy's driver is the workspace's
//! compiler.
//!
//! The stages drive the command and the lab of this build too. That the released command, a static executable, passes the same
//! tests is for the stage `release`.

use anyhow::{Context, Result};
use cipherloom_peers::{Program, place};
use std::path::{Path, PathBuf};

/// The flags of this build. They replace those of `.cargo/config.toml`, which ask for a static executable.
const FLAGS: &str = "--cfg cipherloom_dynamic -D warnings";

/// The command with what released builds have.
pub(crate) const FEATURES: &str = "cipherloom-cli/stores";

/// The lab with devices.
const LAB_FEATURES: &str = "cipherloom-lab/gpu";

/// Names of variables that hold the paths of these programs, for stages that run beside one that compiles.
const COMMAND: &str = "CIPHERLOOM_XTASK_COMMAND";
const LAB: &str = "CIPHERLOOM_XTASK_LAB";

/// The environment in which cargo makes this build.
pub(crate) fn environment(cargo: Program) -> Program {
    // What makes a second build quicker makes the first one slower.
    let incremental = std::env::var_os("CARGO_INCREMENTAL").unwrap_or_else(|| "0".into());
    cargo
        .environment("CARGO_INCREMENTAL", incremental)
        .environment("CARGO_TARGET_DIR", place::target())
        .environment("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .environment("RUSTFLAGS", FLAGS)
}

/// `cargo test` over all packages of the product with these features (`package/feature,…`), to be told what to run.
///
/// Cargo unites the features of what it builds together, so another choice of packages builds some dependencies again.
pub(crate) fn test(features: &str) -> Program {
    test_workspace(&place::root(), features)
}

/// The same over the lab's workspace.
pub(crate) fn test_lab() -> Program {
    test_workspace(&place::lab(), LAB_FEATURES)
}

fn test_workspace(workspace: &Path, features: &str) -> Program {
    let cargo = Program::cargo().folder(workspace);
    environment(cargo.args(["test", "--locked", "--workspace", "--features", features]))
}

/// The command of this build; built if it is not there.
pub(crate) fn command() -> Result<PathBuf> {
    program(COMMAND, "cipherloom", || test(FEATURES))
}

/// The lab of this build, as [`command`].
pub(crate) fn lab() -> Result<PathBuf> {
    program(LAB, "cipherloom-lab", test_lab)
}

/// What tells another process of the chores where these programs are: asking cargo would wait for whatever else compiles.
pub(crate) fn programs() -> Result<[(&'static str, PathBuf); 2]> {
    Ok([(COMMAND, command()?), (LAB, lab()?)])
}

fn program(variable: &str, name: &str, tests: fn() -> Program) -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Ok(path.into());
    }
    // All targets, as the lints have compiled them.
    let messages =
        tests().args(["--all-targets", "--no-run", "--quiet", "--message-format", "json"]).output()?;
    let built = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == name && message["profile"]["test"] == false)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .with_context(|| format!("cargo named no executable called `{name}`"))?;
    // A copy: other stages build this program with other features, in the same place.
    copy(&built, &place::make_folder("stages")?.join(name))
}

/// By way of another name: an earlier copy may be running.
fn copy(from: &Path, to: &Path) -> Result<PathBuf> {
    let new = to.with_extension("new");
    std::fs::copy(from, &new).with_context(|| format!("cannot copy {}", from.display()))?;
    std::fs::rename(&new, to).with_context(|| format!("cannot rename {}", new.display()))?;
    Ok(to.to_owned())
}
