//! `cipherloom calibrate`: measures this machine once and keeps the figures for the planner.

use crate::arguments::CalibrateArguments;
use crate::exit_code::ExitCode;
use crate::output;
use anyhow::Context;
use cipherloom::Backend;
use cipherloom::machine::{calibrate, calibration_file};
use std::fmt::Write;

pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<ExitCode> {
    let path = calibration_file().context("no folder to keep the figures in; set HOME or XDG_CACHE_HOME")?;
    let folder = arguments.folder.clone().unwrap_or_else(std::env::temp_dir);
    let calibration = calibrate(&folder, Backend::best()).with_context(|| output::printable(&folder))?;
    let parent = path.parent().context("the cache folder has no parent")?;
    let keep = || -> std::io::Result<()> {
        std::fs::create_dir_all(parent)?;
        let file = tempfile::NamedTempFile::new_in(parent)?;
        std::fs::write(file.path(), calibration.to_json())?;
        file.persist(&path)?;
        Ok(())
    };
    keep().with_context(|| format!("{}: cannot keep the figures", output::printable(&path)))?;
    #[cfg(feature = "gpu")]
    let (devices, troubles) = crate::device::kept::calibrate().context("cannot keep the devices' figures")?;
    #[cfg(feature = "gpu")]
    troubles.iter().for_each(|trouble| output::warn(format_args!("{trouble}; it is not in the figures")));
    if arguments.json {
        #[derive(serde::Serialize)]
        struct Figures<'f> {
            #[serde(flatten)]
            calibration: &'f cipherloom::machine::Calibration,
            #[cfg(feature = "gpu")]
            devices: &'f [crate::device::kept::KeptDevice],
        }
        output::print_json(&Figures {
            calibration: &calibration,
            #[cfg(feature = "gpu")]
            devices: &devices,
        })?;
        return Ok(ExitCode::Success);
    }
    let mut text = String::new();
    for (name, figure) in calibration.figures() {
        // Figures are told in units that suit them.
        let (name, figure) = match name.rsplit_once(", ") {
            Some((name, "bytes/s")) => (name, output::rate(figure)),
            Some((name, "ns")) => (name, output::duration(figure / 1e9)),
            _ => (name, format!("{figure:.0}")),
        };
        writeln!(text, "{name:<34}{figure:>14}")?;
    }
    #[cfg(feature = "gpu")]
    text.push_str(&crate::device::kept::lines(&devices));
    writeln!(text, "kept in {}", output::printable(&path))?;
    output::print(&text)?;
    Ok(ExitCode::Success)
}
