//! `cargo xtask bench tail`: many runs over one tree, for the delays that a median hides.

use super::measure::{self, Sample};
use super::peers::{Choice, Peers};
use super::record::Record;
use super::table;
use super::trees::{Medium, TAIL};
use super::variants::{self, Input};
use anyhow::{Context, Result};
use cipherloom_lab::measure::summarise;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many runs; 500 if left out
    #[arg(long)]
    runs: Option<NonZeroUsize>,
    /// Where the tree and outputs lie
    #[arg(long, default_value = "tmpfs")]
    on: Medium,
    /// Where the record goes; benchmarks/records/<date>-<processor>-tail.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Wall time of one variant's runs, in seconds.
#[derive(Serialize)]
struct Tail {
    medium: &'static str,
    row: &'static str,
    variant: &'static str,
    median: f64,
    p95: f64,
    p99: f64,
    most: f64,
    /// Runs of more than ten times the median.
    anomalous: usize,
    samples: Vec<Sample>,
}

/// Measures encryption in the default format and in raw CBC, with `cp -r` beside them.
///
/// # Errors
/// If a run fails, or the record cannot be written.
pub(crate) fn run(options: &Options) -> Result<()> {
    let scratch = options.on.scratch()?;
    let peers = Peers::prepare(Choice::None, scratch.path())?;
    let plain = scratch.path().join("plain");
    TAIL.plant(&plain)?;
    let wanted = ["cp -r", "tink encrypt, 2 threads", "raw cbc encrypt, 2 threads"];
    let mut variants = variants::all(Choice::None);
    variants.retain(|variant| wanted.contains(&variant.name) && variant.input == Input::Plain);
    let runs = options.runs.map_or(TAIL.rounds, NonZeroUsize::get);
    let mut record = Record::begin("tail", peers.versions.clone());
    let mut samples: Vec<Vec<Sample>> = vec![Vec::with_capacity(runs); variants.len()];
    let target = scratch.path().join("target");
    for (_, index) in measure::turns(variants.len(), runs) {
        let program = variants[index].program(&peers, &plain, &target);
        samples[index].push(measure::run(&program)?);
        std::fs::remove_dir_all(&target).with_context(|| format!("cannot remove {}", target.display()))?;
    }
    let tails =
        variants.iter().zip(samples).map(|(variant, samples)| Tail::of(variant.name, samples, options));
    record.extend(tails);
    print(&record.results);
    record.write(options.out.as_deref())
}

impl Tail {
    fn of(variant: &'static str, samples: Vec<Sample>, options: &Options) -> Tail {
        let times = summarise(&samples.iter().map(|sample| sample.wall).collect::<Vec<_>>());
        Tail {
            medium: options.on.name(),
            row: TAIL.name,
            variant,
            median: times.median.estimate,
            p95: times.p95,
            p99: times.p99,
            most: times.max,
            anomalous: times.anomalous,
            samples,
        }
    }
}

fn print(tails: &[Tail]) {
    let Some(first) = tails.first() else { return };
    let title = format!("{} on {}, {} runs, ms", first.row, first.medium, first.samples.len());
    let columns = ["variant", "median", "p95", "p99", "most", "p99/median", "anomalous"];
    let row = |tail: &Tail| {
        let times = [tail.median, tail.p95, tail.p99, tail.most].map(|time| format!("{:.2}", time * 1e3));
        let last = [format!("{:.2}", tail.p99 / tail.median), tail.anomalous.to_string()];
        [vec![tail.variant.to_owned()], times.to_vec(), last.to_vec()].concat()
    };
    print!("{}", table::text(title, &columns, tails.iter().map(row).collect()));
}
