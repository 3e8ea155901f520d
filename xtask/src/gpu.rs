//! What tests of devices need: Mesa's software drivers (lavapipe, llvmpipe) and NVIDIA's compiler. No GPU is needed. And the stage
//! of the product with devices.

use crate::development;
use anyhow::{Context, Result};
use cipherloom_peers::{Program, debian, place, python_environment};
use std::path::{Path, PathBuf};

/// The software drivers for Vulkan and for OpenGL without a display, and the layers that check calls.
const DRIVER: [&str; 4] = ["mesa-vulkan-drivers", "libegl1", "libgl1-mesa-dri", "vulkan-validationlayers"];

/// The tests that need devices, besides those in the library's own files.
const TESTS: [&str; 5] =
    ["devices", "cuda_driver", "cuda_without_a_device", "webgpu_cipher", "webgpu_context"];

/// Builds, lints and tests what has to do with devices, on top of the development build.
pub(crate) fn run() -> Result<()> {
    let tests = development::test(&format!("{},cipherloom-cli/gpu", development::FEATURES));
    // All libraries' units: another choice of packages would build dependencies again.
    let tests = tests.arg("--lib").args(TESTS.iter().flat_map(|name| ["--test", name]));
    // One at a time: a software driver uses every core, and a device that does not answer within a minute is given up.
    with_devices(tests.args(["--", "--test-threads", "1"]))?.run()
}

/// The environment in which tests find drivers and compiler, which are installed if they are not there.
pub(crate) fn with_devices(tests: Program) -> Result<Program> {
    debian::ensure_packages(&DRIVER)?;
    Ok(tests
        .environment("LD_LIBRARY_PATH", compiler()?)
        // Mesa looks for it, and complains of its absence at every start.
        .environment("XDG_RUNTIME_DIR", place::target()))
}

/// The folder of NVIDIA's run-time compiler, which its makers publish as a Python package.
fn compiler() -> Result<PathBuf> {
    let wanted = Path::new("crates/gpu/tests/requirements.txt");
    let python = python_environment(&place::target().join("gpu-venv"), &place::root().join(wanted))?;
    let ask = "import nvidia.cuda_nvrtc, os; print(os.path.join(nvidia.cuda_nvrtc.__path__[0], 'lib'))";
    let folder = Program::new(python).args(["-c", ask]).output().context("cannot find NVIDIA's compiler")?;
    Ok(PathBuf::from(folder.trim()))
}
