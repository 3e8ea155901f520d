//! `cargo xtask bench stores`: encryption from bucket to bucket beside a copy by the same client, and beside a script of
//! boto3 and pyca (`benchmarks/stores.py`).

use crate::chore::Program;
use crate::{interop, place, stores};
use anyhow::Result;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where the record goes
    #[arg(long, value_name = "FILE", default_value = "benchmarks/records/stores.json")]
    out: PathBuf,
    /// Rounds of every contestant
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

/// Measures, prints and writes the record.
///
/// # Errors
/// If something it needs cannot be had, a run fails, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = place::root().join("benchmarks");
    let requirements = folder.join("stores-requirements.txt");
    let python = interop::environment(&place::target().join("bench-stores"), &requirements)?;
    Program::new(python)
        .folder(place::root())
        .arg(folder.join("stores.py"))
        .arg("--command")
        .arg(place::release_build()?)
        .arg("--versitygw")
        .arg(stores::versitygw()?)
        .arg("--rounds")
        .arg(options.rounds.to_string())
        .arg("--out")
        .arg(&options.out)
        .run()
}
