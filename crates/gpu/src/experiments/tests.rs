//! Every worker gives what this processor gives, whatever their number: its WGSL on a device, and its CUDA text compiled for
//! the processor and by NVIDIA's compiler.

use super::material::material;
use super::{Bench, Launch, Worker, texts};
use crate::emit;
use crate::equality_tests::{FIRSTS, noise};
use crate::processor::{self, Processor};
use crate::self_test::round_keys;
use cipherloom_kernels::{Aes, Backend};

const WORKERS: [Worker; 5] =
    [Worker::Tile(4096), Worker::Tile(32 << 10), Worker::Direct, Worker::Tables(1), Worker::Tables(4)];

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

#[test]
fn workers_texts_compiled_for_this_processor_are_aes() {
    let text: String =
        [emit::cuda::head()].into_iter().chain(WORKERS.map(texts::cuda)).collect::<Vec<_>>().concat();
    let names = WORKERS.map(Worker::name);
    let kernels: Vec<(&str, bool)> =
        names.iter().zip(WORKERS).map(|(name, worker)| (&**name, worker != Worker::Direct)).collect();
    let processor = Processor::compile("workers", &text, &kernels);
    for (kernel, worker) in WORKERS.into_iter().enumerate() {
        for (key, first, text, expected, workers) in cases() {
            let keys = round_keys(&key);
            let mut source = text.clone();
            source.resize(text.len().next_multiple_of(16), 0);
            let mut output = vec![0; source.len()];
            for launch in Launch::all(worker, first, text.len()) {
                let sink = processor.run(&processor::Launch {
                    kernel,
                    grid: workers as usize,
                    threads: worker.threads(),
                    counter: launch.counter(),
                    blocks: launch.blocks as usize,
                    skip: launch.skip,
                    rounds: keys.len() - 1,
                    keys: &material(worker, &keys, launch.first),
                    source: &source,
                });
                // What a launch does not touch is zero.
                output.iter_mut().zip(sink).for_each(|(byte, part)| *byte |= part);
            }
            assert!(
                output[..text.len()] == expected,
                "{worker:?}, {first:#x}, {} bytes, {workers}",
                text.len()
            );
        }
    }
}

#[cfg(feature = "wgpu")]
#[test]
fn workers_on_a_device_are_aes() {
    use super::{WebGpuBench, WebGpuProgram};
    use crate::webgpu::Adapters;
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
        for (key, first, text, expected, workers) in cases() {
            let mut bench = WebGpuBench::new(&program, &key, first, text.len()).unwrap();
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
    assert!(limit >= Worker::Tables(1).private_bytes(), "one table was not tried: the limit is {limit}");
}

#[cfg(feature = "cuda")]
#[test]
fn nvidia_s_compiler_takes_the_workers() {
    use super::CudaProgram;
    for capability in [[8, 0], [9, 0]] {
        for worker in WORKERS {
            let ptx = crate::cuda::ptx_of(CudaProgram::text(worker), capability).unwrap().to_src();
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
