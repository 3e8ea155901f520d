//! `cipherloom lcp …`: Readium LCP. Each command stands in a file of its own.

mod encrypt;
mod notify;
mod sources;
mod verdicts;

use crate::arguments::{LcpArguments, LcpCommand};
use crate::exit_code::ExitCode;

pub fn run(arguments: &LcpArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        LcpCommand::Encrypt(arguments) => encrypt::run(arguments),
    }
}
