//! The `cipherloom` command: arguments become a job, the job a plan, the plan a run, the run a report.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod cache;
mod commands;
mod device;
mod escape;
mod exit_code;
mod interrupt;
mod keys;
mod open_files;
mod output;
mod passphrase;
mod progress;
mod repeats;
mod report;
mod secrecy;
mod standard;
#[cfg(unix)]
mod terminal;

use arguments::{Arguments, Command};
use clap::Parser;
use exit_code::ExitCode;

fn main() -> std::process::ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let error = arguments::with_missing_destination(error);
            // Help and version are printed this way too, and are no error.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success };
            return print_usage(&error, code).into();
        }
    };
    if arguments.command.is_quiet() {
        output::leave_warnings_out();
    }
    secrecy::forbid_core_dumps();
    open_files::allow_many();
    let ended = interrupt::start().and_then(|()| run(arguments.command));
    device::dismiss();
    // A verdict that nobody could read is none.
    let written = output::finish();
    let code = match &ended {
        Ok(code) => *code,
        Err(error) => {
            report(error);
            exit_code::of(error)
        }
    };
    match written {
        Err(error) if ended.is_ok() => {
            report(&error);
            if code == ExitCode::Success { ExitCode::Failure } else { code }
        }
        _ => code,
    }
    .into()
}

fn report(error: &anyhow::Error) {
    if !output::is_broken_pipe(error) {
        output::tell(format_args!("cipherloom: {}", output::message(error)));
    }
}

/// Prints what the parser of the arguments has to say.
fn print_usage(error: &clap::Error, code: ExitCode) -> ExitCode {
    // It quotes arguments, which may be names that a shell's pattern found.
    let has_escapes = std::env::args_os().any(|argument| {
        let text = argument.to_string_lossy();
        escape::line(&text) != text
    });
    if has_escapes {
        output::tell_lines(&error.render().to_string());
        return code;
    }
    match error.print() {
        Err(_) if code == ExitCode::Success => ExitCode::Failure,
        _ => code,
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Keygen(arguments) => commands::keygen::run(&arguments),
        Command::Keys(arguments) => commands::keys::run(&arguments),
        Command::Encrypt(arguments) => commands::transform::encrypt(&arguments),
        Command::Decrypt(arguments) => commands::transform::decrypt(&arguments),
        Command::Verify(arguments) => commands::transform::verify(&arguments),
        Command::Rekey(arguments) => commands::transform::rekey(&arguments),
        Command::Floor(arguments) => commands::transform::floor(&arguments),
        Command::Lcp(arguments) => commands::lcp::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Inspect(arguments) => commands::inspect::run(&arguments),
        Command::Devices(arguments) => commands::devices::run(&arguments),
        Command::Calibrate(arguments) => commands::calibrate::run(&arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::man(),
    }
}
