//! The interface for devices: whichever part of a buffer's front a device processes, the result equals that of the CPU alone.

use cipherloom_kernels::{Accelerator, Aes, Backend, Engine};
use std::sync::atomic::{AtomicUsize, Ordering};

const KEY: [u8; 32] = [0x42; 32];

/// Processes the given number of bytes on the CPU, and never more than there are.
#[derive(Debug, Default)]
struct Partial(AtomicUsize);

impl Partial {
    fn share(&self, length: usize) -> usize {
        self.0.load(Ordering::Relaxed).min(length)
    }
}

impl Accelerator for Partial {
    fn name(&self) -> &str {
        "partial"
    }

    fn ctr_xor(&self, round_keys: &[[u8; 16]], first: u128, buffer: &mut [u8]) -> usize {
        assert_eq!((round_keys.len(), &round_keys[0]), (15, KEY.first_chunk().unwrap()));
        let done = self.share(buffer.len());
        let cpu = Aes::new(&KEY, Backend::Soft).unwrap();
        cpu.ctr_xor(&first.to_be_bytes(), 0, &mut buffer[..done]);
        done
    }

    fn cbc_decrypt(&self, round_keys: &[[u8; 16]], chain: &mut [u8; 16], buffer: &mut [u8]) -> usize {
        assert_eq!(round_keys.len(), 15);
        let done = self.share(buffer.len());
        Aes::new(&KEY, Backend::Soft).unwrap().cbc_decrypt(chain, &mut buffer[..done]);
        done
    }
}

#[test]
fn the_cpu_does_what_a_device_leaves() {
    let device: &'static Partial = Box::leak(Box::default());
    for backend in Backend::available() {
        let cpu = Aes::new(&KEY, backend).unwrap();
        let both = Aes::new(&KEY, Engine::with_accelerator(backend, device)).unwrap();
        let text: Vec<u8> = (0..1000).map(|at| (at * 7) as u8).collect();
        for share in [0, 16, 160, 512, 992, 1000] {
            device.0.store(share, Ordering::Relaxed);
            let (mut expected, mut got) = (text.clone(), text.clone());
            // The counter wraps inside the buffer.
            cpu.ctr_xor(&[0xff; 16], u128::MAX - 9, &mut expected);
            both.ctr_xor(&[0xff; 16], u128::MAX - 9, &mut got);
            assert!(got == expected, "CTR, {share} bytes, {}", backend.name());

            let (mut expected, mut got) = (text[..992].to_vec(), text[..992].to_vec());
            let (mut chain, mut chain_too) = ([1; 16], [1; 16]);
            cpu.cbc_decrypt(&mut chain, &mut expected);
            both.cbc_decrypt(&mut chain_too, &mut got);
            assert!(got == expected && chain == chain_too, "CBC, {share} bytes, {}", backend.name());
        }
    }
}
