//! The stages for object stores: the command against a real S3 gateway (versitygw) and Azure's emulator (Azurite), both on
//! loopback, and against the troubles that a proxy of the tests' own makes; on request, command and Python package against an
//! emulator of Google Cloud Storage (fake-gcs-server).

use crate::{development, interop, python};
use anyhow::Result;
use cipherloom_peers::{Program, age, azurite, debian, fake_gcs, place, versitygw};
use std::path::Path;

/// Runs `interop/test_stores_*.py` with this command, but for Google Cloud Storage.
pub(crate) fn run(command: &Path) -> Result<()> {
    // A destination that folds case.
    debian::ensure(&[("mkfs.exfat", "exfatprogs"), ("mount.exfat-fuse", "exfat-fuse")])?;
    tests(command, "s3 age single stop faults trust safety index index_refusals rekey sync azure")?
        .environment("PATH", place::first_on_path(&age()?)?)
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .environment("CIPHERLOOM_AZURITE", azurite()?)
        .run()
}

/// Runs `interop/test_stores_gcs.py`, then the Python package's tests of that store. On request: the emulator takes a minute and a
/// half of processor time to build.
pub(crate) fn gcs() -> Result<()> {
    let server = fake_gcs()?;
    tests(&development::command()?, "gcs")?.environment("CIPHERLOOM_FAKE_GCS", &server).run()?;
    python::gcs(&server)
}

/// These parts of the tests, over this command.
fn tests(command: &Path, parts: &str) -> Result<Program> {
    Ok(Program::new(interop::python()?)
        .folder(place::root().join("interop"))
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
        .args(parts.split(' ').map(|part| format!("test_stores_{part}.py")))
        .environment("CIPHERLOOM", command)
        .environment("PYTHONDONTWRITEBYTECODE", "1"))
}
