//! Workers by way of CUDA's driver interface, on the driver that stands in for NVIDIA's: what they give, and how trouble is told.

use super::{WORKERS, all_cases, cases};
use crate::{Bench, CudaBench, CudaProgram, Worker, over_stand_in};
use cipherloom_gpu::Error;
use cipherloom_gpu::cuda::{DeviceReport, list};
use std::time::Duration;

fn texts() -> Vec<String> {
    WORKERS.map(CudaProgram::text).to_vec()
}

fn device() -> DeviceReport {
    list().unwrap().swap_remove(0)
}

#[test]
fn workers_on_cuda_are_aes() {
    over_stand_in::run(module_path!(), "workers_on_cuda_are_aes", &[], texts, || {
        for worker in WORKERS {
            let program = CudaProgram::new(&device(), worker).unwrap();
            all_cases(worker, |key, first, length| {
                let bench = CudaBench::new(&program, key, first, length).unwrap();
                assert!(bench.has_clock());
                Box::new(bench)
            });
        }
    });
}

#[test]
fn too_much_shared_memory_is_refused_with_both_figures() {
    let name = "too_much_shared_memory_is_refused_with_both_figures";
    over_stand_in::run(module_path!(), name, &[("CUDA_TEST_SHARED", "65536")], texts, || {
        let mut device = device();
        assert!(CudaProgram::new(&device, Worker::Tables(1)).is_ok());
        let words = CudaProgram::new(&device, Worker::Tables(4)).unwrap_err().to_string();
        let expected = "tables_4 needs 131072 bytes of shared memory, and a block may have 65536";
        assert!(words.contains(expected), "{words}");
        // A driver that gives less than it says.
        device.shared_bytes = 232_448;
        let words = CudaProgram::new(&device, Worker::Tables(4)).unwrap_err().to_string();
        assert!(words.contains("the driver cannot give a kernel its shared memory"), "{words}");
    });
}

/// A bench for a message, which is copied in.
fn bench(program: &CudaProgram) -> (CudaBench, Vec<u8>, Vec<u8>, u32) {
    let (key, first, text, expected, workers) = cases().next().unwrap();
    let mut bench = CudaBench::new(program, &key, first, text.len()).unwrap();
    bench.copy_in(&text).unwrap();
    (bench, text, expected, workers)
}

#[test]
fn a_kernel_that_cannot_be_launched_is_told() {
    let fail = [("CUDA_TEST_FAIL", "cuLaunchKernel:2:719")];
    over_stand_in::run(module_path!(), "a_kernel_that_cannot_be_launched_is_told", &fail, texts, || {
        let program = CudaProgram::new(&device(), Worker::Tile(4096)).unwrap();
        let (mut bench, mut text, expected, workers) = bench(&program);
        bench.compute(workers).unwrap();
        bench.copy_out(&mut text).unwrap();
        assert!(text == expected);
        let error = bench.compute(workers).unwrap_err();
        assert!(matches!(&error, Error::Lost { reason, .. } if reason.contains("LAUNCH_FAILED")), "{error}");
        assert!(matches!(bench.copy_out(&mut text), Err(Error::Lost { .. })));
    });
}

#[test]
fn a_kernel_that_never_ends_is_given_up() {
    let fail = [("CUDA_TEST_FAIL", "kernel:2:-1")];
    over_stand_in::run(module_path!(), "a_kernel_that_never_ends_is_given_up", &fail, texts, || {
        let limit = Duration::from_millis(50);
        let program = CudaProgram::new(&device(), Worker::Tables(1)).unwrap().with_limit(limit);
        let (mut bench, mut text, expected, workers) = bench(&program);
        bench.compute(workers).unwrap();
        bench.copy_out(&mut text).unwrap();
        assert!(text == expected);
        let hangs = |error: Error| matches!(error, Error::Hangs { limit: told, .. } if told == limit);
        assert!(hangs(bench.compute(workers).unwrap_err()));
        // From now on nothing waits, and the end frees nothing that the kernel reaches into: the driver would say so.
        assert!(hangs(bench.copy_in(&text).unwrap_err()) && hangs(bench.copy_out(&mut text).unwrap_err()));
        assert!(hangs(CudaBench::new(&program, &[0; 16], 0, 100).unwrap_err()));
        assert!(matches!(CudaProgram::new(&device(), Worker::Direct), Err(Error::Hangs { .. })));
        drop((bench, program));
    });
}
