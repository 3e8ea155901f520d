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
    if arguments.json {
        output::print_json(&calibration)?;
        return Ok(ExitCode::Success);
    }
    let mut text = String::new();
    for (name, figure) in calibration.figures() {
        let figure = if name.ends_with("/s") {
            format!("{}/s", output::size(figure as u64))
        } else {
            format!("{figure:.0}")
        };
        writeln!(text, "{name:<34}{figure:>14}")?;
    }
    writeln!(text, "kept in {}", output::printable(&path))?;
    output::print(&text)?;
    Ok(ExitCode::Success)
}
