//! What can go wrong with devices: each error names the device, what failed and the cause.

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
        /// The number or name that was given.
        wanted: String,
        /// The devices that exist.
        known: String,
    },
    /// The driver refused.
    #[error("{device}: the driver cannot {action}: {reason}")]
    Driver {
        /// The device's name.
        device: String,
        /// What the driver was to do.
        action: &'static str,
        /// The driver's message.
        reason: String,
    },
    /// The device has not enough memory.
    #[error("{device}: out of device memory")]
    OutOfMemory {
        /// The device's name.
        device: String,
    },
    /// The device is gone: reset, unplugged, or its driver crashed.
    #[error("{device}: the device was lost: {reason}")]
    Lost {
        /// The device's name.
        device: String,
        /// The driver's message.
        reason: String,
    },
    /// What the device was given does not end.
    #[error("{device}: the device did not end its work within {} s and counts as lost", .limit.as_secs_f64())]
    Hangs {
        /// The device's name.
        device: String,
        /// How long the program waited.
        limit: Duration,
    },
    /// The device gives wrong results.
    #[error("{device} with driver {driver} computes wrongly and is not used: {what}")]
    Miscomputes {
        /// The device's name.
        device: String,
        /// Its driver and version.
        driver: String,
        /// Which check failed.
        what: String,
    },
}
