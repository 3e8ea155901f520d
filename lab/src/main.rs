//! `cipherloom-lab`: when does parallelism pay? See the library for what it does.

use cipherloom_lab::commands::{answers, compare, list, report, run};
use cipherloom_lab::output;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cipherloom-lab",
    version,
    about = "When does parallelism pay? Published experiments, run again and answered",
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Name the experiments and what they ask
    List,
    /// Run experiments and write a record of each
    Run(run::Options),
    /// Make one page of a folder of records: answers, plots, published figures beside measured ones
    Report(report::Options),
    /// Make the table of quoted answers from a folder of records
    Answers(answers::Options),
    /// Set two records of one experiment side by side
    Compare(compare::Options),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::List => output::print(&list::text()),
        Command::Run(options) => run::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Answers(options) => answers::run(&options),
        Command::Compare(options) => compare::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cipherloom-lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
