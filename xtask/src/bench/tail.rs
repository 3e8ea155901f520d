//! `cargo xtask bench tail`: many runs over one tree, for the delays that a median hides.

use super::measure::{self, quantile};
use super::peers::{Choice, Peers};
use super::trees::{Medium, Scratch, TAIL};
use super::variants::{self, Input};
use anyhow::{Context, Result};

/// A run that takes more than so many times the median is an anomalous delay.
const ANOMALOUS: f64 = 10.0;

/// Measures the default format's encryption (and `cp -r` beside it) `runs` times.
///
/// # Errors
/// If a run fails.
pub(crate) fn run(runs: Option<usize>, medium: Medium) -> Result<()> {
    let scratch = Scratch::new(medium, TAIL.name)?;
    let peers = Peers::prepare(Choice::None, scratch.path())?;
    let plain = scratch.path().join("plain");
    TAIL.plant(&plain)?;
    let runs = runs.unwrap_or(TAIL.rounds);
    let wanted = ["cp -r", "tink encrypt, 2 threads", "raw cbc encrypt, 2 threads"];
    let mut variants = variants::all(Choice::None);
    variants.retain(|variant| wanted.contains(&variant.name) && variant.input == Input::Plain);
    let mut times: Vec<Vec<f64>> = vec![Vec::with_capacity(runs); variants.len()];
    let target = scratch.path().join("target");
    for round in 0..runs {
        for place in 0..variants.len() {
            let index = (round + place) % variants.len();
            let program = variants[index].program(&peers, &plain, &target);
            times[index].push(measure::run(&program)?.wall);
            std::fs::remove_dir_all(&target)
                .with_context(|| format!("cannot remove {}", target.display()))?;
        }
    }
    println!("\n{} on {}, {runs} runs, ms", TAIL.name, medium.name());
    let head = ["median", "p95", "p99", "most", "p99/median", "anomalous"];
    println!("  {:<30}{}", "variant", head.map(|word| format!("{word:>12}")).concat());
    for (variant, times) in variants.iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let median = quantile(times, 0.5);
        let anomalous = times.iter().filter(|time| **time > ANOMALOUS * median).count();
        let columns =
            [0.5, 0.95, 0.99, 1.0].map(|share| format!("{:>12.2}", quantile(times, share) * 1e3)).concat();
        println!("  {:<30}{columns}{:>12.2}{anomalous:>12}", variant.name, quantile(times, 0.99) / median);
    }
    Ok(())
}
