//! `cargo xtask test scale`: the Python package on a cluster of Ray, over folders and over buckets, all on loopback.
//!
//! ```text
//! target/scale-venv/    an environment with Ray, then the wheel that the stage `python` tests
//! ```

use crate::{development, python};
use anyhow::Result;
use cipherloom_peers::{Program, place, python_environment, versitygw};
use std::path::{Path, PathBuf};

/// Objects of the run over a bucket, for the sake of continuous integration's time.
const OBJECTS: &str = "1000";

/// Objects of the run on request.
const OBJECTS_FULL: &str = "20000";

/// Installs the package, then runs `bindings/python/scale`.
pub(crate) fn run() -> Result<()> {
    tests(OBJECTS)
}

/// The same with many more objects.
pub(crate) fn full() -> Result<()> {
    tests(OBJECTS_FULL)
}

fn tests(objects: &str) -> Result<()> {
    let interpreter = environment(&[])?;
    Program::new(&interpreter)
        .folder(python::folder())
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=5", "scale"])
        .environment("CIPHERLOOM", development::command()?)
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .environment("CIPHERLOOM_SCALE_OBJECTS", objects)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

/// Runs the notebook in `examples/`, every cell of it; what it shows stays in `target/`.
pub(crate) fn notebook() -> Result<()> {
    let interpreter = environment(&[&python::folder().join("scale/notebook.txt")])?;
    Program::new(&interpreter)
        .folder(place::root().join("examples"))
        .args(["-m", "nbconvert", "--to", "notebook", "--execute", "bucket.ipynb", "--output-dir"])
        .arg(place::target())
        .environment("CIPHERLOOM_VERSITYGW", versitygw()?)
        .run()
}

/// The interpreter of an environment with Ray, the package, and `more`.
fn environment(more: &[&Path]) -> Result<PathBuf> {
    let requirements = python::folder().join("scale/requirements.txt");
    let interpreter = python_environment(&place::target().join("scale-venv"), &requirements)?;
    for requirements in more {
        Program::new(&interpreter)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(requirements)
            .run()?;
    }
    python::install(&interpreter)?;
    Ok(interpreter)
}
