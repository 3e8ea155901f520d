//! The stages for object stores: the command against a real S3 gateway (versitygw) and Azure's emulator (Azurite), both on
//! loopback, and against the troubles that a proxy of the tests' own makes; on request, command and Python package against an
//! emulator of Google Cloud Storage (fake-gcs-server).

use crate::chore::Program;
use crate::{debian, interop, place, python};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Pinned: what an emulator accepts is part of what the tests say.
pub(crate) const VERSITYGW: &str = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const AZURITE: &str = "azurite@3.37.0";
const FAKE_GCS: &str = "github.com/fsouza/fake-gcs-server@v1.52.2";

/// Runs `interop/test_stores_*.py`, but for Google Cloud Storage.
///
/// # Errors
/// If a server cannot be had, or a test fails.
pub(crate) fn run() -> Result<()> {
    // A destination that folds case.
    debian::ensure(&[("mkfs.exfat", "exfatprogs"), ("mount.exfat-fuse", "exfat-fuse")])?;
    tests(&["s3", "single", "stop", "faults", "trust", "safety", "azure"])?
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .environment("CIPHERLOOM_AZURITE", azurite()?)
        .run()
}

/// Runs `interop/test_stores_gcs.py`, then the Python package's tests of that store. On request: the emulator takes a minute and a
/// half of processor time to build.
///
/// # Errors
/// If the emulator or the package cannot be built, or a test fails.
pub(crate) fn gcs() -> Result<()> {
    let server = installed(FAKE_GCS, "fake-gcs-server")?;
    tests(&["gcs"])?.environment("CIPHERLOOM_FAKE_GCS", &server).run()?;
    python::gcs(&server)
}

/// These parts of the tests, over the released command.
fn tests(parts: &[&str]) -> Result<Program> {
    Ok(Program::new(interop::python()?)
        .folder(place::root().join("interop"))
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
        .args(parts.iter().map(|part| format!("test_stores_{part}.py")))
        .environment("CIPHERLOOM", place::release_build()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1"))
}

/// The S3 gateway, built from the Go proxy's source of this version.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn versitygw() -> Result<PathBuf> {
    installed(VERSITYGW, "versitygw")
}

/// A Go program of this module and version.
fn installed(module: &str, name: &str) -> Result<PathBuf> {
    let version = module.rsplit('@').next().unwrap_or_default();
    let folder = place::target().join("tools").join(format!("{name}-{version}"));
    let program = folder.join(name);
    if !program.exists() {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Program::new("go").args(["install", module]).environment("GOBIN", &folder).run()?;
    }
    Ok(program)
}

/// Azure's emulator for blobs, from npm.
///
/// # Errors
/// If it cannot be installed.
pub(crate) fn azurite() -> Result<PathBuf> {
    debian::ensure(&[("npm", "npm")])?;
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
