//! Runs programs in turns, and takes the time of each: of the whole process, as a user waits for it.

use anyhow::{Context, Result, bail};
use cipherloom_lab::measure::{Interval, Order, Stopwatch, quantile};
use cipherloom_lab::record::Clock;
use cipherloom_peers::Program;
use std::process::Stdio;

/// One run.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Sample {
    /// From start to end of the process, in seconds.
    pub(crate) wall: f64,
    /// Processor time of the process and its children, user and system, in seconds.
    pub(crate) processor: f64,
}

/// Who takes each turn of so many rounds, as pairs of round and number. The order is the same each time.
pub(crate) fn turns(count: usize, rounds: usize) -> Order {
    Order::new(1, count, rounds)
}

/// Runs `program` silently.
///
/// # Errors
/// If it cannot be started or fails; what it wrote to standard error is in the message.
pub(crate) fn run(program: &Program) -> Result<Sample> {
    let mut command = program.command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let watch = Stopwatch::start(Clock::Children);
    let child = command.spawn().with_context(|| format!("cannot start `{}`", program.line()))?;
    let output = child.wait_with_output().with_context(|| format!("lost `{}`", program.line()))?;
    let sample = watch.stop(1);
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}:\n{}", program.line(), output.status, words.trim_end());
    }
    Ok(Sample { wall: sample.wall() / 1e9, processor: sample.cpu() / 1e9 })
}

/// Median with its 95% interval, least and greatest. Of fewer than eight values the interval is all of them.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// `None` of no values.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let values: Vec<f64> = values.collect();
    if values.is_empty() {
        return None;
    }
    let Interval { estimate: median, low, high, .. } = Interval::of_rounds(&values);
    Some(Spread { median, low, high, least: quantile(&values, 0.0), most: quantile(&values, 1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_needs_no_order() {
        let found = spread([3.0, 1.0, 2.0].into_iter());
        assert_eq!(found, Some(Spread { median: 2.0, low: 1.0, high: 3.0, least: 1.0, most: 3.0 }));
        assert_eq!(spread(std::iter::empty()), None);
    }

    #[test]
    fn a_run_takes_wall_and_processor_time() {
        let sample =
            run(&Program::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]))
                .unwrap();
        assert!(sample.wall > 0.0 && sample.processor > 0.0, "{sample:?}");
    }

    #[test]
    fn a_failing_run_gives_no_time() {
        let error = run(&Program::new("sh").args(["-c", "echo why >&2; exit 1"])).unwrap_err();
        assert!(error.to_string().contains("why"), "{error}");
    }
}
