//! `cargo xtask bench lcp`: protecting e-books and making licenses, beside Readium's lcpencrypt and `cp`.
//!
//! As the table of all trees: whole processes, warm cache, tmpfs, fresh outputs, rounds in turns.
//! Ratios are of medians. lcpencrypt, which takes ten times as long or more, runs in fewer rounds.

mod books;
mod check;
mod outcome;
mod rows;

use super::measure::{self, Sample};
use super::record::Record;
use super::trees::Medium;
use anyhow::{Context, Result};
use check::Counts;
use cipherloom_peers::{Program, debian};
use clap::ValueEnum;
use outcome::Outcome;
use rows::{Bench, Row};
use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Rounds of `cp` and of the command; lcpencrypt runs at most 3 times, licenses at most 2
    #[arg(long, default_value = "5")]
    rounds: NonZeroUsize,
    /// Only these rows
    #[arg(long, value_enum, value_delimiter = ',')]
    rows: Vec<Row>,
    /// Where the record goes; benchmarks/records/<date>-<processor>-lcp.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures, prints the table and writes the record.
///
/// # Errors
/// If a peer cannot be had, a run fails, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    debian::ensure(&[("unzip", "unzip"), ("openssl", "openssl"), ("go", "golang-go")])?;
    let scratch = Medium::Tmpfs.scratch()?;
    let bench = Bench::prepare(scratch.path())?;
    let mut record = Record::begin("lcp", versions(&bench)?);
    for row in Row::value_variants() {
        if options.rows.is_empty() || options.rows.contains(row) {
            let outcomes = measure_row(&bench, *row, options.rounds.get())?;
            print!("{}", outcome::text(&outcomes));
            record.extend(outcomes);
            // After each row, so that a bench which is stopped has not measured in vain.
            record.write(options.out.as_deref())?;
        }
    }
    Ok(())
}

/// Every variant of one row, in rounds.
fn measure_row(bench: &Bench, row: Row, rounds: usize) -> Result<Vec<Outcome>> {
    bench.plant(row)?;
    let variants = bench.variants(row, rounds);
    let mut samples: Vec<Vec<Sample>> = variants.iter().map(|_| Vec::new()).collect();
    let mut counts = Counts::default();
    for (_, index) in measure::turns(variants.len(), rounds) {
        let variant = &variants[index];
        if samples[index].len() >= variant.rounds {
            continue;
        }
        fs::create_dir_all(bench.target()).context("cannot make the folder for outputs")?;
        let sample = measure::run(&variant.program)?;
        if samples[index].is_empty() {
            counts.check(bench, row, variant)?;
        }
        samples[index].push(sample);
        fs::remove_dir_all(bench.target()).context("cannot remove the outputs")?;
        if bench.keys().exists() {
            fs::remove_file(bench.keys()).context("cannot remove the key file")?;
        }
    }
    counts.agree()?;
    let bytes = size(&bench.source(row))?;
    remove(&bench.source(row))?;
    Ok(outcome::of_row(row, bytes, &variants, samples))
}

fn versions(bench: &Bench) -> Result<BTreeMap<String, String>> {
    let line = |program: Program| -> Result<String> {
        Ok(program.output()?.lines().next().unwrap_or_default().to_owned())
    };
    let module = Program::new("go").args(["version", "-m"]).arg(&bench.lcpencrypt).output()?;
    let server = module.lines().find(|line| line.contains("readium-lcp-server\tv")).unwrap_or_default();
    let server = server.split_whitespace().find(|word| word.starts_with('v')).unwrap_or_default();
    Ok(BTreeMap::from([
        ("cipherloom".into(), line(Program::new(&bench.cipherloom).arg("--version"))?),
        ("cp".into(), line(Program::new("cp").arg("--version"))?),
        ("go".into(), line(Program::new("go").arg("version"))?),
        ("github.com/readium/readium-lcp-server".into(), server.to_owned()),
    ]))
}

/// Bytes of a file, or of the files of a folder.
fn size(path: &Path) -> Result<u64> {
    let about = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    path.read_dir()?.map(|entry| size(&entry?.path())).sum()
}

/// Memory files are memory: what is measured is not needed any more.
fn remove(path: &Path) -> Result<()> {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
        .with_context(|| format!("cannot remove {}", path.display()))
}
