//! `cargo xtask test`: everything that continuous integration runs, and more on request.
//!
//! Formatting and lints come first, so that a slip is told within minutes; lints build what the other stages use. Those run two at
//! a time: one lane takes the next stage from the front of the list, where the stages compile, and the other one from its back,
//! where they mostly wait for other programs.

use crate::stages::{self, Ended, Stage};
use crate::{armv8, development, gpu, interop, lab, lanes, python, report, scale, stores, vectors, web};
use anyhow::Result;
use cipherloom_peers::{Program, place};
use std::time::Instant;

type Test = Stage<fn() -> Result<()>>;

/// One after the other.
const FIRST: [Test; 2] = [Stage { name: "format", run: formatting }, Stage { name: "lints", run: lints }];

/// Two at a time.
const REST: [Test; 13] = [
    Stage { name: "tests", run: tests },
    Stage { name: "gpu", run: gpu::run },
    Stage { name: "lab-tests", run: lab::tests },
    Stage { name: "one-thread", run: tests_on_one_thread },
    Stage { name: "portable", run: tests_of_portable_folders },
    Stage { name: "lab", run: lab::stage },
    Stage { name: "vectors", run: || vectors::run(&vectors::Options::default()) },
    Stage { name: "report", run: || report::run(&development::lab()?) },
    Stage { name: "web", run: web::stage },
    Stage { name: "scale", run: scale::run },
    Stage { name: "python", run: python::run },
    Stage { name: "stores", run: || stores::run(&development::command()?) },
    Stage { name: "interop", run: || interop::run(&development::command()?, &interop::Options::default()) },
];

/// What takes long and seldom finds anything that the other stages do not. `cargo xtask test long` runs all of it.
const LONG: [Test; 6] = [
    Stage { name: "release", run: release },
    Stage { name: "mazes", run: lab::mazes },
    Stage { name: "armv8", run: armv8::run },
    Stage { name: "gcs", run: stores::gcs },
    Stage { name: "scale-full", run: scale::full },
    Stage { name: "notebook", run: scale::notebook },
];

/// Stands for all stages of [`LONG`].
const ALL_LONG: &str = "long";

/// The library runs its pipelines on one thread where this variable says so, which is the serial twin of every
/// parallel path: both must give the same output.
const THREADS: &str = "CIPHERLOOM_TEST_THREADS";

/// The tests that ask for this variable, besides those in the libraries' own files.
const SERIAL: [&str; 5] = ["trees", "stopping", "round_trip", "editions", "hostile"];

/// The tests of the library that read and write whole trees.
const TREES: [&str; 6] = ["trees", "builder", "stopping", "ending_early", "concurrent_runs", "disagreements"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only these stages, in their usual order (see --list); `long` names all that run only on request
    #[arg(value_name = "STAGE")]
    only: Vec<String>,
    /// List the stages and stop
    #[arg(long)]
    list: bool,
}

/// Runs the stages, and prints a table of their times and results.
///
/// # Errors
/// If a stage fails (no other is begun then), or if a stage asked for does not exist.
pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        FIRST.iter().chain(&REST).for_each(|stage| println!("{}", stage.name));
        LONG.iter()
            .for_each(|stage| println!("{} (only if named; `{ALL_LONG}` names all of these)", stage.name));
        return Ok(());
    }
    let start = Instant::now();
    let ended = if options.only.is_empty() {
        run_all()?
    } else {
        let mut names = options.only.clone();
        if names.iter().any(|name| name == ALL_LONG) {
            names.retain(|name| name != ALL_LONG);
            names.extend(LONG.iter().map(|stage| stage.name.to_owned()));
        }
        let all: Vec<_> = FIRST.iter().chain(&REST).chain(&LONG).collect();
        stages::in_order(&stages::choose(&all, &names)?, |run| run())
    };
    stages::summarize(&ended, start, "test")
}

fn run_all() -> Result<Vec<Ended>> {
    let mut ended = stages::in_order(&FIRST.each_ref(), |run| run());
    if ended.iter().all(|stage| !stage.has_failed) {
        ended.extend(lanes::run(&REST.map(|stage| stage.name), &development::programs()?));
    }
    Ok(ended)
}

fn formatting() -> Result<()> {
    let format = |arguments: &[&str], workspace: &str| {
        Program::cargo().folder(place::root().join(workspace)).arg("fmt").args(arguments).arg("--check").run()
    };
    format(&["--all"], ".")?;
    let lab = ["lab", "lab-gpu", "bench", "bignum"].map(|name| format!("--package=cipherloom-{name}"));
    format(&lab.each_ref().map(String::as_str), "lab")?;
    format(&[], "bindings/python")
}

/// Compiles both workspaces with clippy looking on.
fn lints() -> Result<()> {
    let compiled = ["--all-targets", "--no-run", "--quiet"];
    development::test(development::FEATURES).args(compiled).run()?;
    development::test_lab().args(compiled).run()
}

/// Units, integration tests and the examples in the documentation, on as many threads as there are cores; then what the command
/// says that is built without what takes long to build, as the README's first command builds it.
fn tests() -> Result<()> {
    development::test(development::FEATURES).run()?;
    development::test("").args(["--test", "without_features"]).run()
}

/// The tests that run pipelines once more, on one thread.
fn tests_on_one_thread() -> Result<()> {
    let tests = SERIAL.iter().flat_map(|name| ["--test", name]);
    development::test(development::FEATURES).arg("--lib").args(tests).environment(THREADS, "1").run()
}

/// The tests over whole trees once more, with folders and outputs as systems without Linux's calls have them.
fn tests_of_portable_folders() -> Result<()> {
    let tests = TREES.iter().flat_map(|name| ["--test", name]);
    development::test(&format!("{},cipherloom/portable", development::FEATURES)).args(tests).run()
}

/// The command as it is released, a static executable, with other programs and with object stores.
fn release() -> Result<()> {
    let command = place::release_build()?;
    interop::run(&command, &interop::Options { long: true, ..Default::default() })?;
    stores::run(&command)
}
