//! Licences, sources and duplicate versions of the dependencies, by cargo-deny and `deny.toml`.
//!
//! The fourth check, `advisories`, clones its database from GitHub, which not every machine can reach; see
//! CONTRIBUTING.md.

use crate::chore::{Program, is_installed};
use crate::place;
use anyhow::Result;
use std::path::PathBuf;

/// The release that `deny.toml` was written for.
const VERSION: &str = "0.20.2";

/// Checks the dependencies; builds cargo-deny first if it is not there.
///
/// # Errors
/// If cargo-deny cannot be had or finds a fault.
pub(crate) fn run() -> Result<()> {
    Program::new(tool()?)
        .folder(place::root())
        .args(["--workspace", "--all-features", "check", "bans", "licenses", "sources"])
        .run()
}

fn tool() -> Result<PathBuf> {
    if is_installed("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    let folder = place::target().join("tools");
    let tool = folder.join("bin/cargo-deny");
    if !tool.is_file() {
        Program::cargo()
            .folder(std::env::temp_dir())
            // Without optimisation: it runs for seconds, and would take minutes more to build.
            .args(["install", "--debug", "--locked", "--version", VERSION, "cargo-deny", "--root"])
            .arg(&folder)
            .run()?;
    }
    Ok(tool)
}
