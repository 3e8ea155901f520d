//! `cargo xtask test`: everything that continuous integration runs, in order, each stage with its time.
//!
//! The quick stages come first, so that a slip is told within a minute; the long ones build on what the earlier ones
//! have compiled. Two profiles are built (dev and release), each with one choice of features. Stages that need other flags
//! build sets of their own: `python` and `gpu` (dynamic, what they have in common once), `fuzz`.

use crate::chore::Program;
use crate::{deny, fuzz, gpu, interop, lab, layers, place, python, report, scale, stores, vectors, web};
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// One step of the tests.
struct Stage {
    name: &'static str,
    run: fn() -> Result<()>,
}

const STAGES: [Stage; 17] = [
    Stage { name: "format", run: formatting },
    Stage { name: "layers", run: layers::run },
    Stage { name: "lints", run: lints },
    Stage { name: "tests", run: tests },
    Stage { name: "one-thread", run: tests_on_one_thread },
    Stage { name: "release", run: release },
    Stage { name: "vectors", run: verify_vectors },
    Stage { name: "interop", run: interop },
    Stage { name: "stores", run: stores::run },
    Stage { name: "python", run: python::run },
    Stage { name: "scale", run: scale::run },
    Stage { name: "lab", run: lab::stage },
    Stage { name: "report", run: report::run },
    Stage { name: "gpu", run: gpu::run },
    Stage { name: "web", run: web::stage },
    Stage { name: "fuzz", run: short_fuzz },
    Stage { name: "deny", run: deny::run },
];

/// Stages that run only where they are asked for by name: a notebook brings Jupyter's executor with it.
const ON_REQUEST: [Stage; 1] = [Stage { name: "notebook", run: scale::notebook }];

/// The library runs its pipelines on one thread where this variable says so, which is the serial twin of every
/// parallel path: both must give the same output.
const THREADS: &str = "CIPHERLOOM_TEST_THREADS";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only these stages, in their usual order (see --list)
    #[arg(value_name = "STAGE")]
    only: Vec<String>,
    /// List the stages and stop
    #[arg(long)]
    list: bool,
}

/// Runs the stages and prints the time of each.
///
/// # Errors
/// At the first stage that fails, or if a stage asked for does not exist.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        STAGES.iter().for_each(|stage| println!("{}", stage.name));
        ON_REQUEST.iter().for_each(|stage| println!("{} (only if named)", stage.name));
        return Ok(());
    }
    let all = || STAGES.iter().chain(&ON_REQUEST);
    if let Some(unknown) = options.only.iter().find(|name| all().all(|stage| stage.name != **name)) {
        bail!("there is no stage `{unknown}`; `cargo xtask test --list` names them");
    }
    let usual = STAGES.iter().filter(|_| options.only.is_empty());
    let named = all().filter(|stage| options.only.iter().any(|name| name == stage.name));
    let mut times = Vec::new();
    for stage in usual.chain(named) {
        println!("\n=== {} ===", stage.name);
        let start = Instant::now();
        (stage.run)().with_context(|| format!("stage `{}` failed", stage.name))?;
        times.push((stage.name, start.elapsed()));
        println!("--- {} passed in {:.1} s", stage.name, start.elapsed().as_secs_f64());
    }
    println!("\nall stages passed:");
    for (name, time) in &times {
        println!("  {name:<12} {:>7.1} s", time.as_secs_f64());
    }
    println!(
        "  {:<12} {:>7.1} s",
        "together",
        times.iter().map(|(_, time)| *time).sum::<Duration>().as_secs_f64()
    );
    Ok(())
}

fn cargo(arguments: &[&str]) -> Program {
    Program::cargo().folder(place::root()).args(arguments)
}

fn formatting() -> Result<()> {
    cargo(&["fmt", "--all", "--check"]).run()?;
    for workspace in ["fuzz", "bindings/python"] {
        Program::cargo().folder(place::root().join(workspace)).args(["fmt", "--check"]).run()?;
    }
    Ok(())
}

fn lints() -> Result<()> {
    // With the stores, which the development build leaves out of the command.
    let stores = ["--features", "cipherloom-cli/stores"];
    cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
        .args(stores)
        .args(["--", "-D", "warnings"])
        .run()
}

/// Units, integration tests and the examples in the documentation, on as many threads as there are cores.
fn tests() -> Result<()> {
    lab::ensure_packages()?;
    cargo(&["test", "--workspace", "--locked"]).run()
}

/// The same packages as in `tests`: cargo unites the features of what it builds together, so another choice of packages
/// would build their dependencies again.
fn tests_on_one_thread() -> Result<()> {
    cargo(&["test", "--workspace", "--lib", "--tests", "--locked"]).environment(THREADS, "1").run()
}

fn release() -> Result<()> {
    place::release_build().map(|command| println!("built {}", command.display()))
}

fn verify_vectors() -> Result<()> {
    vectors::run(&vectors::Options::default())
}

fn interop() -> Result<()> {
    interop::run(&interop::Options::default())
}

/// The same inputs every time, so that the verdict on a change depends on the change; `cargo xtask fuzz` looks further.
fn short_fuzz() -> Result<()> {
    fuzz::run(&fuzz::Options { seconds: 20, inputs: Some(20_000), targets: Vec::new() })
}
