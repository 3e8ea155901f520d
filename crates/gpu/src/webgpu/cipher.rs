//! A wgpu device that runs AES: opens, checks and measures it, and implements
//! [`cipherloom_kernels::Accelerator`] for it.

use super::adapters::Adapters;
use super::context::Context;
use super::stages::WebGpuStages;
use crate::staging::Staged;
use crate::{Error, self_test};
use std::sync::Arc;

/// AES-CTR and CBC decryption on a device of wgpu. Bit for bit what the CPU gives; after a failure it leaves
/// everything to the CPU.
pub type WebGpuCipher = Staged<WebGpuStages>;

impl WebGpuCipher {
    /// Opens a device (see [`Adapters::open`]), compiles the kernels and checks them against this processor.
    ///
    /// # Errors
    /// As [`Adapters::open`]; [`Error::OutOfMemory`]; [`Error::Miscomputes`] if the device gives wrong results.
    pub fn open(wanted: Option<&str>) -> Result<WebGpuCipher, Error> {
        WebGpuCipher::on(Adapters::with(wanted).open(wanted)?, |source| source)
    }

    fn on(context: Context, alter: impl Fn(String) -> String) -> Result<WebGpuCipher, Error> {
        let (name, driver) = (context.report().name.clone(), context.report().driver.clone());
        let cipher = Staged::new(name, WebGpuStages::new(Arc::new(context), alter)?);
        self_test::check(&cipher, &driver)?;
        Ok(cipher)
    }
}

impl Adapters {
    /// Opens a device and checks it against this processor.
    ///
    /// # Errors
    /// As [`WebGpuCipher::open`].
    pub fn check(&self, number: usize) -> Result<(), Error> {
        WebGpuCipher::on(self.open(Some(&number.to_string()))?, |source| source).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use cipherloom_kernels::{Accelerator, Aes, Backend, Engine};

    fn context_of(cipher: &WebGpuCipher) -> Arc<Context> {
        cipher.with(|stages| Arc::clone(&stages.context))
    }

    #[test]
    fn a_device_that_computes_wrongly_is_refused_by_its_name() {
        let context = Adapters::list(false).open(None).unwrap();
        let (name, driver) = (context.report().name.clone(), context.report().driver.clone());
        // One product of the S-box as a sum.
        let spoil = |source: String| {
            let at = source.find(" & w").expect("the circuit has products");
            [&source[..at], " ^ w", &source[at + 4..]].concat()
        };
        let refused = WebGpuCipher::on(context, spoil).unwrap_err();
        assert!(matches!(refused, Error::Miscomputes { .. }), "{refused}");
        let words = refused.to_string();
        assert!(words.contains(&name) && words.contains(&driver) && words.contains("AES-128-CTR"), "{words}");
    }

    #[test]
    fn a_device_that_is_lost_on_the_way_says_so_and_leaves_the_text_alone() {
        let cipher = WebGpuCipher::open(None).unwrap();
        context_of(&cipher).device().destroy();
        let mut text = vec![1; 1 << 20];
        assert_eq!(cipher.ctr_xor(&self_test::round_keys(&[0; 16]), 0, &mut text), 0);
        assert!(text.iter().all(|byte| *byte == 1));
        assert!(cipher.fault().is_some());
        assert_eq!(cipher.ctr_xor(&self_test::round_keys(&[0; 16]), 0, &mut text), 0);
    }

    #[test]
    fn a_device_that_is_lost_in_the_midst_of_a_text_loses_none_of_it() {
        let device: &'static WebGpuCipher = Box::leak(Box::new(WebGpuCipher::open(None).unwrap()));
        let cpu = Aes::new(&[3; 32], Backend::best()).unwrap();
        let both = Aes::new(&[3; 32], Engine::with_accelerator(Backend::best(), device)).unwrap();
        let text: Vec<u8> = (0..12 << 20).map(|at: usize| (at ^ (at >> 9)) as u8).collect();
        let (mut expected, mut got) = (text.clone(), text);
        cpu.ctr_xor(&[0xff; 16], 0, &mut expected);
        let context = context_of(device);
        let taker = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(40));
            context.device().destroy();
        });
        both.ctr_xor(&[0xff; 16], 0, &mut got);
        taker.join().unwrap();
        assert!(got == expected);
        // Whenever the device was lost, the error is reported from now on, and the text is still complete.
        both.ctr_xor(&[0xff; 16], 0, &mut got);
        cpu.ctr_xor(&[0xff; 16], 0, &mut expected);
        assert!(got == expected && matches!(device.fault(), Some(Error::Lost { .. } | Error::Driver { .. })));
    }
}
