//! `cargo xtask bench`: the command beside its peers on this machine, in one run.
//!
//! Wall time of whole processes, warm cache, output to a fresh folder. Each round runs every variant once, in a random order
//! and in the next round in that order reversed, as the lab's contests do; a ratio is taken to the `cp -r` of its own round.
//! A variant's first output over each tree is checked by another program.

mod check;
mod lcp;
mod measure;
mod peers;
mod record;
mod stores;
mod table;
mod tail;
mod trees;
mod variants;

use anyhow::{Context, Result, bail};
use cipherloom_lab::commands;
use cipherloom_peers::{Program, debian, place};
use clap::Parser;
use measure::Sample;
use peers::{Choice, Peers};
use record::{Cell, Record};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use trees::{Medium, ROWS, Row};
use variants::{Input, Variant};

#[derive(clap::Parser)]
#[command(
    name = "cargo xtask bench",
    bin_name = "cargo xtask bench",
    about = "The command beside its peers on this machine",
    args_conflicts_with_subcommands = true,
    max_term_width = 100
)]
struct Options {
    #[command(subcommand)]
    other: Option<Other>,
    /// Few rounds, and no tree above a gigabyte
    #[arg(long)]
    quick: bool,
    /// Only these rows, by name (100x128B, 100x4K, 10000x4K, 100x256K, 100x4M, 1x2G)
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Only variants whose name holds one of these words
    #[arg(long, value_delimiter = ',')]
    variants: Vec<String>,
    /// Where trees and outputs lie; both if left out
    #[arg(long)]
    on: Option<Medium>,
    /// Which other programs to measure
    #[arg(long, value_enum, default_value_t = Choice::Core)]
    peers: Choice,
    /// Rounds of every row
    #[arg(long)]
    rounds: Option<usize>,
    /// Where the record goes; benchmarks/records/<date>-<processor>.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Other {
    /// The kernels alone, in memory
    Kernels,
    /// Many runs over one tree: median, p95, p99, most, anomalous delays
    Tail(tail::Options),
    /// Protecting e-books and making licenses, beside Readium's lcpencrypt and cp
    Lcp(lcp::Options),
    /// Encryption from bucket to bucket, beside a copy by the same client and a script of boto3 and pyca
    Stores(stores::Options),
}

