//! Every worker gives what this processor gives, whatever their number: its WGSL on a device, and its CUDA text through the
//! driver's interface on the processor, and through NVIDIA's compiler.

mod over_cuda;

use super::{Bench, Worker};
use cipherloom_kernels::{Aes, Backend};

const WORKERS: [Worker; 5] =
    [Worker::Tile(4096), Worker::Tile(32 << 10), Worker::Direct, Worker::Tables(1), Worker::Tables(4)];

/// Counters whose sums cross 32, 64 and 128 bits, at places that are no multiple of a turn.
const FIRSTS: [u128; 6] = [
    0,
    5,
    0x0011_2233_4455_6677_8899_aabb_ffff_f800,
    0x0011_2233_4455_6677_ffff_ffff_ffff_fa07,
    u128::MAX - 3000,
    u128::MAX,
];

/// Bytes without a pattern of 2^n: a keystream.
fn noise(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Aes::new(&[0x6e; 16], Backend::Soft).unwrap().ctr_xor(&[0; 16], 0, &mut bytes);
    bytes
}

/// Keys of every size, each with its own counter, length and number of workers.
fn cases() -> impl Iterator<Item = (Vec<u8>, u128, Vec<u8>, Vec<u8>, u32)> {
    let counts = [(100_003, 1), (16 * 2049, 2), (15, 3), (300_000, 7), (1, 1), (70_000, 64)];
    FIRSTS.into_iter().zip(counts).zip([16, 24, 32].into_iter().cycle()).map(
        |((first, (length, workers)), size)| {
            let (key, text) = (noise(32)[..size].to_vec(), noise(length));
            let mut expected = text.clone();
            Aes::new(&key, Backend::Soft).unwrap().ctr_xor(&first.to_be_bytes(), 0, &mut expected);
            (key, first, text, expected, workers)
        },
    )
}

/// Every case on a device, whose benches are made for a key, a first counter and a length.
fn all_cases(worker: Worker, bench: impl Fn(&[u8], u128, usize) -> Box<dyn Bench>) {
    for (key, first, text, expected, workers) in cases() {
        let mut bench = bench(&key, first, text.len());
        let mut output = vec![0; text.len()];
        // Twice: the private memory of another turn must not shine through.
        for _ in 0..2 {
            bench.copy_in(&text).unwrap();
            assert!(bench.compute(workers).unwrap() > 0.0);
            bench.copy_out(&mut output).unwrap();
            assert!(output == expected, "{worker:?}, {first:#x}, {} bytes, {workers}", text.len());
        }
    }
}

#[test]
fn workers_on_a_device_are_aes() {
    use super::{WebGpuBench, WebGpuProgram};
    use cipherloom_gpu::webgpu::Adapters;
    use std::rc::Rc;
    let context = Rc::new(Adapters::list(false).open(None).unwrap());
    let limit = context.report().limits.workgroup_bytes;
    for worker in WORKERS {
        if worker.private_bytes() > limit {
            let refused = WebGpuProgram::new(&context, worker).unwrap_err().to_string();
            assert!(refused.contains(&worker.name()) && refused.contains(&limit.to_string()), "{refused}");
            continue;
        }
        let program = WebGpuProgram::new(&context, worker).unwrap();
        all_cases(worker, |key, first, length| {
            Box::new(WebGpuBench::new(&program, key, first, length).unwrap())
        });
    }
    assert!(limit >= Worker::Tables(1).private_bytes(), "one table was not tried: the limit is {limit}");
}

#[test]
fn nvidia_s_compiler_takes_the_workers() {
    use super::CudaProgram;
    for capability in [[8, 0], [9, 0]] {
        for worker in WORKERS {
            let ptx =
                cipherloom_gpu::internal::ptx_of(CudaProgram::text(worker), capability).unwrap().to_src();
            assert!(ptx.contains(&format!(".entry {}(", worker.name())), "{worker:?}");
            assert_eq!(ptx.contains(".shared"), worker != Worker::Direct, "{worker:?}");
            assert!(!ptx.contains(".local"), "{worker:?} uses local memory");
        }
    }
}

#[test]
fn ceilings_are_the_counted_ones() {
    // An H100 (SXM): 132 multiprocessors at 1.98 GHz.
    let of = |worker: Worker| worker.counted_bits_per_second(132, 1.98e9) / 1e12;
    assert!((6.6..6.8).contains(&of(Worker::Tables(4))), "{}", of(Worker::Tables(4)));
    assert!((4.2..4.4).contains(&of(Worker::Direct)), "{}", of(Worker::Direct));
}
