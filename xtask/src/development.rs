//! The development build that the stages share: dynamic, since devices need that and a second set of everything takes
//! minutes, and linted while it is compiled, by the way that `cargo clippy` itself uses.
//!
//! That the static executable works is for the stages that drive the release build.

use crate::chore::Program;
use crate::place;

/// What `cargo clippy … -- -D warnings` hands to its driver.
pub(crate) const DENY_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// `cargo test` over these packages (none: the whole workspace) with these features of theirs (`package/feature,…`), to be
/// told what to run.
///
/// Cargo unites the features of what it builds together, so each other choice builds some dependencies again.
pub(crate) fn test(packages: &[&str], features: &str) -> Program {
    let chosen = match packages {
        [] => vec!["--workspace"],
        some => some.iter().flat_map(|package| ["--package", package]).collect(),
    };
    Program::cargo()
        .folder(place::root())
        .args(["--config", ".cargo/dynamic.toml", "test", "--locked"])
        .args(chosen)
        .args(["--features", features])
        .environment("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .environment("CLIPPY_ARGS", DENY_WARNINGS)
}
