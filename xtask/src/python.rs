//! `cargo xtask test python`: the Python package, built as a user builds it and tested with Tink and pyca beside it.
//!
//! ```text
//! target/python/        what cargo builds for it
//! target/python-venv/   a clean environment with the tests' requirements, then `pip install bindings/python`
//! ```

use crate::chore::Program;
use crate::{debian, interop, place};
use anyhow::Result;
use std::path::PathBuf;

/// Builds and installs the package with pip, then runs its lints, mypy, and the tests in `bindings/python/tests`.
///
/// # Errors
/// If a requirement cannot be had, or anything of this fails.
pub(crate) fn run() -> Result<()> {
    debian::ensure(&[("age-keygen", "age")])?;
    let requirements = folder().join("tests/requirements.txt");
    let python = interop::environment(&place::target().join("python-venv"), &requirements)?;
    let with_python = |program: Program| {
        // The module's own flags, and what it compiles, are another set than the product's.
        program.folder(folder()).environment("CARGO_TARGET_DIR", place::target().join("python"))
    };
    with_python(Program::new(&python))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--force-reinstall", "."])
        .run()?;
    with_python(Program::cargo())
        .args(["clippy", "--release", "--locked", "--", "-D", "warnings"])
        .environment("PYO3_PYTHON", &python)
        .run()?;
    with_python(Program::new(&python)).args(["-m", "mypy"]).run()?;
    with_python(Program::new(&python))
        .args(["-m", "pytest", "-q", "--durations=5"])
        // What the package makes, the command opens, and the other way round.
        .environment("CIPHERLOOM", place::release_build()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

/// The package's folder.
pub(crate) fn folder() -> PathBuf {
    place::root().join("bindings/python")
}
