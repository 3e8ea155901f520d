//! Stages of a chore: chosen by name and run one after the other, or, with [`lanes`](crate::lanes), two at a time.

use anyhow::{Result, bail, ensure};
use std::time::{Duration, Instant};

/// One step of a chore, with what begins it.
pub(crate) struct Stage<R> {
    pub(crate) name: &'static str,
    pub(crate) run: R,
}

/// A stage that has ended.
pub(crate) struct Ended {
    pub(crate) stage: &'static str,
    pub(crate) time: Duration,
    /// Its runner's last words, or why it failed.
    pub(crate) result: String,
    pub(crate) has_failed: bool,
}

/// The stages of these names, in their usual order.
pub(crate) fn choose<'a, R>(all: &[&'a Stage<R>], names: &[String]) -> Result<Vec<&'a Stage<R>>> {
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|stage| stage.name != **name)) {
        let known: Vec<_> = all.iter().map(|stage| stage.name).collect();
        bail!("there is no stage `{unknown}`; there are {}", known.join(", "));
    }
    Ok(all.iter().copied().filter(|stage| names.iter().any(|name| name == stage.name)).collect())
}

/// Runs the stages in order, until one fails. What they print is seen as they print it.
pub(crate) fn in_order<R>(stages: &[&Stage<R>], begin: impl Fn(&R) -> Result<()>) -> Vec<Ended> {
    let mut ended = Vec::new();
    for stage in stages {
        println!("\n=== {} ===", stage.name);
        let start = Instant::now();
        let done = begin(&stage.run);
        let (stage, time, has_failed) = (stage.name, start.elapsed(), done.is_err());
        let result = if has_failed { "FAILED" } else { "passed" };
        let cause = done.err().map(|error| format!(": {error:#}")).unwrap_or_default();
        println!("--- {stage} {result} after {:.1} s{cause}", time.as_secs_f64());
        ended.push(Ended { stage, time, result: result.to_owned(), has_failed });
        if has_failed {
            break;
        }
    }
    ended
}

/// Prints a table of the stages since `start`, if there were several.
///
/// # Errors
/// If one has failed; the error says how to run it alone, with this chore.
pub(crate) fn summarize(ended: &[Ended], start: Instant, chore: &str) -> Result<()> {
    if ended.len() > 1 {
        println!("\n{:<12} {:>9}", "stage", "seconds");
        for Ended { stage, time, result, .. } in ended {
            println!("{stage:<12} {:>9.1}  {result}", time.as_secs_f64());
        }
        println!("{:<12} {:>9.1}", "together", start.elapsed().as_secs_f64());
    }
    let failed: Vec<_> = ended.iter().filter(|stage| stage.has_failed).map(|stage| stage.stage).collect();
    let names = failed.join(" ");
    ensure!(failed.is_empty(), "failed: {names}; to run this alone: cargo xtask {chore} {names}");
    Ok(())
}
