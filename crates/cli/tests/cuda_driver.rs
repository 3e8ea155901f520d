//! The command with CUDA, through a driver of our own that runs the kernels on this processor and is stricter than NVIDIA's
//! (`crates/gpu/tests/processor/driver.c`): staging, streams, and every way to fail, without a device. Needs a C compiler, and
//! NVIDIA's run-time compiler in LD_LIBRARY_PATH, which `cargo xtask test gpu` fetches.
#![cfg(feature = "gpu")]

#[path = "../../gpu/tests/processor/stand_in.rs"]
mod stand_in;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Longer than a piece of 8 MiB, and no multiple of anything.
const LARGE: usize = 9_000_003;

const FIXED: &str = "--format raw --cipher aes-128-ctr --raw-key key16.hex --iv fffffffffffffffffffffffffffff123 \
                     --reuse-keystream-and-reveal-plaintext";

/// A folder with the driver, made once.
fn driver() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-driver");
        stand_in::driver(&folder, &[cipherloom_gpu::cuda::text()]);
        folder
    })
}

fn run_with(folder: &Path, line: &str, variables: &[(&str, &str)]) -> Output {
    // NVIDIA's compiler takes seconds: once is enough, and whoever tells the driver to fail is not about the compiler.
    let nvidia = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let quick = driver().join("quick").display().to_string();
    let others = if line.contains("chained") { nvidia } else { quick };
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom"));
    command.current_dir(folder).args(line.split_whitespace()).env("XDG_CACHE_HOME", "/nonexistent");
    command.env("LD_LIBRARY_PATH", format!("{}:{others}", driver().display()));
    command.envs(variables.iter().copied());
    command.output().unwrap()
}

/// Standard error of a run that must end well.
fn words(folder: &Path, line: &str, variables: &[(&str, &str)]) -> String {
    let output = run_with(folder, line, variables);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{line}, {variables:?}: {words}");
    words
}

fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir_all(&tree).unwrap();
    for (name, length) in [("small", 17), ("middling", 70_001), ("large", LARGE)] {
        let mut content: Vec<u8> = (0..length).map(|at: usize| (at ^ (at >> 7) ^ (at >> 13)) as u8).collect();
        // By this word the driver knows work from self-test and measuring.
        content.chunks_exact_mut(20_000).for_each(|part| part[..4].copy_from_slice(b"MARK"));
        fs::write(tree.join(name), content).unwrap();
    }
    let key = folder.path().join("key16.hex");
    fs::write(&key, "7e".repeat(16)).unwrap();
    fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    words(folder.path(), &format!("encrypt tree cpu {FIXED} --quiet"), &[]);
    folder
}

fn assert_same(folder: &Path, one: &str, other: &str) {
    for name in ["small", "middling", "large"] {
        let read = |tree: &str| fs::read(folder.join(tree).join(name)).unwrap();
        assert!(read(one) == read(other), "{one}/{name} differs from {other}/{name}");
    }
}

#[test]
fn cuda_writes_what_the_cpu_writes() {
    // How every warning goes on that a device did not do the work, or not all of it.
    let by_the_cpu = "; the CPU d";
    let folder = workplace();
    let folder = folder.path();
    let told = words(folder, &format!("encrypt tree cuda {FIXED} --backend cuda --threads 2"), &[]);
    assert!(!told.contains(by_the_cpu), "{told}");
    assert_same(folder, "cpu", "cuda");
    let cbc = "--format raw --cipher aes-128-cbc --raw-key key16.hex";
    words(folder, &format!("encrypt tree chained {cbc}"), &[]);
    let told = words(folder, &format!("decrypt chained back {cbc} --backend cuda --threads 2"), &[]);
    assert!(!told.contains(by_the_cpu), "{told}");
    assert_same(folder, "tree", "back");
}

#[test]
fn the_device_is_listed_and_planned_for() {
    let folder = workplace();
    let output = run_with(folder.path(), "devices", &[]);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = "cuda:0    processor as CUDA device (test), compute capability 9.0, 2 multiprocessors, 1.0 GiB of memory, driver 12.8";
    assert!(table.contains(line), "{table}");
    let plan = "plan tree --format raw --cipher aes-128-ctr --backend cuda";
    let output = run_with(folder.path(), plan, &[]);
    let plan = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && plan.contains("cuda (processor as CUDA device (test))"), "{plan}");
}

#[test]
fn whatever_fails_the_output_is_the_same_and_the_failure_is_told() {
    let folder = workplace();
    let folder = folder.path();
    let at_start = "the CPU does the work";
    let on_the_way = "the CPU did the rest, and nothing is missing";
    let cases = [
        // Memory at the start: of the device, pinned, and for an event.
        ("cuMemAlloc:4:2", "out of device memory", at_start),
        ("cuMemHostAlloc:6:2", "out of device memory", at_start),
        ("cuEventCreate:3:2", "out of device memory", at_start),
        ("cuStreamCreate:2:2", "out of device memory", at_start),
        // The driver does not want the kernels.
        ("cuModuleLoadData:1:218", "cannot load the kernels", at_start),
        // Lost in the self-test, in measuring, and at work.
        ("cuLaunchKernel:5:719", "the device was lost", at_start),
        ("cuEventQuery:65:719", "the device was lost", at_start),
        // Pieces of a file on their way.
        ("work:1:719", "the device was lost", on_the_way),
        ("work:2:719", "the device was lost", on_the_way),
        ("work:3:2", "out of device memory", on_the_way),
    ];
    for (number, (fail, cause, end)) in cases.into_iter().enumerate() {
        let out = format!("out{number}");
        let line = format!("encrypt tree {out} {FIXED} --backend cuda --threads 1");
        let told = words(folder, &line, &[("CUDA_TEST_FAIL", fail)]);
        assert!(told.contains(cause) && told.contains(end), "{fail}: {told}");
        assert!(told.contains("processor as CUDA device"), "{fail}: {told}");
        assert_same(folder, "cpu", &out);
    }
}

#[test]
fn a_device_that_miscomputes_and_a_driver_that_is_too_old_are_refused() {
    let folder = workplace();
    let folder = folder.path();
    let line = format!("encrypt tree wrong {FIXED} --backend cuda");
    let told = words(folder, &line, &[("CUDA_TEST_WRONG", "1")]);
    assert!(
        told.contains(
            "processor as CUDA device (test) with driver 12.8 computes wrongly and is not used: AES-128-CTR"
        ),
        "{told}"
    );
    assert_same(folder, "cpu", "wrong");
    for (number, version) in [("11080", "11.8"), ("12000", "12.0")] {
        let line = format!("encrypt tree old-{number} {FIXED} --backend cuda");
        let told = words(folder, &line, &[("CUDA_TEST_VERSION", number)]);
        let refusal = format!("the driver is for CUDA {version}, and 12.1 or later is needed");
        assert!(told.contains(&refusal), "{told}");
        assert_same(folder, "cpu", &format!("old-{number}"));
    }
    // Who asks for figures hears of it too; Vulkan's devices are not what this is about.
    let cache = folder.display().to_string();
    let variables =
        [("CUDA_TEST_VERSION", "12000"), ("XDG_CACHE_HOME", &*cache), ("VK_DRIVER_FILES", "/nonexistent")];
    let told = words(folder, "calibrate", &variables);
    assert!(told.contains("12.1 or later is needed; it is not in the figures"), "{told}");
}
