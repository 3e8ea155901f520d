//! The stage for object stores: the command against a real S3 gateway (versitygw) and Azure's emulator (Azurite), both on
//! loopback, and against the troubles that a proxy of the tests' own makes.

use crate::chore::Program;
use crate::{debian, interop, place};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Pinned: what an emulator accepts is part of what the tests say.
pub(crate) const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const AZURITE: &str = "azurite@3.37.0";

/// Runs `interop/test_stores_*.py`.
///
/// # Errors
/// If a server cannot be had, or a test fails.
pub(crate) fn run() -> Result<()> {
    debian::ensure(&[("npm", "npm")])?;
    let tests = ["s3", "single", "stop", "faults", "azure"].map(|part| format!("test_stores_{part}.py"));
    Program::new(interop::python()?)
        .folder(place::root().join("interop"))
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
        .args(tests)
        .environment("CIPHERLOOM", place::release_build()?)
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .environment("CIPHERLOOM_AZURITE", azurite()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

/// The S3 gateway, built from the Go proxy's source of this version.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn versitygw() -> Result<PathBuf> {
    let version = VERSITYGW.rsplit('@').next().unwrap_or_default();
    let folder = place::target().join("tools").join(format!("versitygw-{version}"));
    let program = folder.join("versitygw");
    if !program.exists() {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Program::new("go").args(["install", VERSITYGW]).environment("GOBIN", &folder).run()?;
    }
    Ok(program)
}

/// Azure's emulator for blobs, from npm.
fn azurite() -> Result<PathBuf> {
    let version = AZURITE.rsplit('@').next().unwrap_or_default();
    let folder = place::target().join("tools").join(format!("azurite-{version}"));
    let program = folder.join("node_modules/.bin/azurite-blob");
    if !program.exists() {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let install = ["install", "--silent", "--no-audit", "--no-fund", "--prefix", "."];
        Program::new("npm").folder(&folder).args(install).arg(AZURITE).run()?;
    }
    Ok(program)
}
