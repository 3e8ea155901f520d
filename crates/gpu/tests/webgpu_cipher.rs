//! Compares a device with this processor, over edge sizes, offsets and counters.
#![cfg(feature = "wgpu")]

use cipherloom_gpu::Device;
use cipherloom_gpu::webgpu::{Adapters, WebGpuCipher};
use cipherloom_kernels::{Aes, Backend, Engine};

const PIECE: usize = 4 << 20;

fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn every_size_and_offset_is_what_the_cpu_gives() {
    let device: &'static WebGpuCipher = Box::leak(Box::new(WebGpuCipher::open(None).unwrap()));
    let text = noise(PIECE + (1 << 17));
    for key_size in [16, 24, 32] {
        let key = noise(key_size);
        let cpu = Aes::new(&key, Backend::best()).unwrap();
        let both = Aes::new(&key, Engine::with_accelerator(Backend::best(), device)).unwrap();
        // Below 32 KiB the CPU does everything. Around the ends of groups (32 KiB) and pieces the device's part must fit.
        let sizes = [0, 1, 32 << 10, (32 << 10) + 1, (64 << 10) - 1, 100_000, PIECE - 16, PIECE, PIECE + 17];
        for (round, size) in sizes.into_iter().enumerate() {
            // The largest once: software devices are slow.
            if size > 200_000 && key_size != 16 {
                continue;
            }
            let start = round * 7 % 64;
            let initial = (u128::MAX - 5000 * round as u128).to_be_bytes();
            let (mut expected, mut got) = (text.clone(), text.clone());
            cpu.ctr_xor(&initial, 3000, &mut expected[start..start + size]);
            both.ctr_xor(&initial, 3000, &mut got[start..start + size]);
            assert!(got == expected, "CTR, {size} bytes, key of {key_size}");
            let whole = size / 16 * 16;
            let (mut expected, mut got) = (text.clone(), text.clone());
            let (mut chain, mut chain_too) = ([5; 16], [5; 16]);
            cpu.cbc_decrypt(&mut chain, &mut expected[start..start + whole]);
            both.cbc_decrypt(&mut chain_too, &mut got[start..start + whole]);
            assert!(got == expected && chain == chain_too, "CBC, {whole} bytes, key of {key_size}");
        }
    }
    assert_eq!(device.fault(), None);
    device.wipe();
}

#[test]
fn several_threads_may_use_one_device_of_each_api() {
    let reports = Adapters::list(false).reports();
    assert!(reports.iter().any(|report| report.api == "gl"), "no adapter of OpenGL");
    for report in reports {
        let opened = WebGpuCipher::open(Some(&report.number.to_string())).unwrap();
        let device: &'static WebGpuCipher = Box::leak(Box::new(opened));
        std::thread::scope(|scope| {
            for number in 0..8_u8 {
                scope.spawn(move || {
                    let cpu = Aes::new(&[number; 32], Backend::best()).unwrap();
                    let engine = Engine::with_accelerator(Backend::best(), device);
                    let both = Aes::new(&[number; 32], engine).unwrap();
                    let text = noise(33_000 + 16 * usize::from(number));
                    for counter in 0..2 {
                        let (mut expected, mut got) = (text.clone(), text.clone());
                        cpu.ctr_xor(&[number; 16], counter, &mut expected);
                        both.ctr_xor(&[number; 16], counter, &mut got);
                        assert!(got == expected, "{}: thread {number}, counter {counter}", report.api);
                    }
                });
            }
        });
        assert_eq!(device.fault(), None, "{}", report.api);
    }
}

#[test]
fn costs_are_measured() {
    let device = WebGpuCipher::open(None).unwrap();
    let costs = device.costs().unwrap();
    let figures = [
        costs.call_seconds,
        costs.transfer_bytes_per_second,
        costs.kernel_bytes_per_second,
        costs.end_to_end_bytes_per_second,
    ];
    assert!(figures.iter().all(|figure| figure.is_finite() && *figure > 0.0), "{costs:?}");
    assert!(costs.call_bytes >= PIECE && costs.staging_bytes > 0);
}
