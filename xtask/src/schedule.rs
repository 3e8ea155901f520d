//! Stages side by side: those that mostly compile beside those that mostly wait for one program or another.
//!
//! Each runs in a process of its own (`cargo xtask test STAGE`), whose output is kept back and printed whole when it
//! ends, so that nothing is mixed up. A stage that needs the release builds is told where they are: asking cargo would wait
//! for whatever else compiles.

use crate::place;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// No stage may take longer.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// Runs each lane's stages one after the other, the lanes at once. Gives the time of each stage.
///
/// # Errors
/// If a stage fails: what it said has been printed then. Other lanes end the stage that they are at, and begin no other.
pub(crate) fn side_by_side(lanes: &[&[&'static str]]) -> Result<Vec<(&'static str, Duration)>> {
    let (failed, times) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let lane = |stages: &[&'static str]| -> Result<()> {
        for &stage in stages {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let start = Instant::now();
            if let Err(error) = one(stage) {
                failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
            times.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((stage, start.elapsed()));
        }
        Ok(())
    };
    let ends: Vec<Result<()>> = thread::scope(|scope| {
        let lane = &lane;
        let started: Vec<_> = lanes.iter().map(|stages| scope.spawn(move || lane(stages))).collect();
        let end = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(end).collect()
    });
    let errors: Vec<String> = ends.into_iter().filter_map(|end| Some(format!("{:#}", end.err()?))).collect();
    if !errors.is_empty() {
        bail!("{}", errors.join("; "));
    }
    Ok(times.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Runs one stage in a process of its own and prints its output.
fn one(stage: &str) -> Result<()> {
    let folder = place::target().join("stages");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join(format!("{stage}.log"));
    let log = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    println!("... {stage} started; it prints to {} and here at its end", path.display());
    let child = Command::new(std::env::current_exe().context("cannot find this program")?)
        .args(["test", stage])
        .envs(place::builds()?)
        .stdin(Stdio::null())
        .stdout(log.try_clone().with_context(|| format!("cannot use {}", path.display()))?)
        .stderr(log)
        .spawn()
        .with_context(|| format!("cannot start stage `{stage}`"))?;
    let end = end(child);
    match fs::read(&path) {
        Ok(said) => println!("{}", String::from_utf8_lossy(&said).trim_end()),
        Err(error) => {
            println!("what stage `{stage}` said is lost: {} cannot be read: {error}", path.display())
        }
    }
    let status = end.with_context(|| format!("stage `{stage}`"))?;
    if !status.success() {
        bail!("stage `{stage}` failed ({status}); what it said is above and in {}", path.display());
    }
    Ok(())
}

/// Waits for a stage, but not for ever: what it said would be lost with a machine that is taken away.
fn end(mut child: Child) -> Result<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if start.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("stopped after {} minutes; what it said is above", LIMIT.as_secs() / 60);
        }
        thread::sleep(Duration::from_millis(100));
    }
}
