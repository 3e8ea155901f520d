//! The GPU stage of the tests: devices on Mesa's software drivers (lavapipe, llvmpipe), the kernels through NVIDIA's compiler, and
//! the command with devices. No GPU is needed.
//!
//! On top of the development build, which is dynamic: drivers are libraries that a static executable cannot load.

use crate::chore::Program;
use crate::{debian, development, interop, place};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The software drivers for Vulkan and for OpenGL without a display, and the layers that check calls.
const DRIVER: [&str; 4] = ["mesa-vulkan-drivers", "libegl1", "libgl1-mesa-dri", "vulkan-validationlayers"];

/// Builds, lints and tests everything that has to do with devices.
///
/// # Errors
/// If something cannot be installed, or a test fails.
pub(crate) fn run() -> Result<()> {
    debian::ensure_packages(&DRIVER)?;
    let compiler = compiler()?;
    let product = development::test(
        &place::root(),
        &["cipherloom-gpu", "cipherloom-cli"],
        "cipherloom-cli/gpu,cipherloom-gpu/experiments",
    )
    .args(["--lib", "--test", "webgpu_context", "--test", "webgpu_cipher"])
    .args(["--test", "cuda_without_a_device", "--test", "devices", "--test", "cuda_driver"]);
    let lab = development::test(&place::lab(), &["cipherloom-lab"], "cipherloom-lab/gpu").args([
        "--lib",
        "--test",
        "maze_devices",
        "--test",
        "ctr_workers_cuda",
    ]);
    for tests in [product, lab] {
        tests
            .environment("LD_LIBRARY_PATH", &compiler)
            // Mesa looks for it, and complains of its absence at every start.
            .environment("XDG_RUNTIME_DIR", place::target())
            .run()?;
    }
    Ok(())
}

/// The folder of NVIDIA's run-time compiler, which its makers publish as a Python package.
fn compiler() -> Result<PathBuf> {
    let wanted = Path::new("crates/gpu/tests/requirements.txt");
    let python = interop::environment(&place::target().join("gpu-venv"), &place::root().join(wanted))?;
    let ask = "import nvidia.cuda_nvrtc, os; print(os.path.join(nvidia.cuda_nvrtc.__path__[0], 'lib'))";
    let folder = Program::new(python).args(["-c", ask]).output().context("cannot find NVIDIA's compiler")?;
    Ok(PathBuf::from(folder.trim()))
}
