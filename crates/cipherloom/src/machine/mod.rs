//! The machine: what it has, and what its fixed costs are. The planner decides from this value alone.

mod calibration;
mod device;
mod kept;
mod measure;
mod processor;

pub use calibration::Calibration;
pub use device::DeviceCosts;
pub use kept::calibration_file;
pub use measure::calibrate;
pub use processor::{BackendState, Cache, Processor};

use cipherloom_kernels::Backend;
use std::num::NonZeroUsize;

/// What a plan needs to know of the machine. Cheap to make: it asks the system for its processors (with the
/// process's affinity and container limits) and the limit of open files, and measures nothing.
#[derive(Debug, Clone)]
pub struct Machine {
    /// How many threads can run at once (affinity and container limits counted in).
    pub cores: NonZeroUsize,
    /// The AES backend to use: the one that this CPU runs best, unless changed.
    pub backend: Backend,
    /// How many files the process may hold open at once.
    pub open_files: usize,
    /// Fixed costs, measured or assumed.
    pub calibration: Calibration,
    /// A device that was handed in beside the CPU, and what it costs.
    pub device: Option<DeviceCosts>,
    /// Devices that are not handed in, with what they were measured to cost earlier: a plan says whether one would pay.
    pub known_devices: Vec<DeviceCosts>,
}

impl Machine {
    /// Looks at this machine; `calibration` as read from the user's cache, or the built-in default.
    #[must_use]
    pub fn detect(calibration: Calibration) -> Machine {
        Machine {
            cores: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            backend: Backend::best(),
            open_files: open_files(),
            calibration,
            device: None,
            known_devices: Vec::new(),
        }
    }
}

#[cfg(unix)]
fn open_files() -> usize {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// What the C library of Windows allows by default.
#[cfg(not(unix))]
fn open_files() -> usize {
    512
}
