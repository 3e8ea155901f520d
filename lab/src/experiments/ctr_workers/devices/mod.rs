//! ctr-workers on graphics devices: a worker is a group of threads with the device's own small memory as its private one, and
//! copying is over the bus, as the published cores had it.
//!
//! | variant | what a repeat is |
//! |---|---|
//! | `end-to-end` | copy in, compute, copy out, each waited for |
//! | `kernel-only` | the kernel on what is there already, by the device's clock where it has a sane one (a parameter says) |
//! | `copy-in`, `compute`, `copy-out`, `synchronisation` | phases of `end-to-end`, by the host's clock |
//! | `overlapped` | the product's own way with the same message, with 1, 2 or 3 pieces under way |
//!
//! The kernels are `cipherloom-lab-gpu`: bitsliced with a private tile of 4 to 32 KB, without one, and by tables,
//! which the product never uses.

mod answers;
#[cfg(feature = "gpu")]
mod contestants;
#[cfg(feature = "gpu")]
mod opened;

pub(super) use answers::add;

use super::super::{Context, Findings};

/// Says how to have devices.
#[cfg(not(feature = "gpu"))]
pub(super) fn hold(_context: &mut Context, findings: &mut Findings) {
    findings.notes.push(
        "no graphics devices: this program is built without them; `cargo --config .cargo/dynamic.toml run --release \
         -p cipherloom-lab --features gpu -- run ctr-workers` has them"
            .to_owned(),
    );
}

/// Measures every device that there is; one that cannot be used is noted, and the rest goes on.
#[cfg(feature = "gpu")]
pub(super) fn hold(context: &mut Context, findings: &mut Findings) {
    use super::{LARGE_BYTES, PUBLISHED_BYTES};
    use cipherloom_lab_gpu::Worker;
    let kinds: &[Worker] = context.by_extent(
        &[Worker::Tile(4 << 10), Worker::Tile(32 << 10), Worker::Tables(1), Worker::Tables(4)],
        &[
            Worker::Tile(4 << 10),
            Worker::Tile(8 << 10),
            Worker::Tile(16 << 10),
            Worker::Tile(32 << 10),
            Worker::Direct,
            Worker::Tables(1),
            Worker::Tables(4),
        ],
    );
    let devices = opened::all(kinds, context, findings);
    for device in &devices {
        contestants::workers(device, PUBLISHED_BYTES, context, findings);
        // 27 times as long, and so many series. llvmpipe also leaves a thread's loops after 65,535 turns, whatever is left to do,
        // which a single worker has in 16 MB.
        let is_quick = answers::fastest_kernel(findings, &device.name, PUBLISHED_BYTES)
            .is_some_and(|nanoseconds| nanoseconds < 5e6);
        if is_quick && !device.is_software {
            contestants::workers(device, LARGE_BYTES, context, findings);
        } else {
            let words = "16 MB by worker is left out: the device would take minutes";
            findings.notes.push(format!("{}: {words}", device.name));
        }
        contestants::overlapped(device, LARGE_BYTES, context, findings);
    }
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;
    use cipherloom_lab_gpu::Worker;

    #[test]
    fn every_device_is_right_and_stands_in_the_tables() {
        let mut context = Context::of_a_test();
        let mut findings = Findings::default();
        let devices = opened::all(&[Worker::Tile(4096), Worker::Tables(4)], &mut context, &mut findings);
        assert!(!devices.is_empty(), "no device is here; install mesa-vulkan-drivers, which needs no card");
        for device in &devices {
            contestants::workers(device, 100_003, &mut context, &mut findings);
            contestants::overlapped(device, 100_003, &mut context, &mut findings);
        }
        assert!(findings.excluded.iter().all(|out| !out.was_wrong), "{:?}", findings.excluded);
        for device in &devices {
            let of = |variant: &str, count: usize| {
                let of_it = findings.series.iter().filter(|series| {
                    series.variant == variant
                        && series.factor("device") == Some(&(&*device.name).into())
                        && series.factor("kernel").is_none_or(|kernel| *kernel == "tile_4096".into())
                });
                assert_eq!(of_it.count(), count, "{}: {variant}", device.name);
            };
            for variant in ["end-to-end", "kernel-only", "copy-in", "compute", "copy-out"] {
                of(variant, device.workers.iter().filter(|workers| **workers <= 26).count());
            }
            of("overlapped", 3);
            let clock = contestants::clock_parameter("tile_4096", &device.name, 100_003);
            let clock = &findings.parameters[&clock];
            assert!([&"device".into(), &"host".into()].contains(&clock), "{}: {clock:?}", device.name);
        }
    }
}
