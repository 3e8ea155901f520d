//! `cipherloom devices`: lists the CPU, its backends for AES, and GPUs. `cipherloom calibrate`: measures the machine once and
//! keeps the figures for the planner.

use crate::arguments::{CalibrateArguments, DevicesArguments};
use crate::device::Listing;
use crate::escape;
use crate::exit_code::{ExitCode, failure};
use crate::output::{self, at};
use anyhow::Context;
use cipherloom::machine::Backend;
use cipherloom::machine::{BackendState, Cache, Processor, calibrate, calibration_file};
use std::fmt::Write;

pub fn list(arguments: &DevicesArguments) -> anyhow::Result<ExitCode> {
    #[derive(serde::Serialize)]
    struct Devices {
        cpu: Processor,
        gpu: Listing,
    }
    let devices = Devices { cpu: Processor::detect(), gpu: Listing::new(arguments.validate) };
    output::print_as(arguments.json, &devices, || {
        format!("{}\n{}", table(&devices.cpu), devices.gpu.table())
    })?;
    Ok(ExitCode::Success)
}

fn table(processor: &Processor) -> String {
    let Processor { architecture, cores, features, backends, .. } = processor;
    let cache = |cache: &Cache| {
        format!("L{} {} {}", cache.level, cache.kind.to_lowercase(), output::size(cache.bytes))
    };
    let caches: Vec<String> = processor.caches.iter().map(cache).collect();
    let caches = if caches.is_empty() { "unknown".to_owned() } else { caches.join(", ") };
    let model = processor.model.as_deref().unwrap_or("unknown");
    let mut text = output::table([
        ("CPU", Some(format!("{model} ({architecture})"))),
        ("cores", Some(cores.to_string())),
        ("features", Some(features.join(" "))),
        ("caches", Some(caches)),
    ]);
    let _ = writeln!(text, "\n{:<10}{:>5}  runs here", "backend", "lanes");
    for backend in backends {
        let _ = writeln!(text, "{:<10}{:>5}  {}", backend.name, backend.lanes, describe_state(backend));
    }
    text
}

fn describe_state(backend: &BackendState) -> String {
    let made_for = match backend.name {
        "armv8" => "aarch64",
        "aesni" | "vaes256" | "vaes512" => "x86_64",
        _ => std::env::consts::ARCH,
    };
    match backend {
        BackendState { chosen: true, .. } => "yes, chosen unless --backend names another".to_owned(),
        BackendState { available: true, .. } => "yes".to_owned(),
        _ if made_for == std::env::consts::ARCH => "no, this CPU lacks the instructions".to_owned(),
        _ => format!("no, it is for {made_for} CPUs"),
    }
}

pub fn calibrate_machine(arguments: &CalibrateArguments) -> anyhow::Result<ExitCode> {
    let no_folder =
        || failure(ExitCode::Failure, "no folder to keep the figures in", "set HOME or XDG_CACHE_HOME");
    let path = calibration_file().ok_or_else(no_folder)?;
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let calibration = calibrate(&folder, Backend::best()).with_context(|| escape::path(&folder))?;
    let parent = path.parent().context("the cache folder has no parent")?;
    let keep = || -> std::io::Result<()> {
        std::fs::create_dir_all(parent)?;
        let file = tempfile::NamedTempFile::new_in(parent)?;
        std::fs::write(file.path(), calibration.to_json())?;
        file.persist(&path)?;
        Ok(())
    };
    keep().with_context(|| at(&path, "cannot keep the figures"))?;
    #[cfg(feature = "gpu")]
    let (devices, troubles) = crate::device::kept::calibrate().context("cannot keep the devices' figures")?;
    #[cfg(feature = "gpu")]
    troubles.iter().for_each(|trouble| output::warn(format_args!("{trouble}; it is not in the figures")));
    #[derive(serde::Serialize)]
    struct Figures<'f> {
        #[serde(flatten)]
        calibration: &'f cipherloom::machine::Calibration,
        #[cfg(feature = "gpu")]
        devices: &'f [crate::device::kept::KeptDevice],
    }
    let figures = Figures {
        calibration: &calibration,
        #[cfg(feature = "gpu")]
        devices: &devices,
    };
    output::print_as(arguments.json, &figures, || {
        let mut text = String::new();
        for (name, figure) in calibration.figures() {
            // Figures are printed in suitable units.
            let (name, figure) = match name.rsplit_once(", ") {
                Some((name, "bytes/s")) => (name, output::rate(figure)),
                Some((name, "ns")) => (name, output::duration(figure / 1e9)),
                _ => (name, format!("{figure:.0}")),
            };
            let _ = writeln!(text, "{name:<34}{figure:>14}");
        }
        #[cfg(feature = "gpu")]
        text.push_str(&crate::device::kept::lines(&devices));
        let _ = writeln!(text, "kept in {}", escape::path(&path));
        text
    })?;
    Ok(ExitCode::Success)
}
