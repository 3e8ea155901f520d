//! The lab: its tests, and every experiment in its quick form as a stage of the tests; and its bench.

use crate::{development, gpu, interop};
use anyhow::{Result, ensure};
use cipherloom_peers::{Program, debian, place};
use std::ffi::OsString;

/// The browser in which the lab measures the published form of the maze.
const BROWSER: [(&str, &str); 1] = [("chromium", "chromium")];

/// Tells the lab which interpreter has gmpy2, whose build of GMP the long integers are measured beside.
const PYTHON: &str = "CIPHERLOOM_LAB_PYTHON";

/// Builds the bench and runs it with these arguments.
pub(crate) fn bench(arguments: &[OsString]) -> Result<()> {
    Program::new(place::bench_build()?).args(arguments).run()
}

/// Tests the lab's workspace, with devices.
pub(crate) fn tests() -> Result<()> {
    debian::ensure_c_compiler()?;
    debian::ensure(&BROWSER)?;
    // One at a time: drivers in software take all cores, and no device may take longer than its limit.
    gpu::with_devices(development::test_lab())?.environment("RUST_TEST_THREADS", "1").run()
}

/// The mazes of all published seeds on devices.
pub(crate) fn mazes() -> Result<()> {
    let tests = development::test_lab().args(["--test", "maze_devices"]).environment(interop::LONG, "1");
    gpu::with_devices(tests)?.run()
}

/// Every experiment in its quick form: all results are checked, and a record of each is written. What it measures is
/// not looked at: a machine that tests is not one that measures.
pub(crate) fn stage() -> Result<()> {
    let folder = place::target().join("lab");
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder)?;
    }
    // Its C programs are compiled where they can be; a test of them all leaves out none.
    debian::ensure_c_compiler()?;
    debian::ensure(&BROWSER)?;
    let mut lab = Program::new(development::lab()?)
        .folder(place::root())
        .args(["run", "all", "--quick", "--out"])
        .arg(&folder)
        .environment(PYTHON, interop::python()?);
    // The drivers in software, which other stages install, have tests of their own and would take minutes here.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
        lab = lab.environment(variable, "/nonexistent");
    }
    lab.run()?;
    let records = folder.read_dir()?.count();
    ensure!(records > 0, "the lab wrote no record to {}", folder.display());
    println!("{records} records in {}", folder.display());
    Ok(())
}
