//! A device of NVIDIA's that does AES: opened, checked, and handed to the kernels' door.

use super::devices::{DeviceReport, list};
use super::stages::CudaStages;
use crate::device::device;
use crate::staging::Staged;
use crate::{Error, self_test};

/// AES-CTR and CBC decryption on one of NVIDIA's devices, by the bitsliced kernels: they look nothing up in tables, so
/// that other programs on the device learn nothing from their timing.
#[derive(Debug)]
pub struct CudaCipher {
    report: DeviceReport,
    staged: Staged<CudaStages>,
}

impl CudaCipher {
    /// Opens a device by its number or a part of its name, or the first; compiles the kernels and checks them against
    /// this processor.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if driver, compiler or device is missing; [`Error::UnknownDevice`]; [`Error::OutOfMemory`];
    /// [`Error::Driver`]; [`Error::Miscomputes`] if the device gives wrong results.
    pub fn open(wanted: Option<&str>) -> Result<CudaCipher, Error> {
        let mut devices = list()?;
        let number = wanted.map_or(Ok(0), |wanted| choose(&devices, wanted))?;
        let report = devices.swap_remove(number);
        let staged = Staged::new(report.name.clone(), CudaStages::new(&report)?);
        self_test::check(&staged, &report.driver)?;
        Ok(CudaCipher { report, staged })
    }

    /// What the driver says of the device.
    #[must_use]
    pub fn report(&self) -> &DeviceReport {
        &self.report
    }
}

fn choose(devices: &[DeviceReport], wanted: &str) -> Result<usize, Error> {
    if let Some(number) = wanted.parse().ok().filter(|number| *number < devices.len()) {
        return Ok(number);
    }
    let lower = wanted.to_lowercase();
    devices.iter().position(|device| device.name.to_lowercase().contains(&lower)).ok_or_else(|| {
        let known: Vec<String> =
            devices.iter().map(|device| format!("{} ({})", device.number, device.name)).collect();
        Error::UnknownDevice { wanted: wanted.to_owned(), known: known.join(", ") }
    })
}

device!(CudaCipher);
