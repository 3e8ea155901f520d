//! `cargo xtask test`: everything that continuous integration runs, each stage with its time.
//!
//! The quick stages come first, so that a slip is told within minutes, and the builds that others use. What follows goes in
//! two lanes at once: stages that mostly compile, and stages that mostly wait for some other program.

use crate::chore::Program;
use crate::{development, gpu, interop, lab, place, python, report, scale, schedule, stores, vectors, web};
use anyhow::{Context, Result, bail};
use std::time::{Duration, Instant};

/// One step of the tests.
struct Stage {
    name: &'static str,
    run: fn() -> Result<()>,
}

const STAGES: [Stage; 15] = [
    Stage { name: "format", run: formatting },
    Stage { name: "lints", run: lints },
    Stage { name: "tests", run: tests },
    Stage { name: "release", run: release },
    Stage { name: "vectors", run: verify_vectors },
    Stage { name: "interop", run: interop },
    Stage { name: "stores", run: stores::run },
    Stage { name: "lab-tests", run: lab::tests },
    Stage { name: "lab", run: lab::stage },
    Stage { name: "report", run: report::run },
    Stage { name: "web", run: web::stage },
    Stage { name: "python", run: python::run },
    Stage { name: "scale", run: scale::run },
    Stage { name: "one-thread", run: tests_on_one_thread },
    Stage { name: "gpu", run: gpu::run },
];

/// How many of them come first, one after the other.
const FIRST: usize = 4;

/// Those of the rest that mostly compile, with builds of their own.
const COMPILING: [&str; 3] = ["one-thread", "lab-tests", "gpu"];

/// Stages that run only where they are asked for by name: a notebook brings Jupyter's executor with it, and Google Cloud
/// Storage's emulator takes long to build.
const ON_REQUEST: [Stage; 2] =
    [Stage { name: "notebook", run: scale::notebook }, Stage { name: "gcs", run: stores::gcs }];

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
    let start = Instant::now();
    let times = if options.only.is_empty() {
        let (first, rest) = STAGES.split_at(FIRST);
        let mut times = in_order(first)?;
        let (compiling, waiting): (Vec<_>, Vec<_>) =
            rest.iter().map(|stage| stage.name).partition(|name| COMPILING.contains(name));
        times.extend(schedule::side_by_side(&[&compiling, &waiting])?);
        times
    } else {
        let all = || STAGES.iter().chain(&ON_REQUEST);
        if let Some(unknown) = options.only.iter().find(|name| all().all(|stage| stage.name != **name)) {
            bail!("there is no stage `{unknown}`; `cargo xtask test --list` names them");
        }
        in_order(all().filter(|stage| options.only.iter().any(|name| name == stage.name)))?
    };
    println!("\nall stages passed:");
    for (name, time) in &times {
        println!("  {name:<12} {:>7.1} s", time.as_secs_f64());
    }
    println!("  {:<12} {:>7.1} s", "together", start.elapsed().as_secs_f64());
    Ok(())
}

fn in_order<'a>(stages: impl IntoIterator<Item = &'a Stage>) -> Result<Vec<(&'static str, Duration)>> {
    let mut times = Vec::new();
    for stage in stages {
        println!("\n=== {} ===", stage.name);
        let start = Instant::now();
        (stage.run)().with_context(|| format!("stage `{}` failed", stage.name))?;
        times.push((stage.name, start.elapsed()));
        println!("--- {} passed in {:.1} s", stage.name, start.elapsed().as_secs_f64());
    }
    Ok(times)
}

fn formatting() -> Result<()> {
    let format = |arguments: &[&str], workspace: &str| {
        Program::cargo().folder(place::root().join(workspace)).arg("fmt").args(arguments).arg("--check").run()
    };
    format(&["--all"], ".")?;
    format(&["--package", "cipherloom-lab", "--package", "cipherloom-bignum"], "lab")?;
    format(&[], "bindings/python")
}

/// Compiles everything with clippy looking on, with the stores, which the development build leaves out of the command.
fn lints() -> Result<()> {
    development::test(&place::root(), &[], "cipherloom-cli/stores")
        .args(["--all-targets", "--no-run", "--quiet"])
        .run()
}

/// Units, integration tests and the examples in the documentation, on as many threads as there are cores.
fn tests() -> Result<()> {
    development::test(&place::root(), &[], "").run()
}

/// The tests once more, on one thread.
fn tests_on_one_thread() -> Result<()> {
    development::test(&place::root(), &[], "").args(["--lib", "--tests"]).environment(THREADS, "1").run()
}

/// What is released, and the lab.
fn release() -> Result<()> {
    for (_, program) in place::builds()? {
        println!("built {}", program.display());
    }
    Ok(())
}

fn verify_vectors() -> Result<()> {
    vectors::run(&vectors::Options::default())
}

fn interop() -> Result<()> {
    interop::run(&interop::Options::default())
}
