//! An NVIDIA device that runs AES: opens and checks it, and implements
//! [`cipherloom_kernels::Accelerator`] for it.

use super::devices::list;
use super::stages::CudaStages;
use crate::device::{PATIENCE, choose};
use crate::staging::Staged;
use crate::{Error, self_test};
use std::time::Duration;

/// AES-CTR and CBC decryption on one of NVIDIA's devices, by the bitsliced kernels: they look nothing up in tables, so
/// that other programs on the device learn nothing from their timing.
pub type CudaCipher = Staged<CudaStages>;

impl CudaCipher {
    /// Opens a device by its number or a part of its name, or the first; compiles the kernels and checks them against
    /// this processor.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if driver, compiler or device is missing; [`Error::UnknownDevice`]; [`Error::OutOfMemory`];
    /// [`Error::Driver`]; [`Error::Miscomputes`] if the device gives wrong results.
    pub fn open(wanted: Option<&str>) -> Result<CudaCipher, Error> {
        CudaCipher::with_limit(wanted, PATIENCE)
    }

    /// `limit`: how long a piece may take.
    fn with_limit(wanted: Option<&str>, limit: Duration) -> Result<CudaCipher, Error> {
        let mut devices = list()?;
        let number =
            wanted.map_or(Ok(0), |wanted| choose(&devices, wanted, |device| (&device.name, None)))?;
        let report = devices.swap_remove(number);
        let staged = Staged::new(report.name.clone(), CudaStages::new(&report, limit)?);
        self_test::check(&staged, &report.driver)?;
        Ok(staged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::noise;
    use crate::{Device, over_stand_in};
    use cipherloom_kernels::{Accelerator, Aes, Backend, Engine};

    /// Two pieces.
    fn text() -> Vec<u8> {
        let mut text = noise(9_000_003);
        // This word distinguishes work from the self-test for the driver.
        text.chunks_exact_mut(20_000).for_each(|part| part[..4].copy_from_slice(b"MARK"));
        text
    }

    fn texts() -> Vec<String> {
        vec![super::super::text()]
    }

    const SECOND_HANGS: [(&str, &str); 1] = [("CUDA_TEST_FAIL", "work:2:-1")];
    const KEY: [u8; 32] = [3; 32];
    const FIRST: u128 = u128::MAX - 1000;

    /// A device with a very short time limit, and the right result for the text.
    fn beginning() -> (CudaCipher, Vec<u8>) {
        let cipher = CudaCipher::with_limit(None, Duration::from_millis(50)).unwrap();
        let mut expected = text();
        Aes::new(&KEY, Backend::best()).unwrap().ctr_xor(&FIRST.to_be_bytes(), 0, &mut expected);
        (cipher, expected)
    }

    #[test]
    fn a_device_that_hangs_is_given_up_and_nothing_is_taken_from_it() {
        let name = "a_device_that_hangs_is_given_up_and_nothing_is_taken_from_it";
        over_stand_in::run(module_path!(), name, &SECOND_HANGS, texts, || {
            let ((cipher, expected), mut got) = (beginning(), text());
            let done = cipher.ctr_xor(&self_test::round_keys(&KEY), FIRST, &mut got);
            assert!(done > 0 && got[..done] == expected[..done] && got[done..] == text()[done..]);
            let fault = cipher.fault().unwrap().to_string();
            assert!(fault.contains("did not end its work within 0.05 s and counts as lost"), "{fault}");
            // The memory that it may still access is neither wiped nor freed, and nothing waits for its context. The driver
            // checks this.
            cipher.wipe();
            drop(cipher);
            assert!(matches!(CudaCipher::open(None), Err(Error::Hangs { .. })));
        });
    }

    #[test]
    fn the_cpu_does_the_rest_of_what_a_device_hangs_on() {
        let name = "the_cpu_does_the_rest_of_what_a_device_hangs_on";
        over_stand_in::run(module_path!(), name, &SECOND_HANGS, texts, || {
            let ((cipher, expected), mut got) = (beginning(), text());
            let device: &'static CudaCipher = Box::leak(Box::new(cipher));
            let both = Aes::new(&KEY, Engine::with_accelerator(Backend::best(), device)).unwrap();
            both.ctr_xor(&FIRST.to_be_bytes(), 0, &mut got);
            assert!(got == expected && matches!(device.fault(), Some(Error::Hangs { .. })));
        });
    }
}
