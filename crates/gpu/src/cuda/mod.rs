//! NVIDIA's devices, through the driver's library and its run-time compiler, which are both looked up when the program runs.
//!
//! cudarc panics if a library or one of its functions is missing, so this module checks for the libraries before it calls
//! cudarc.

pub(crate) mod bounded;
pub(crate) mod buffers;
mod cipher;
pub(crate) mod compile;
mod devices;
mod stages;

pub use cipher::CudaCipher;
pub use compile::{compile, text};
pub use devices::{DeviceReport, list};

use crate::Error;
use crate::keys::MOST_MASKS;
use cudarc::driver::DeviceRepr;
use std::fmt::Display;
use zeroize::Zeroize;

/// The masks as a kernel parameter.
#[repr(C)]
#[derive(Clone, Zeroize)]
pub struct Keys([u32; MOST_MASKS]);

// SAFETY: plain numbers, laid out as the kernels' struct of the same name.
unsafe impl DeviceRepr for Keys {}

impl Keys {
    /// All zero.
    pub fn zero() -> Keys {
        Keys([0; MOST_MASKS])
    }

    /// Copies masks for every round to where they stay, so that no second copy is left on the stack.
    pub fn set(&mut self, masks: &[u32]) {
        self.0.copy_from_slice(masks);
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Keys")
    }
}

/// Whether the library of NVIDIA's driver is on this machine, whatever it can do.
#[must_use]
pub fn has_driver() -> bool {
    // SAFETY: loads the driver's library by its well-known name, and nothing else.
    unsafe { cudarc::driver::sys::is_culib_present() }
}

/// Makes sure that the driver's library is there.
fn require_driver() -> Result<(), Error> {
    if has_driver() {
        return Ok(());
    }
    Err(Error::NoDevice { api: "cuda", reason: "NVIDIA's driver (libcuda) is not installed".to_owned() })
}

/// Makes sure that the compiler's library is there.
fn require_compiler() -> Result<(), Error> {
    // SAFETY: loads the compiler's library by its well-known name, and nothing else.
    if unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return Ok(());
    }
    let reason = "NVIDIA's run-time compiler (libnvrtc) is not installed".to_owned();
    Err(Error::NoDevice { api: "cuda", reason })
}

/// The driver's refusal as an error.
pub fn refused(device: &str, action: &'static str, reason: &impl Display) -> Error {
    let (device, reason) = (device.to_owned(), reason.to_string());
    if reason.contains("OUT_OF_MEMORY") {
        return Error::OutOfMemory { device };
    }
    let is_lost = [
        "CONTEXT_IS_DESTROYED",
        "DEVICE_UNAVAILABLE",
        "ECC_UNCORRECTABLE",
        "HARDWARE_STACK_ERROR",
        "ILLEGAL_ADDRESS",
        "LAUNCH_FAILED",
        "LAUNCH_TIMEOUT",
        "NO_DEVICE",
    ];
    if is_lost.iter().any(|name| reason.contains(name)) {
        return Error::Lost { device, reason };
    }
    Error::Driver { device, action, reason }
}
