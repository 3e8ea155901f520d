//! The lab, built with the release profile: for `cargo xtask bench kernels`, and as a stage of the tests.

use crate::chore::Program;
use crate::{debian, development, interop, place};
use anyhow::{Result, ensure};

/// What the lab's C programs include and link. intel-ipsec-mb is there for x86-64 alone, and the lab does without.
const PACKAGES: [&str; 3] = ["gcc", "libc6-dev", "libssl-dev"];

/// Tells the lab which interpreter has gmpy2, whose build of GMP the long integers are measured beside.
const PYTHON: &str = "CIPHERLOOM_LAB_PYTHON";

/// Makes sure that the lab can build its C programs.
///
/// # Errors
/// If a package is missing and cannot be installed.
pub(crate) fn ensure_packages() -> Result<()> {
    debian::ensure_packages(&PACKAGES)
}

/// Builds the lab and runs it with these arguments.
///
/// # Errors
/// If it does not build or does not end well.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    ensure_packages()?;
    Program::new(place::lab_build()?)
        .folder(place::root())
        .args(arguments)
        .environment(PYTHON, interop::python()?)
        .run()
}

/// Lints and tests the lab's workspace.
///
/// # Errors
/// If a package cannot be installed, or a lint or test fails.
pub(crate) fn tests() -> Result<()> {
    ensure_packages()?;
    development::test(&place::lab(), &[], "").run()
}

/// Every experiment in its quick form: all results are checked, and a record of each is written. What it measures is
/// not looked at: a machine that tests is not one that measures.
///
/// # Errors
/// If an experiment fails.
pub(crate) fn stage() -> Result<()> {
    let folder = place::target().join("lab");
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder)?;
    }
    let out = folder.to_string_lossy();
    run(&["run", "all", "--quick", "--out", &out])?;
    let records = folder.read_dir()?.count();
    ensure!(records > 0, "the lab wrote no record to {}", folder.display());
    println!("{records} records in {}", folder.display());
    Ok(())
}
