//! Licenses, sources and duplicate versions of the dependencies, by cargo-deny and `deny.toml`.
//!
//! The fourth check, `advisories`, clones its database from GitHub, which not every machine can reach; see
//! CONTRIBUTING.md.

use crate::tools;
use anyhow::Result;
use cipherloom_peers::{Program, place};

/// The release that `deny.toml` was written for.
const VERSION: &str = "0.20.2";

/// Checks the dependencies; builds cargo-deny first if it is not there.
pub(crate) fn run() -> Result<()> {
    Program::new(tools::cargo("cargo-deny", VERSION, &[])?)
        .folder(place::root())
        .args(["--workspace", "--all-features", "check", "bans", "licenses", "sources"])
        .run()
}
