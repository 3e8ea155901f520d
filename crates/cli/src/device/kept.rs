//! Devices' figures, kept by `calibrate` beside the machine's own, so that `plan` can say whether a device would be faster
//! without loading a driver.
//!
//! Figures hold for one set of drivers. Files show which drivers are installed (NVIDIA's version in `/proc`, the lists of the
//! Vulkan loader and of libEGL, and the libraries that they name); if these files change, the figures are ignored.

use super::enabled::{Opened, cuda_devices, for_plans, wgpu_devices};
use crate::output;
use cipherloom::machine::{DeviceCosts, calibration_file};
use cipherloom_gpu::Costs;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

const VERSION: u32 = 1;

/// Where the Vulkan loader (LoaderDriverInterface.md, Linux) and libglvnd's libEGL (icd_enumeration.md) look for drivers.
const DRIVERS: [&str; 5] = [
    "/usr/local/share/vulkan/icd.d",
    "/usr/share/vulkan/icd.d",
    "/etc/vulkan/icd.d",
    "/usr/share/glvnd/egl_vendor.d",
    "/etc/glvnd/egl_vendor.d",
];
const NVIDIA_VERSION: &str = "/proc/driver/nvidia/version";

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    /// [`installed_drivers`], when the figures were taken.
    installed: String,
    devices: Vec<KeptDevice>,
}

/// One device's figures.
#[derive(Serialize, Deserialize)]
pub struct KeptDevice {
    backend: String,
    name: String,
    driver: String,
    #[serde(flatten)]
    costs: Costs,
}

fn file() -> Option<PathBuf> {
    Some(calibration_file()?.with_file_name("devices.json"))
}

/// Measures every device of this machine, keeps the figures, and gives them with a line for each that could not be
/// measured.
///
/// # Errors
/// If the figures cannot be kept.
pub fn calibrate() -> std::io::Result<(Vec<KeptDevice>, Vec<String>)> {
    let (mut devices, mut troubles) = (Vec::new(), Vec::new());
    let mut keep = |backend: &str, opened: Opened| {
        let measured =
            opened.and_then(|(device, driver)| Ok((device.costs()?, device.name().to_owned(), driver)));
        match measured {
            Ok((costs, name, driver)) => {
                devices.push(KeptDevice { backend: backend.to_owned(), name, driver, costs });
            }
            Err(error) => troubles.push(error.to_string()),
        }
    };
    cuda_devices().into_iter().for_each(|opened| keep("cuda", opened));
    wgpu_devices().into_iter().for_each(|opened| keep("wgpu", opened));
    let kept = Kept { version: VERSION, installed: installed_drivers(), devices };
    if let Some((path, parent)) = file().as_deref().and_then(|path| Some((path, path.parent()?))) {
        fs::create_dir_all(parent)?;
        let new = tempfile::NamedTempFile::new_in(parent)?;
        serde_json::to_writer_pretty(new.as_file(), &kept)?;
        new.persist(path)?;
    }
    Ok((kept.devices, troubles))
}

/// The kept figures of devices, without loading a driver. Warns of figures of other drivers, and leaves them out.
pub fn known() -> Vec<DeviceCosts> {
    let Some(json) = file().and_then(|path| fs::read(path).ok()) else {
        return Vec::new();
    };
    let problem = match serde_json::from_slice::<Kept>(&json) {
        Ok(kept) if kept.version == VERSION && kept.installed == installed_drivers() => {
            let costs = |KeptDevice { backend, name, driver, costs }: KeptDevice| {
                let backend = if backend == "cuda" { "cuda" } else { "wgpu" };
                for_plans(backend, &name, Some(driver), &costs)
            };
            return kept.devices.into_iter().map(costs).collect();
        }
        Ok(_) => "the drivers have changed since devices were calibrated".to_owned(),
        Err(error) => format!("the devices' figures are damaged ({error})"),
    };
    output::warn(format_args!("{problem}; `cipherloom calibrate` measures again"));
    Vec::new()
}

/// Describes the installed drivers, as files show them: changes whenever one is installed, updated or removed.
fn installed_drivers() -> String {
    let mut words = fs::read_to_string(NVIDIA_VERSION).unwrap_or_default();
    for folder in DRIVERS {
        let mut lists: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        lists.sort();
        for list in lists {
            stamp(&list, &mut words);
            let json = fs::read(&list).unwrap_or_default();
            let json: serde_json::Value = serde_json::from_slice(&json).unwrap_or_default();
            if let Some(library) = json["ICD"]["library_path"].as_str() {
                // The system searches for a name without a folder; the package of that library installs the list too.
                stamp(&list.with_file_name("").join(library), &mut words);
            }
        }
    }
    words
}

fn stamp(path: &Path, words: &mut String) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let seconds = changed.map_or(0, |changed| changed.as_secs());
    let _ = writeln!(words, "{} {} {seconds}", path.display(), metadata.len());
}

/// A device's figures as a person reads them, a line for each.
pub fn lines(devices: &[KeptDevice]) -> String {
    let mut text = String::new();
    for KeptDevice { backend, name, driver, costs } in devices {
        let _ = writeln!(text, "{backend} {name}, driver {driver}:");
        for (what, figure) in [
            ("  a call", output::duration(costs.call_seconds)),
            ("  moved there and back", output::rate(costs.transfer_bytes_per_second)),
            ("  AES-128-CTR by the kernel alone", output::rate(costs.kernel_bytes_per_second)),
            ("  AES-128-CTR there and back", output::rate(costs.end_to_end_bytes_per_second)),
        ] {
            let _ = writeln!(text, "{what:<34}{figure:>14}");
        }
    }
    text
}
