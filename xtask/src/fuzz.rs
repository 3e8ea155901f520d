//! `cargo xtask fuzz`: builds the targets in `fuzz/` with libFuzzer and the address sanitizer, and runs each for a
//! while from its committed seeds. (That no seed is a finding is one of the ordinary tests.)
//!
//! The pinned compiler is told by `RUSTC_BOOTSTRAP` to accept the sanitizer's flag, so that no nightly and no further
//! tool is needed. The flags of `.cargo/config.toml` (a static executable) do not go with the sanitizer; `RUSTFLAGS`
//! replaces them.

use anyhow::{Context, Result, ensure};
use cipherloom_peers::{Program, place};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Coverage of every edge and comparison, where libFuzzer looks for it.
const FLAGS: [&str; 9] = [
    "-Zsanitizer=address",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
    "--cfg=fuzzing",
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u32,
    /// Run only these targets
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
}

/// Builds every target, then runs each. An input that makes the library panic, leak or read out of bounds is left in
/// `fuzz/artifacts`.
pub(crate) fn run(options: &Options) -> Result<()> {
    let targets = targets(&options.targets)?;
    build()?;
    let built = place::target().join("fuzz").join(host()?).join("fuzz/fuzz");
    let programs: Vec<Program> =
        targets.iter().map(|target| program(&built, target, options)).collect::<Result<_>>()?;
    // One core each: libFuzzer has one thread. A finding does not keep the others from running.
    let (next, findings) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < targets.len()) {
            println!("$ {}", programs[at].line());
            match summary(&programs[at]) {
                Ok(said) => println!("{}: {said}", targets[at]),
                Err(error) => {
                    println!("{}: {error:#}", targets[at]);
                    findings.lock().unwrap_or_else(PoisonError::into_inner).push(targets[at].as_str());
                }
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..cores).for_each(|_| drop(scope.spawn(worker))));
    let findings = findings.into_inner().unwrap_or_else(PoisonError::into_inner);
    ensure!(findings.is_empty(), "findings in {}; see above", findings.join(", "));
    println!("fuzz: {} targets ran without a finding", targets.len());
    Ok(())
}

/// The program of a target, with folders for what it finds.
fn program(built: &Path, target: &str, options: &Options) -> Result<Program> {
    let folder = place::root().join("fuzz");
    let found = place::target().join("fuzz/corpus").join(target);
    let artifacts = folder.join("artifacts").join(target);
    for folder in [&found, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let mut prefix = artifacts.into_os_string();
    prefix.push("/");
    Ok(Program::new(built)
        .folder(&folder)
        .environment("CIPHERLOOM_FUZZ_TARGET", target)
        .arg(format!("-max_total_time={}", options.seconds))
        .args(["-rss_limit_mb=2048", "-timeout=20", "-print_funcs=0", "-print_final_stats=1"])
        .arg(format!("-artifact_prefix={}", prefix.to_string_lossy()))
        // What the run finds goes to the first folder; the seeds are read only.
        .arg(&found)
        .arg(folder.join("seeds").join(target)))
}

/// Runs one target; how much it tried, in words.
fn summary(program: &Program) -> Result<String> {
    let output = program.command().stdin(Stdio::null()).output().context("cannot start the target")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // libFuzzer tells a page of what it learned; only a finding is worth it.
    ensure!(output.status.success(), "`{}` found something:\n{said}", program.line());
    let number = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name));
        line.map_or("?", |rest| rest.trim_start_matches(':').trim())
    };
    let (runs, rate) = (number("stat::number_of_executed_units"), number("stat::average_exec_per_sec"));
    let covered = said.lines().rev().find_map(|line| line.split("cov: ").nth(1)?.split(' ').next());
    Ok(format!("{runs} inputs, {rate} a second, {} edges covered", covered.unwrap_or("?")))
}

fn build() -> Result<()> {
    Program::cargo()
        .folder(place::root())
        .args(["build", "--profile", "fuzz", "--package", "cipherloom-fuzz", "--features", "campaign"])
        .args(["--locked", "--target", &host()?, "--target-dir"])
        .arg(place::target().join("fuzz"))
        .environment("RUSTC_BOOTSTRAP", "1")
        .environment("RUSTFLAGS", FLAGS.join(" "))
        .run()
}

/// The names of the targets: each has a folder of seeds.
fn targets(wanted: &[String]) -> Result<Vec<String>> {
    let folder: PathBuf = place::root().join("fuzz/seeds");
    let mut names = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if wanted.is_empty() || wanted.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    ensure!(!names.is_empty(), "no such target in fuzz/seeds: {}", wanted.join(", "));
    Ok(names)
}

pub(crate) fn host() -> Result<String> {
    let version = Program::new("rustc").folder(place::root()).arg("-vV").output()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from).context("`rustc -vV` names no host")
}
