//! The machine: what it has, and what its fixed costs are. The planner decides from this value alone.
//!
//! ```
//! use cipherloom::machine::{Calibration, Machine, calibration_file};
//!
//! // The figures that `calibrate` measured and a program stored, or the built-in ones.
//! let stored = calibration_file().and_then(|path| std::fs::read(path).ok());
//! let calibration = stored.and_then(|json| Calibration::from_json(&json).ok()).unwrap_or_default();
//! let machine = Machine::detect(calibration);
//! assert!(machine.cores.get() >= 1 && machine.backend.is_available());
//! ```

mod calibration;
mod measure;
mod processor;

pub use calibration::{Calibration, calibration_file};
pub use cipherloom_kernels::{Accelerator, Backend, Engine};
pub use measure::calibrate;
pub use processor::{BackendState, Cache, Processor};

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

/// What a device was measured to cost on this machine. Rates in bytes per second.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::write("film", vec![0; 64 << 20]).unwrap();
/// use cipherloom::format::{Cipher, IvPolicy};
/// use cipherloom::machine::{Accelerator, Calibration, DeviceCosts, Engine, Machine};
/// use cipherloom::plan::{DeviceChoice, DeviceTimes, DeviceVerdict};
/// use cipherloom::{Format, key::RawKey, machine::Backend};
///
/// /// A device that leaves all work to the CPU.
/// #[derive(Debug)]
/// struct Idle;
///
/// impl Accelerator for Idle {
///     fn name(&self) -> &str {
///         "idle"
///     }
///     fn ctr_xor(&self, _round_keys: &[[u8; 16]], _first: u128, _buffer: &mut [u8]) -> usize {
///         0
///     }
///     fn cbc_decrypt(&self, _round_keys: &[[u8; 16]], _chain: &mut [u8; 16], _buffer: &mut [u8]) -> usize {
///         0
///     }
/// }
///
/// let engine = Engine::with_accelerator(Backend::best(), &Idle);
/// let key = RawKey::from_bytes(&[7; 32])?;
/// let format = Format::raw(Cipher::Aes256Ctr, &key, IvPolicy::Prefixed, engine)?;
/// let costs = DeviceCosts {
///     backend: "example",
///     name: "idle".to_owned(),
///     driver: None,
///     call_seconds: 1e-5,
///     transfer_bytes_per_second: 1e12,
///     kernel_bytes_per_second: 1e12,
///     end_to_end_bytes_per_second: 1e12,
///     call_bytes: 16 << 20,
///     staging_bytes: 32 << 20,
///     is_forced: false,
/// };
/// assert_eq!(costs.title(), "example (idle)");
/// let machine = Machine { device: Some(costs), ..Machine::detect(Calibration::default()) };
/// let plan = cipherloom::encrypt("film", "film.raw").format(format).machine(machine).plan()?;
/// assert_eq!(plan.device(), Some("example (idle)"));
/// let DeviceChoice { verdict, times, .. } = &plan.describe().devices[0];
/// assert_eq!(*verdict, DeviceVerdict::Works);
/// let DeviceTimes { device_seconds, cpu_seconds, .. } = times.expect("CTR may run on a device");
/// assert!(device_seconds < cpu_seconds);
/// # Ok::<(), cipherloom::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceCosts {
    /// Its backend's name: `wgpu`, `cuda`.
    pub backend: &'static str,
    /// The device's own name.
    pub name: String,
    /// Its driver, where that is known.
    pub driver: Option<String>,
    /// Seconds of the smallest piece, there and back: launch, and waiting for its end.
    pub call_seconds: f64,
    /// Moving bytes there and back, without a kernel.
    pub transfer_bytes_per_second: f64,
    /// The kernel alone, on bytes that are there: AES-128-CTR.
    pub kernel_bytes_per_second: f64,
    /// All of it in long pieces, moving and computing overlapped as far as the device can.
    pub end_to_end_bytes_per_second: f64,
    /// Bytes that one call should bring, for its fixed cost not to count.
    pub call_bytes: usize,
    /// Bytes of memory of this machine that it holds for staging.
    pub staging_bytes: usize,
    /// Whether it works whatever the planner thinks of it: somebody asked for it by name.
    pub is_forced: bool,
}

impl DeviceCosts {
    /// Backend and name, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} ({})", self.backend, self.name)
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
