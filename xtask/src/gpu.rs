//! The GPU stage of the tests: devices on Mesa's software driver (lavapipe), the kernels through NVIDIA's compiler, and
//! the command with devices. No GPU is needed.
//!
//! A build of its own: drivers are libraries that only a dynamic executable can load. Lints ride on the same build, by the
//! way that `cargo clippy` itself uses: a build of that size twice would take minutes.

use crate::chore::Program;
use crate::{debian, interop, place};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The software driver for Vulkan.
const DRIVER: &str = "mesa-vulkan-drivers";

/// What `cargo clippy … -- -D warnings` hands to its driver.
pub(crate) const DENY_WARNINGS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Builds, lints and tests everything that has to do with devices.
///
/// # Errors
/// If something cannot be installed, or a test fails.
pub(crate) fn run() -> Result<()> {
    debian::ensure_packages(&[DRIVER])?;
    let compiler = compiler()?;
    Program::cargo()
        .folder(place::root())
        .args(["--config", ".cargo/dynamic.toml", "test", "--locked"])
        .args(["--package", "cipherloom-gpu", "--package", "cipherloom-cli", "--package", "cipherloom-lab"])
        .args(["--features", "cipherloom-cli/gpu,cipherloom-lab/gpu"])
        .args(["--lib", "--test", "webgpu_context", "--test", "webgpu_cipher"])
        .args(["--test", "cuda_without_a_device", "--test", "devices", "--test", "maze_devices"])
        .environment("RUSTC_WORKSPACE_WRAPPER", "clippy-driver")
        .environment("CLIPPY_ARGS", DENY_WARNINGS)
        .environment("LD_LIBRARY_PATH", compiler)
        // Mesa looks for it, and complains of its absence at every start.
        .environment("XDG_RUNTIME_DIR", place::target())
        .run()
}

/// The folder of NVIDIA's run-time compiler, which its makers publish as a Python package.
fn compiler() -> Result<PathBuf> {
    let wanted = Path::new("crates/gpu/tests/requirements.txt");
    let python = interop::environment(&place::target().join("gpu-venv"), &place::root().join(wanted))?;
    let ask = "import nvidia.cuda_nvrtc, os; print(os.path.join(nvidia.cuda_nvrtc.__path__[0], 'lib'))";
    let folder = Program::new(python).args(["-c", ask]).output().context("cannot find NVIDIA's compiler")?;
    Ok(PathBuf::from(folder.trim()))
}