fn main() -> ExitCode {
    let options = Options::parse();
    let done = match &options.other {
        Some(Other::Kernels) => kernels(),
        Some(Other::Tail(options)) => tail::run(options),
        Some(Other::Lcp(options)) => lcp::run(options),
        Some(Other::Stores(options)) => stores::run(options),
        None => table(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The lab's experiment on the kernels.
fn kernels() -> Result<()> {
    #[derive(clap::Parser)]
    struct Run {
        #[command(flatten)]
        options: commands::run::Options,
    }
    debian::ensure_c_compiler()?;
    let arguments: [OsString; 5] = [
        "run".into(),
        "aes-instructions".into(),
        "--full".into(),
        "--out".into(),
        place::root().join("records").into(),
    ];
    commands::run::run(&Run::parse_from(arguments).options)
}

/// Measures, prints the table and writes the record; fails if a peer cannot be had, a run fails, or a result is wrong.
fn table(options: &Options) -> Result<()> {
    if let Some(unknown) = options.rows.iter().find(|name| ROWS.iter().all(|row| row.name != **name)) {
        bail!("there is no row `{unknown}`; `cargo xtask bench --help` names them");
    }
    let keys = Medium::Tmpfs.scratch()?;
    let peers = Peers::prepare(options.peers, keys.path())?;
    let mut record = Record::begin(record::TABLE, peers.versions.clone());
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants_row(row)).collect();
    for medium in [Medium::Tmpfs, Medium::Disk] {
        if options.on.is_some_and(|on| on != medium) {
            continue;
        }
        for row in &rows {
            let cells = measure_row(row, medium, &peers, options)?;
            print!("{}", table::of_row(&cells));
            record.extend(cells);
            // After each row, so that a bench which is stopped has not measured in vain.
            record.write(options.out.as_deref())?;
        }
    }
    Ok(())
}

impl Options {
    fn wants_row(&self, row: &Row) -> bool {
        let is_named = self.rows.iter().any(|name| name == row.name);
        is_named || (self.rows.is_empty() && !(self.quick && row.total() > 1 << 30))
    }

    fn wants_variant(&self, variant: &Variant) -> bool {
        let is_yardstick = variant.name == variants::COPY.name;
        is_yardstick
            || self.variants.is_empty()
            || self.variants.iter().any(|word| variant.name.contains(word))
    }

    fn rounds(&self, row: &Row) -> usize {
        self.rounds.unwrap_or(if self.quick { row.rounds.div_ceil(5) } else { row.rounds }).max(1)
    }
}

/// Every variant over one tree, in rounds.
fn measure_row(row: &Row, medium: Medium, peers: &Peers, options: &Options) -> Result<Vec<Cell>> {
    let scratch = medium.scratch()?;
    let variants: Vec<Variant> =
        variants::all(options.peers).into_iter().filter(|variant| options.wants_variant(variant)).collect();
    let inputs = Inputs::prepare(row, peers, scratch.path(), &variants)?;
    let rounds = options.rounds(row);
    let mut samples: Vec<Vec<(usize, Sample)>> = variants.iter().map(|_| Vec::new()).collect();
    let target = scratch.path().join("target");
    for (round, index) in measure::turns(variants.len(), rounds) {
        let variant = &variants[index];
        if is_enough(variant, &samples[index]) {
            continue;
        }
        make_parent(variant, &target)?;
        let source = inputs.folder(variant.input);
        let sample = measure::run(&variant.program(peers, &source, &target))?;
        if samples[index].is_empty() {
            check::check(variant, peers, &inputs.folder(Input::Plain), &target, scratch.path())?;
        }
        samples[index].push((round, sample));
        if target.exists() {
            std::fs::remove_dir_all(&target)
                .with_context(|| format!("cannot remove {}", target.display()))?;
        }
    }
    Ok(cells(row, medium, &variants, &samples))
}

/// A peer that takes a minute for a tree (one process for each file) has said enough after its first run.
fn is_enough(variant: &Variant, samples: &[(usize, Sample)]) -> bool {
    const BUDGET: f64 = 20.0;
    let spent: f64 = samples.iter().map(|(_, sample)| sample.wall).sum();
    samples.len() >= variant.most_rounds || (variant.most_rounds < usize::MAX && spent > BUDGET)
}

/// 7-Zip writes one archive, for which the folder must be there; all others make their own.
fn make_parent(variant: &Variant, target: &Path) -> Result<()> {
    if variant.name.starts_with("7-Zip") {
        std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    }
    Ok(())
}

fn cells(row: &Row, medium: Medium, variants: &[Variant], samples: &[Vec<(usize, Sample)>]) -> Vec<Cell> {
    let copies = &samples[0];
    let cell = |(variant, samples): (&Variant, &Vec<(usize, Sample)>)| {
        let ratios = samples.iter().map(|(round, sample)| sample.wall / copies[*round].1.wall);
        Some(Cell {
            medium: medium.name(),
            row: row.name,
            bytes: row.total(),
            variant: variant.name,
            ratio: measure::spread(ratios)?,
            wall: measure::spread(samples.iter().map(|(_, sample)| sample.wall))?,
            processor: measure::spread(samples.iter().map(|(_, sample)| sample.processor))?,
            samples: samples.iter().map(|(_, sample)| *sample).collect(),
        })
    };
    variants.iter().zip(samples).filter_map(cell).collect()
}

/// The folders that variants read.
struct Inputs(PathBuf);

impl Inputs {
    fn prepare(row: &Row, peers: &Peers, folder: &Path, variants: &[Variant]) -> Result<Inputs> {
        let inputs = Inputs(folder.to_owned());
        row.plant(&inputs.folder(Input::Plain))?;
        for (input, maker) in [
            (Input::Tink, "tink encrypt, 2 threads"),
            (Input::Cbc, "raw cbc encrypt, 2 threads"),
            (Input::Age, "age encrypt, 2 threads"),
        ] {
            if variants.iter().any(|variant| variant.input == input) {
                let all = variants::all(Choice::None);
                let maker =
                    all.iter().find(|variant| variant.name == maker).context("no maker of this input")?;
                maker.program(peers, &inputs.folder(Input::Plain), &inputs.folder(input)).output()?;
            }
        }
        // What is still to be written would disturb the first rounds.
        Program::new("sync").output()?;
        Ok(inputs)
    }

    fn folder(&self, input: Input) -> PathBuf {
        self.0.join(match input {
            Input::Plain => "plain",
            Input::Tink => "tink",
            Input::Cbc => "cbc",
            Input::Age => "age",
        })
    }
}
