//! `run ctr-workers` with CUDA, as a command over the driver that stands in for NVIDIA's and runs the kernels on this processor
//! (`crates/gpu/tests/processor/`): every series must come about, checked. Its times are worth nothing, and its device's name says
//! that it is a test's.
#![cfg(feature = "gpu")]

#[path = "../../crates/gpu/tests/processor/stand_in.rs"]
mod stand_in;

use cipherloom_gpu::cuda;
use cipherloom_lab::record::{Level, Record};
use cipherloom_lab_gpu::{CudaProgram, Worker};
use std::path::Path;
use std::process::Command;

const DEVICE: &str = "processor as CUDA device (test) (cuda)";

#[test]
fn the_record_of_a_run_has_every_series_of_cuda() {
    // Two shared memories that fit, and one that does not.
    let workers = [Worker::Tile(4 << 10), Worker::Tile(32 << 10), Worker::Tables(1), Worker::Tables(4)];
    let driver = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-driver-of-lab");
    stand_in::driver(&driver, &[[cuda::text()].as_slice(), &workers.map(CudaProgram::text)].concat());

    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cipherloom-lab"));
    command.args(["run", "ctr-workers", "--quick", "--out", "records"]).current_dir(folder.path());
    command.env("LD_LIBRARY_PATH", format!("{0}:{0}/quick", driver.display()));
    command.env("CUDA_TEST_SHARED", "65536");
    // Both loaders of wgpu's drivers are sent to where none is: this is about CUDA.
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
        command.env(variable, "/nonexistent");
    }
    let output = command.output().unwrap();
    let (told, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words}");
    assert!(told.contains("one worker") || told.contains("on one worker"), "{told}");

    let path = std::fs::read_dir(folder.path().join("records")).unwrap().next().unwrap().unwrap().path();
    let record = Record::read(&path).unwrap();
    let here = |variant: &str, kernel: &str| {
        let of_it = record.series.iter().filter(|series| {
            series.variant == variant
                && series.factor("device") == Some(&DEVICE.into())
                // How quick the processor is decides whether there is a longer message too.
                && (series.variant == "overlapped" || series.work.bytes == 614_400)
                && series.factor("kernel").is_none_or(|of| *of == kernel.into())
        });
        of_it.count()
    };
    for worker in &workers[..3] {
        // For two processors, as far as the message has turns for them.
        let turns = 614_400_u32.div_ceil(worker.turn_bytes()) + 1;
        let counts = [1, 2, 6, 8, 32].into_iter().filter(|count| *count <= turns).count();
        for variant in ["end-to-end", "kernel-only", "copy-in", "compute", "copy-out", "synchronisation"] {
            assert_eq!(here(variant, &worker.name()), counts, "{variant}, {}", worker.name());
        }
    }
    assert_eq!(here("overlapped", ""), 3);
    let clock = format!("clock of tile_4096 on {DEVICE}, 614400 bytes");
    assert_eq!(record.parameters.get(&clock), Some(&Level::from("device")));
    let out: Vec<_> = record.excluded.iter().map(|out| (&*out.variant, out.was_wrong)).collect();
    assert_eq!(out, [("tables_4", false)]);
    let reason = "tables_4 needs 131072 bytes of shared memory, and a block may have 65536";
    assert!(record.excluded[0].reason.contains(reason), "{}", record.excluded[0].reason);
}
