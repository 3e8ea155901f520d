//! `cargo xtask …`: the chores of this repository, as a program instead of shell scripts, so that they are typed, tested
//! and the same on every machine. One file for each chore; nothing imports this crate.
//!
//! A chore fails at the first thing that cannot be had, does not build, or fails; functions say so only where there is more to
//! say.

mod armv8;
mod deny;
mod development;
mod docs;
mod fuzz;
mod gpu;
mod interop;
mod lab;
mod lanes;
mod python;
mod release;
mod report;
mod scale;
mod stages;
mod stores;
mod test;
mod tools;
mod vectors;
mod web;

use cipherloom_peers::place;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The chores of this repository", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run everything that continuous integration runs; install what it needs
    Test(test::Options),
    /// Check licenses, sources and duplicate versions of the dependencies with cargo-deny
    Deny,
    /// Verify the test vectors with tools of other origin; with --regenerate, make them anew first
    Vectors(vectors::Options),
    /// Drive the development build's command against other programs, in both directions
    Interop(interop::Options),
    /// Make the lab's page from the committed records and look at it in Chromium
    Report,
    /// Build the maze's page, with the lab's page beside it, into lab/web/dist
    Web,
    /// Build every fuzz target and run each for a while
    Fuzz(fuzz::Options),
    /// Measure the command beside its peers on this machine (the lab's bench; `bench --help` tells its options)
    #[command(disable_help_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Make everything that a release publishes, and install and run each artefact in a clean system
    Release(release::Options),
    /// Build the documentation site and check it in Chromium
    Docs,
    /// Build the kernels' tests for AArch64 with Debian's compiler and run them under QEMU
    Armv8,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().chore {
        Chore::Test(options) => test::run(&options),
        Chore::Deny => deny::run(),
        Chore::Vectors(options) => vectors::run(&options),
        Chore::Interop(options) => {
            development::command().and_then(|command| interop::run(&command, &options))
        }
        Chore::Report => place::lab_build().and_then(|lab| report::run(&lab)),
        Chore::Web => place::lab_build().and_then(|lab| web::build(&lab)).map(drop),
        Chore::Fuzz(options) => fuzz::run(&options),
        Chore::Bench { arguments } => lab::bench(&arguments),
        Chore::Release(options) => release::run(&options),
        Chore::Docs => docs::run(),
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
