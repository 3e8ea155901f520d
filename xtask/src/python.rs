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

use crate::chore::Program;
use crate::{debian, development, interop, place, stores};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Builds and installs the package with pip, then runs its lints, mypy, and the tests in `bindings/python/tests`.
///
/// # Errors
/// If a requirement cannot be had, or anything of this fails.
pub(crate) fn run() -> Result<()> {
    debian::ensure(&[("age-keygen", "age")])?;
    let requirements = folder().join("tests/requirements.txt");
    let python = interop::environment(&place::target().join("python-venv"), &requirements)?;
    install(&python)?;
    let in_folder = || Program::new(&python).folder(folder());
    in_folder().args(["-m", "mypy"]).run()?;
    in_folder()
        .args(["-m", "pytest", "-q", "--durations=5"])
        // What the package makes, the command opens, and the other way round.
        .environment("CIPHERLOOM", place::release_build()?)
        .environment("CIPHERLOOM_VERSITYGW", stores::versitygw()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

/// Installs the package into an interpreter's environment, which has what it needs.
///
/// # Errors
/// If it cannot be built or installed.
pub(crate) fn install(python: &Path) -> Result<()> {
    pip(python, &["install", "--force-reinstall", "--no-deps"]).arg(wheel(python)?).run()
}

/// Builds the wheel.
fn wheel(python: &Path) -> Result<PathBuf> {
    let wheels = place::target().join("python-wheel");
    if wheels.is_dir() {
        // Of another version there would be two.
        std::fs::remove_dir_all(&wheels).with_context(|| format!("cannot empty {}", wheels.display()))?;
    }
    pip(python, &["wheel", "--no-deps", "--wheel-dir"])
        .arg(&wheels)
        .arg(".")
        .folder(folder())
        .environment("CARGO_TARGET_DIR", place::target())
        .environment("MATURIN_PEP517_ARGS", "--profile dev")
        .environment("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .environment("CLIPPY_ARGS", development::DENY_WARNINGS)
        .run()?;
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
