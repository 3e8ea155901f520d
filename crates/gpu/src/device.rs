//! What every kind of device offers beyond the kernels' [`Accelerator`].

use crate::Error;
use crate::costs::Costs;
use cipherloom_kernels::Accelerator;
use std::time::Duration;

/// How long a piece of work may take: a kernel that does not end then hangs. Drivers with a limit of their own give up after a
/// few seconds.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An opened device that runs AES-CTR and CBC decryption, with the same output as the CPU. After a failure it leaves
/// everything to the CPU.
pub trait Device: Accelerator + Send {
    /// Measures its costs, in less than a second on hardware.
    ///
    /// # Errors
    /// If the device fails.
    fn costs(&self) -> Result<Costs, Error>;

    /// The failure after which it stopped working, if there was one.
    fn fault(&self) -> Option<&Error>;

    /// Whether to leave everything to the CPU.
    fn set_idle(&self, idle: bool);

    /// Sets how many pieces may be in flight; with 1 nothing overlaps. Devices have at most three slots.
    fn set_slots(&self, most: usize);

    /// Overwrites the texts and keys in our own buffers.
    fn wipe(&self);
}

/// The number of the device that is meant: its number itself, or a part of its name in whichever case. `names` gives a device's name,
/// and its API where there are several.
pub(crate) fn choose<D>(
    devices: &[D],
    wanted: &str,
    names: impl Fn(&D) -> (&str, Option<&str>),
) -> Result<usize, Error> {
    if let Some(number) = wanted.parse().ok().filter(|number| *number < devices.len()) {
        return Ok(number);
    }
    let lower = wanted.to_lowercase();
    devices.iter().position(|device| names(device).0.to_lowercase().contains(&lower)).ok_or_else(|| {
        let known = devices.iter().enumerate().map(|(number, device)| match names(device) {
            (name, Some(api)) => format!("{number} ({name}, {api})"),
            (name, None) => format!("{number} ({name})"),
        });
        Error::UnknownDevice { wanted: wanted.to_owned(), known: known.collect::<Vec<_>>().join(", ") }
    })
}
