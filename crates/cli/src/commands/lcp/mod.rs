//! `cipherloom lcp …`: Readium LCP. Each command stands in a file of its own.

mod check;
mod csv;
mod decrypt;
mod encrypt;
mod inspect;
mod license;
mod manifest;
mod notify;
mod secrets;
mod server;
mod verdicts;

use crate::arguments::{LcpArguments, LcpCommand, RunningArguments};
use crate::escape::JsonPath;
use crate::exit_code::ExitCode;
use crate::output;
use cipherloom::Draft;
use serde_json::json;
use std::path::Path;

pub fn run(arguments: &LcpArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        LcpCommand::Encrypt(arguments) => encrypt::run(arguments),
        LcpCommand::License(arguments) => license::run(arguments),
        LcpCommand::Check(arguments) => check::run(arguments),
        LcpCommand::Notify(arguments) => notify::run(arguments),
        LcpCommand::Decrypt(arguments) => decrypt::run(arguments),
        LcpCommand::Inspect(arguments) => inspect::run(arguments),
    }
}

/// Whether a file stands there, which `--if-exists skip` may take for an output of an earlier run: no folder and no link.
fn is_output(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    path.file_name().is_some_and(|name| Draft::is_there(folder, Path::new(name)))
}

/// Tells that an output stays as it is, as `--if-exists skip` wants it.
fn told_skipped(path: &Path, running: &RunningArguments) -> anyhow::Result<()> {
    if running.json {
        return output::print_json(&json!({ "event": "skipped", "output": JsonPath(path) }));
    }
    if !running.quiet {
        output::tell(format_args!("{}: skipped (it exists)", output::printable(path)));
    }
    Ok(())
}
