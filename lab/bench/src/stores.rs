//! `cargo xtask bench stores`: encryption from bucket to bucket beside a copy by the same client, and beside a script of
//! boto3 and pyca (`benchmarks/stores.py` runs and checks them; the record is made here).

use super::record::Record;
use anyhow::{Context, Result};
use cipherloom_peers::{Program, place, python_environment, versitygw, versitygw_version};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the record goes; benchmarks/records/<date>-<processor>-stores.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Rounds of every contestant
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only these (5000x64K, 8x64M)
    #[arg(long, value_delimiter = ',')]
    workloads: Vec<String>,
}

/// Measures, prints and writes the record.
///
/// # Errors
/// If something it needs cannot be had, a run fails, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = place::root().join("benchmarks");
    let requirements = folder.join("stores-requirements.txt");
    let python = python_environment(&place::target().join("bench-stores"), &requirements)?;
    let gateway = versitygw()?;
    let results = place::target().join("bench-stores/results.json");
    let mut program = Program::new(python)
        .folder(place::root())
        .arg(folder.join("stores.py"))
        .arg("--command")
        .arg(place::release_build()?)
        .arg("--versitygw")
        .arg(&gateway)
        .arg("--rounds")
        .arg(options.rounds.to_string())
        .arg("--out")
        .arg(&results);
    if !options.workloads.is_empty() {
        program = program.arg("--workloads").args(&options.workloads);
    }
    let mut record: Record<serde_json::Value> = Record::begin("stores", peers(&requirements)?);
    program.environment("PYTHONDONTWRITEBYTECODE", "1").run()?;
    let text =
        std::fs::read_to_string(&results).with_context(|| format!("cannot read {}", results.display()))?;
    let cells: Vec<serde_json::Value> = serde_json::from_str(&text).context("the results are no JSON")?;
    record.extend(cells);
    record.write(options.out.as_deref())
}

/// The gateway, and what the script is made of, with their versions.
fn peers(requirements: &std::path::Path) -> Result<BTreeMap<String, String>> {
    let pinned = std::fs::read_to_string(requirements).context("cannot read the script's requirements")?;
    let lines = pinned.lines().filter_map(|line| line.split_once("=="));
    let gateway = ("versitygw", versitygw_version());
    Ok(lines.chain([gateway]).map(|(name, version)| (name.to_owned(), version.to_owned())).collect())
}
