//! NVIDIA's devices on this machine.

use super::{refused, require_driver};
use crate::Error;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, sys};
use serde::Serialize;

/// The driver's description of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceReport {
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: [i32; 2],
    /// Streaming multiprocessors.
    pub multiprocessors: i32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Memory that a block of threads may share on request, in bytes.
    pub shared_bytes: i32,
    /// The clock of the multiprocessors, in kHz.
    pub clock_khz: i32,
    /// The version of CUDA that the driver supports: `12.8`.
    pub driver: String,
}

/// The oldest supported version of CUDA. From 12.1 on (driver 530) a kernel may have more than 4,096 bytes of parameters
/// (CUDA C++ programming guide, function parameters), and the round keys alone are 7,680. Older versions also lack functions,
/// and then cudarc panics.
const OLDEST: (i32, i32) = (12, 1);

/// Every device that the driver lists.
///
/// # Errors
/// [`Error::NoDevice`] if there is no driver or no device; [`Error::Driver`].
pub fn list() -> Result<Vec<DeviceReport>, Error> {
    require_driver()?;
    let version = driver_version().map_err(|error| refused("cuda", "tell its version", &error))?;
    if version < OLDEST {
        let (version, oldest) = (words(version), words(OLDEST));
        let reason = format!("the driver is for CUDA {version}, and {oldest} or later is needed");
        return Err(Error::NoDevice { api: "cuda", reason });
    }
    let refuse = |error| refused("cuda", "list its devices", &error);
    let nothing = |reason: String| Error::NoDevice { api: "cuda", reason };
    let count = CudaContext::device_count().map_err(|error| nothing(format!("the driver says {error}")))?;
    if count == 0 {
        return Err(nothing("the driver is there, and sees no device".to_owned()));
    }
    (0..count as usize).map(|number| report(number).map_err(refuse)).collect()
}

fn report(number: usize) -> Result<DeviceReport, cudarc::driver::DriverError> {
    let context = CudaContext::new(number)?;
    let (major, minor) = context.compute_capability()?;
    Ok(DeviceReport {
        number,
        name: context.name()?,
        compute_capability: [major, minor],
        multiprocessors: context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        memory_bytes: context.total_mem()? as u64,
        shared_bytes: context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        clock_khz: context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        driver: words(driver_version()?),
    })
}

/// The version of CUDA that the driver supports, major and minor.
fn driver_version() -> Result<(i32, i32), cudarc::driver::DriverError> {
    let mut version = 0;
    // SAFETY: the driver's library is loaded, and writes one number to the given address.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok((version / 1000, version % 1000 / 10))
}

fn words((major, minor): (i32, i32)) -> String {
    format!("{major}.{minor}")
}
