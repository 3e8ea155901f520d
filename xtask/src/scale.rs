//! `cargo xtask test scale`: the Python package on a cluster of Ray, over folders and over buckets, all on loopback.
//!
//! ```text
//! target/scale-venv/    an environment with Ray, then the wheel that the stage `python` tests
//! ```

use crate::chore::Program;
use crate::{interop, place, python, stores};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Objects of the run over a bucket: fewer than the 20,000 that the tests take by themselves, for the sake of continuous
/// integration's time.
const OBJECTS: &str = "1500";

/// Installs the package, then runs `bindings/python/scale`.
///
/// # Errors
/// If a requirement cannot be had, or a test fails.
pub(crate) fn run() -> Result<()> {
    let interpreter = environment(&[])?;
    let tests = Program::new(&interpreter)
        .folder(python::folder())
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5", "scale"])
        .environment("CIPHERLOOM", place::release_build()?)
        .environment("CIPHERLOOM_VERSITYGW", stores::versitygw()?)
        .environment("PYTHONDONTWRITEBYTECODE", "1");
    match std::env::var_os("CIPHERLOOM_SCALE_OBJECTS") {
        Some(_) => tests.run(),
        None => tests.environment("CIPHERLOOM_SCALE_OBJECTS", OBJECTS).run(),
    }
}

/// Runs the notebook in `examples/`, every cell of it; what it shows stays in `target/`.
///
/// # Errors
/// If a requirement cannot be had, or a cell raises.
pub(crate) fn notebook() -> Result<()> {
    let interpreter = environment(&[&python::folder().join("scale/notebook.txt")])?;
    Program::new(&interpreter)
        .folder(place::root().join("examples"))
        .args(["-m", "nbconvert", "--to", "notebook", "--execute", "bucket.ipynb", "--output-dir"])
        .arg(place::target())
        .environment("CIPHERLOOM_VERSITYGW", stores::versitygw()?)
        .run()
}

/// The interpreter of an environment with Ray, the package, and `more`.
fn environment(more: &[&Path]) -> Result<PathBuf> {
    let requirements = python::folder().join("scale/requirements.txt");
    let interpreter = interop::environment(&place::target().join("scale-venv"), &requirements)?;
    for requirements in more {
        Program::new(&interpreter)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(requirements)
            .run()?;
    }
    python::install(&interpreter)?;
    Ok(interpreter)
}
