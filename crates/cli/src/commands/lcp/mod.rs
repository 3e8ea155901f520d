//! `cipherloom lcp …`: Readium LCP. Each command stands in a file of its own.

mod check;
mod decrypt;
mod encrypt;
mod inspect;
mod license;
mod manifest;
mod notify;
mod secrets;
mod verdicts;

use crate::arguments::{LcpArguments, LcpCommand};
use crate::exit_code::ExitCode;

pub fn run(arguments: &LcpArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        LcpCommand::Encrypt(arguments) => encrypt::run(arguments),
        LcpCommand::License(arguments) => license::run(arguments),
        LcpCommand::Check(arguments) => check::run(arguments),
        LcpCommand::Decrypt(arguments) => decrypt::run(arguments),
        LcpCommand::Inspect(arguments) => inspect::run(arguments),
    }
}
