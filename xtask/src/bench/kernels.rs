//! `cargo xtask bench kernels`: the kernels alone, in memory; the measuring is theirs (`crates/kernels/benches`).

use super::record::Record;
use super::trees::{Medium, Scratch};
use crate::chore::Program;
use crate::place;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Five turns in place of fifteen
    #[arg(long)]
    quick: bool,
    /// Only tables whose title holds this text, such as "AES-128 CTR"
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Without OpenSSL and intel-ipsec-mb
    #[arg(long)]
    no_peers: bool,
    /// Where the record goes; benchmarks/records/<date>-<processor>-kernels.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the kernels' own bench and writes its lines into a record that names the machine.
///
/// # Errors
/// If the bench fails (a wrong result is one reason), or its lines are not what they should be.
pub(crate) fn run(options: &Options) -> Result<()> {
    let bench = ["bench", "--package", "cipherloom-kernels", "--bench", "throughput"];
    // Built first, so that the load which the record notes is not the compiler's.
    Program::cargo().folder(place::root()).args(bench).arg("--no-run").run()?;
    let mut record: Record<Value> = Record::begin("kernels", BTreeMap::new());
    let scratch = Scratch::new(Medium::Tmpfs, "kernels")?;
    let lines = scratch.path().join("kernels.json");
    let mut program = Program::cargo().folder(place::root()).args(bench).args(["--", "--json"]).arg(&lines);
    if options.quick {
        program = program.arg("--quick");
    }
    if options.no_peers {
        program = program.arg("--no-peers");
    }
    if let Some(only) = &options.only {
        program = program.args(["--only", only]);
    }
    program.run()?;
    let text = std::fs::read_to_string(&lines).with_context(|| format!("cannot read {}", lines.display()))?;
    for line in text.lines() {
        let value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        record.extend([value]);
    }
    record.write(options.out.as_deref())
}
