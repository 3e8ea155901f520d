//! `cargo xtask bench tail`: many runs over one tree, for the delays that a median hides.

use super::measure::{self, Sample, quantile};
use super::peers::{Choice, Peers};
use super::record::Record;
use super::trees::{Medium, Scratch, TAIL};
use super::variants::{self, Input};
use anyhow::{Context, Result};
use serde::Serialize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// A run that takes more than so many times the median is an anomalous delay.
const ANOMALOUS: f64 = 10.0;

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
    let scratch = Scratch::new(options.on, TAIL.name)?;
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
    for round in 0..runs {
        for place in 0..variants.len() {
            let index = (round + place) % variants.len();
            let program = variants[index].program(&peers, &plain, &target);
            samples[index].push(measure::run(&program)?);
            std::fs::remove_dir_all(&target)
                .with_context(|| format!("cannot remove {}", target.display()))?;
        }
    }
    let tails =
        variants.iter().zip(samples).map(|(variant, samples)| Tail::of(variant.name, samples, options));
    record.extend(tails);
    print(&record.results);
    record.write(options.out.as_deref())
}

impl Tail {
    fn of(variant: &'static str, samples: Vec<Sample>, options: &Options) -> Tail {
        let mut times: Vec<f64> = samples.iter().map(|sample| sample.wall).collect();
        times.sort_by(f64::total_cmp);
        let [median, p95, p99, most] = [0.5, 0.95, 0.99, 1.0].map(|share| quantile(&times, share));
        let anomalous = times.iter().filter(|time| **time > ANOMALOUS * median).count();
        Tail {
            medium: options.on.name(),
            row: TAIL.name,
            variant,
            median,
            p95,
            p99,
            most,
            anomalous,
            samples,
        }
    }
}

fn print(tails: &[Tail]) {
    let Some(first) = tails.first() else { return };
    println!("\n{} on {}, {} runs, ms", first.row, first.medium, first.samples.len());
    let head = ["median", "p95", "p99", "most", "p99/median", "anomalous"];
    println!("  {:<30}{}", "variant", head.map(|word| format!("{word:>12}")).concat());
    for tail in tails {
        let times = [tail.median, tail.p95, tail.p99, tail.most];
        let columns = times.map(|time| format!("{:>12.2}", time * 1e3)).concat();
        println!("  {:<30}{columns}{:>12.2}{:>12}", tail.variant, tail.p99 / tail.median, tail.anomalous);
    }
}
