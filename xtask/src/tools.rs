//! Programs that chores build from crates.io and Go's proxy, by pinned versions, in `target/tools/`.

use anyhow::Result;
use cipherloom_peers::{Program, place};
use std::path::PathBuf;

/// Where they are installed.
pub(crate) fn folder() -> PathBuf {
    place::target().join("tools")
}

/// Builds a program of crates.io unless this version of it is there, and gives its path.
pub(crate) fn cargo(name: &str, version: &str, more: &[&str]) -> Result<PathBuf> {
    Program::cargo()
        .folder(std::env::temp_dir())
        // Without optimisation: they run for seconds, and would take minutes more to build. Cargo knows what is installed.
        .args(["install", "--quiet", "--debug", "--locked", "--version", version, name, "--root"])
        .arg(folder())
        .args(more)
        // What they share is compiled once.
        .environment("CARGO_TARGET_DIR", folder().join("build"))
        .fetch()?;
    Ok(folder().join("bin").join(name))
}

/// Builds a Go program unless this version of it is there, and gives its path.
pub(crate) fn go(name: &str, module: &str, version: &str) -> Result<PathBuf> {
    let folder = folder().join(format!("go-{version}"));
    let tool = folder.join(name);
    if !tool.is_file() {
        let install = Program::new("go").args(["install", &format!("{module}@{version}")]);
        install.environment("GOBIN", &folder).fetch()?;
    }
    Ok(tool)
}
