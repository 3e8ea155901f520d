//! Runs a program once and takes its time: of the whole process, as a user waits for it.

use crate::chore::Program;
use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use std::process::Stdio;
use std::time::Instant;

/// One run.
#[derive(Debug, Clone, Copy, serde::Serialize)]
pub(crate) struct Sample {
    /// From start to end of the process, in seconds.
    pub(crate) wall: f64,
    /// Processor time of the process and its children, user and system, in seconds.
    pub(crate) processor: f64,
}

/// Runs `program` silently.
///
/// # Errors
/// If it cannot be started or fails; what it wrote to standard error is in the message.
pub(crate) fn run(program: &Program) -> Result<Sample> {
    let mut command = program.command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let before = children()?;
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start `{}`", program.line()))?;
    let output = child.wait_with_output().with_context(|| format!("lost `{}`", program.line()))?;
    let wall = start.elapsed().as_secs_f64();
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` ended with {}:\n{}", program.line(), output.status, words.trim_end());
    }
    Ok(Sample { wall, processor: children()? - before })
}

/// Processor time of all children that have ended, in seconds.
fn children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read the children's processor time")?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The value below which `share` (0 to 1) of the values lie. `values` must be sorted and not empty.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let at = share * (values.len() - 1) as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

/// Median, least and greatest.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// `None` of no values.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    Some(Spread { median: quantile(&values, 0.5), least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let values = [1.0, 2.0, 3.0, 5.0];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 0.5), 2.5);
        assert_eq!(quantile(&values, 1.0), 5.0);
    }

    #[test]
    fn a_spread_needs_no_order() {
        let found = spread([3.0, 1.0, 2.0].into_iter());
        assert_eq!(found, Some(Spread { median: 2.0, least: 1.0, most: 3.0 }));
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
