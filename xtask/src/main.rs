//! `cargo xtask …`: the house's own chores, as a program instead of shell scripts, so that they are typed, tested
//! and the same on every machine. One file or folder for each chore; nothing imports this crate.

mod armv8;
mod bench;
mod chore;
mod debian;
mod deny;
mod development;
mod fuzz;
mod gpu;
mod interop;
mod lab;
mod lcp;
mod licences;
mod place;
mod python;
mod report;
mod scale;
mod schedule;
mod stores;
mod test;
mod vectors;
mod web;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The house's own chores", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run everything that continuous integration runs; install what it needs
    Test(test::Options),
    /// Check licences, sources and duplicate versions of the dependencies with cargo-deny
    Deny,
    /// Verify the test vectors with tools of other origin; with --regenerate, make them anew first
    Vectors(vectors::Options),
    /// Drive the release build against other programs, in both directions
    Interop(interop::Options),
    /// Make the lab's page from the committed records and look at it in Chromium
    Report,
    /// Build the maze's page, with the lab's page beside it, into lab/web/dist
    Web,
    /// Build every fuzz target and run each for a while
    Fuzz(fuzz::Options),
    /// Measure the command beside its peers on this machine
    Bench(bench::Options),
    /// Build the kernels' tests for AArch64 with Debian's compiler and run them under QEMU
    Armv8,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Test(options) => test::run(&options),
        Chore::Deny => deny::run(),
        Chore::Vectors(options) => vectors::run(&options),
        Chore::Interop(options) => interop::run(&options),
        Chore::Report => report::run(),
        Chore::Web => web::build().map(drop),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Bench(options) => bench::run(&options),
        Chore::Armv8 => armv8::run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
