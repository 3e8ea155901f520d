//! `cargo xtask bench`: the command beside its peers on this machine, in one run.
//!
//! Wall time of whole processes, warm cache, output to a fresh folder. Each round runs every variant once, in a random order
//! and in the next round in that order reversed, as the lab's contests do; a ratio is taken to the `cp -r` of its own round.
//! A variant's first output over each tree is checked by another program.

mod check;
mod contest;
mod goals;
mod lcp;
mod listing;
mod measure;
mod peers;
mod record;
mod stores;
mod sync;
mod table;
mod tail;
mod trees;
mod variants;

use anyhow::{Result, bail};
use cipherloom_lab::commands;
use cipherloom_peers::{debian, place};
use clap::Parser;
use contest::{Cache, Contest};
use peers::{Choice, Peers};
use record::Record;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use trees::{Medium, ROWS, Row};
use variants::Variant;

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
    /// Whether the disk's files are in memory when a run starts
    #[arg(long, value_enum, default_value_t = Cache::Warm)]
    cache: Cache,
    /// Which other programs to measure
    #[arg(long, value_enum, default_value_t = Choice::Core)]
    peers: Choice,
    /// The command alone runs as on a processor with AES-NI, but without VAES and SHA instructions
    #[arg(long)]
    without_vaes: bool,
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
    /// Listing a million files, or a deep tree, beside find and fd; with --copies also whole runs beside cp and cpz
    Listing(listing::Options),
    /// Bringing an encrypted tree up to date, beside rsync, restic and rclone; and looking at its index, beside find
    Sync(sync::Options),
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
        Some(Other::Listing(options)) => listing::run(options),
        Some(Other::Sync(options)) => sync::run(options),
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
    options.cache.check(options.on)?;
    let keys = Medium::Tmpfs.scratch()?;
    let mut peers = Peers::prepare(options.peers, keys.path())?;
    if options.without_vaes {
        peers.leave_out_vaes();
    }
    let mut record = Record::begin(record::TABLE, peers.versions.clone());
    let rows: Vec<&Row> = ROWS.iter().filter(|row| options.wants_row(row)).collect();
    for medium in [Medium::Tmpfs, Medium::Disk] {
        if options.on.is_some_and(|on| on != medium) || !options.cache.is_of(medium) {
            continue;
        }
        for row in &rows {
            let variants = variants::all(options.peers);
            let contest = Contest {
                row: row.name,
                bytes: row.total(),
                medium,
                cache: options.cache,
                rounds: options.rounds(row),
                variants: variants
                    .into_iter()
                    .filter(|variant| options.wants(variant, row, medium))
                    .collect(),
            };
            let cells = contest.hold(&peers, |folder| row.plant(folder))?;
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

    fn wants(&self, variant: &Variant, row: &Row, medium: Medium) -> bool {
        let is_yardstick = variant.name == variants::COPY.name;
        let is_named =
            self.variants.is_empty() || self.variants.iter().any(|word| variant.name.contains(word));
        (is_yardstick || is_named) && variant.fits(row, medium)
    }

    fn rounds(&self, row: &Row) -> usize {
        self.rounds.unwrap_or(if self.quick { row.rounds.div_ceil(5) } else { row.rounds }).max(1)
    }
}
