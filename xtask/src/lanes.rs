//! Runs stages of the tests two at a time, each in a process of its own (`cargo xtask test STAGE`). Each one's output is kept back
//! and printed whole when it ends, so that nothing is mixed up.

use crate::stages::Ended;
use anyhow::{Context, Result, bail};
use cipherloom_peers::place;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// No stage may take longer.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// Names of variables with their values.
type Variables = [(&'static str, PathBuf)];

/// Runs the stages in two lanes: one takes its next stage from the front of the list, the other one from its back. After a
/// failure, the other lane ends the stage that it is at, and none begins another.
pub(crate) fn run(stages: &[&'static str], variables: &Variables) -> Vec<Ended> {
    let waiting = Mutex::new(stages.iter().copied().collect::<VecDeque<_>>());
    let ended = Mutex::new(Vec::new());
    let run_lane = |take: fn(&mut VecDeque<&'static str>) -> Option<&'static str>| {
        let next = || take(&mut lock(&waiting));
        while let Some(stage) = next() {
            let end = run_stage(stage, variables);
            if end.has_failed {
                lock(&waiting).clear();
            }
            lock(&ended).push(end);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| run_lane(VecDeque::pop_back));
        run_lane(VecDeque::pop_front);
    });
    ended.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one stage and prints its output when it has ended.
fn run_stage(stage: &'static str, variables: &Variables) -> Ended {
    let start = Instant::now();
    let logged = log_stage(stage, variables);
    let time = start.elapsed();
    let (result, has_failed) = match logged {
        Ok((said, status)) => {
            // The stage's own lines at its start and end are in what it said.
            println!("{}", said.trim_end());
            match status.success() {
                true => (last_words(&said), false),
                false => (format!("FAILED: {status}"), true),
            }
        }
        Err(error) => (format!("FAILED: {error:#}"), true),
    };
    if has_failed {
        println!("--- {stage} {result}; to run it alone: cargo xtask test {stage}");
    }
    Ended { stage, time, result, has_failed }
}

/// What a stage printed, and how it ended.
fn log_stage(stage: &str, variables: &Variables) -> Result<(String, ExitStatus)> {
    let path = place::make_folder("stages")?.join(format!("{stage}.log"));
    let log = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    println!("... {stage} started; it prints to {} and here at its end", path.display());
    let child = Command::new(std::env::current_exe().context("cannot find this program")?)
        .args(["test", stage])
        .envs(variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(log.try_clone().with_context(|| format!("cannot use {}", path.display()))?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start stage `{stage}`"))?;
    let status = wait_for(child, &path)?;
    let said = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((String::from_utf8_lossy(&said).into_owned(), status))
}

/// Waits for a stage, but not for ever: what it said would be lost with a machine that is taken away.
fn wait_for(mut child: Child, log: &Path) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            let said = fs::read(log).unwrap_or_default();
            println!("{}", String::from_utf8_lossy(&said).trim_end());
            bail!("stopped after {} minutes; what it said is above", LIMIT.as_secs() / 60);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// What the runner says at its end: of cargo's tests the sum, else pytest's line, else the last line that is neither a command
/// nor ours.
fn last_words(said: &str) -> String {
    let passed: Vec<usize> = said
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok())
        .collect();
    if !passed.is_empty() {
        return format!("{} tests passed in {} programs", passed.iter().sum::<usize>(), passed.len());
    }
    let lines = || said.lines().rev().take_while(|line| !line.starts_with("=== "));
    let pytest = lines().map(|line| line.trim_matches(['=', ' ']));
    let mut pytest = pytest.filter(|line| line.contains(" passed") && line.contains(" in "));
    let is_the_runners =
        |line: &&str| !line.is_empty() && !line.starts_with("$ ") && !line.starts_with("--- ");
    pytest.next().or_else(|| lines().find(is_the_runners)).unwrap_or("passed").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_the_runners() {
        let cargo =
            "test result: ok. 12 passed; 0 failed; 0 ignored\ntest result: ok. 3 passed; 0 failed;\n\nmore";
        assert_eq!(last_words(cargo), "15 tests passed in 2 programs");
        let pytest =
            "..\nslowest 5 durations\n===== 7 passed, 1 warning in 3.21s =====\n\n--- x passed after 4.0 s";
        assert_eq!(last_words(pytest), "7 passed, 1 warning in 3.21s");
        assert_eq!(
            last_words("=== x ===\n$ cargo fmt\na last line\n\n--- x passed after 4.0 s"),
            "a last line"
        );
        assert_eq!(last_words("=== x ===\n$ cargo fmt\n--- x passed after 4.0 s\n"), "passed");
    }
}
