//! `cargo xtask test python`: the Python package, built as a user builds it and tested with Tink and pyca beside it.
//!
//! ```text
//! target/python-wheel/  the package as a wheel: tests here and on a cluster install it
//! target/python-venv/   a clean environment with the tests' requirements, then the wheel
//! ```
//!
//! The wheel is what `pip install bindings/python` makes first and then installs, but for the profile: the settings of the
//! development build, which is dynamic too, so that their dependencies are compiled once (`development.rs`). Lints ride on it
//! here as there.

use crate::development;
use anyhow::{Context, Result};
use cipherloom_peers::{Program, age, azurite, place, python_environment, versitygw};
use std::path::{Path, PathBuf};

/// The tests over Google Cloud Storage's emulator.
const GCS: &str = "tests/test_stores_gcs.py";

/// Builds and installs the package with pip, then runs its lints, mypy, and the tests in `bindings/python/tests`, but for those
/// over Google Cloud Storage.
pub(crate) fn run() -> Result<()> {
    let python = environment()?;
    Program::new(&python).folder(folder()).args(["-m", "mypy"]).run()?;
    tests(&python)?
        .arg(format!("--ignore={GCS}"))
        .environment("PATH", place::first_on_path(&age()?)?)
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .environment("CIPHERLOOM_AZURITE", azurite()?)
        .run()
}

/// Runs the tests over Google Cloud Storage alone, against the emulator `server`.
pub(crate) fn gcs(server: &Path) -> Result<()> {
    tests(&environment()?)?.arg(GCS).environment("CIPHERLOOM_FAKE_GCS", server).run()
}

/// The interpreter of an environment with the tests' requirements and the package.
fn environment() -> Result<PathBuf> {
    let requirements = folder().join("tests/requirements.txt");
    let python = python_environment(&place::target().join("python-venv"), &requirements)?;
    install(&python)?;
    Ok(python)
}

/// The tests, to be told which and with what servers.
fn tests(python: &Path) -> Result<Program> {
    Ok(Program::new(python)
        .folder(folder())
        .args(["-m", "pytest", "-q", "--durations=5"])
        // What the package makes, the command opens, and the other way round.
        .environment("CIPHERLOOM", development::command()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1"))
}

/// Installs the package into an interpreter's environment, which has what it needs.
pub(crate) fn install(python: &Path) -> Result<()> {
    let _lock = place::lock("python-wheel.lock")?;
    pip(python, &["install", "--force-reinstall", "--no-deps"]).arg(wheel(python)?).run()
}

/// Builds the wheel.
fn wheel(python: &Path) -> Result<PathBuf> {
    let wheels = place::target().join("python-wheel");
    if wheels.is_dir() {
        // Of another version there would be two.
        std::fs::remove_dir_all(&wheels).with_context(|| format!("cannot empty {}", wheels.display()))?;
    }
    let build = pip(python, &["wheel", "--no-deps", "--wheel-dir"])
        .arg(&wheels)
        .arg(".")
        .folder(folder())
        .environment("MATURIN_PEP517_ARGS", "--profile dev");
    development::environment(build).run()?;
    let entries = std::fs::read_dir(&wheels).with_context(|| format!("cannot list {}", wheels.display()))?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .with_context(|| format!("pip left no wheel in {}", wheels.display()))
}

fn pip(python: &Path, action: &[&str]) -> Program {
    Program::new(python).args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(action)
}

/// The package's folder.
pub(crate) fn folder() -> PathBuf {
    place::root().join("bindings/python")
}
