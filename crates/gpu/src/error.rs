//! What can go wrong with devices: each names the device, the cause and the remedy.

use std::time::Duration;
use thiserror::Error;

/// Why a device could not be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// There is no device of this kind.
    #[error("no device of {api}: {reason}")]
    NoDevice {
        /// `wgpu` or `cuda`.
        api: &'static str,
        /// Why.
        reason: String,
    },
    /// No device has this number or name.
    #[error("no device is called `{wanted}`; there are: {known}")]
    UnknownDevice {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
    /// The driver refused.
    #[error("{device}: the driver cannot {action}: {reason}")]
    Driver {
        /// The device's name.
        device: String,
        /// What was tried.
        action: &'static str,
        /// The driver's words.
        reason: String,
    },
    /// The device has not enough memory.
    #[error("{device}: out of device memory; end other programs that use it, or leave the work to the CPU")]
    OutOfMemory {
        /// The device's name.
        device: String,
    },
    /// The device is gone: reset, unplugged, or its driver crashed.
    #[error("{device}: the device was lost: {reason}")]
    Lost {
        /// The device's name.
        device: String,
        /// The driver's words.
        reason: String,
    },
    /// What the device was given does not end.
    #[error(
        "{device}: the device did not end its work within {} s and counts as lost: end the programs that hang on it, or \
         restart the machine", .limit.as_secs_f64()
    )]
    Hangs {
        /// The device's name.
        device: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The device gives wrong results.
    #[error(
        "{device} with driver {driver} computes wrongly ({what}) and is not used: another driver version may help"
    )]
    Miscomputes {
        /// The device's name.
        device: String,
        /// Its driver and version.
        driver: String,
        /// Which check failed.
        what: String,
    },
}
