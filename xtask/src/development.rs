//! The development build that the stages share: dynamic, since devices need that and a second set of everything takes
//! minutes, and linted while it is compiled: clippy's driver is the workspace's compiler.
//!
//! That the static executable works is for the stages that drive the release build.

use crate::chore::Program;
use crate::place;
use std::path::Path;

/// The flags of this build. They replace those of `.cargo/config.toml`, which ask for a static executable.
const FLAGS: &str = "--cfg cipherloom_dynamic -D warnings";

/// The environment in which cargo makes this build.
pub(crate) fn environment(cargo: Program) -> Program {
    cargo
        .environment("CARGO_TARGET_DIR", place::target())
        .environment("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .environment("RUSTFLAGS", FLAGS)
}

/// `cargo test` in the workspace at this folder over these packages (none: all of them) with these features of theirs
/// (`package/feature,…`), to be told what to run.
///
/// Cargo unites the features of what it builds together, so each other choice builds some dependencies again.
pub(crate) fn test(workspace: &Path, packages: &[&str], features: &str) -> Program {
    let chosen = match packages {
        [] => vec!["--workspace"],
        some => some.iter().flat_map(|package| ["--package", package]).collect(),
    };
    let cargo = Program::cargo()
        .folder(workspace)
        .args(["test", "--locked"])
        .args(chosen)
        .args(["--features", features]);
    environment(cargo)
}
