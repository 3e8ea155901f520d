//! The `cipherloom` command: arguments become a job, the job a plan, the plan a run, the run a report.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod age_keys;
mod age_prompt;
mod arguments;
mod commands;
mod device;
mod escape;
mod exit_code;
mod hint;
mod interrupt;
mod keys;
mod output;
mod passphrase;
mod progress;
mod repeats;
mod report;
mod standard;
#[cfg(unix)]
mod terminal;

use arguments::{Arguments, Command};
use clap::Parser;
use exit_code::ExitCode;

fn main() -> std::process::ExitCode {
    let mut arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let error = arguments::with_missing_destination(error);
            // Help and version are printed this way too, and are no error.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Success };
            return print_usage(&error, code).into();
        }
    };
    arguments.command.decide_format();
    forbid_core_dumps();
    raise_open_files();
    let ended = interrupt::start().and_then(|()| run(arguments.command));
    device::close();
    // A result that could not be printed is a failure.
    let written = output::finish();
    match (ended, written) {
        (Ok(ExitCode::Success), Err(error)) => report(&error),
        (Ok(code), Err(error)) => {
            report(&error);
            code
        }
        (Ok(code), Ok(())) => code,
        (Err(error), _) => report(&error),
    }
    .into()
}

/// Prints an error that ends the command, and returns its exit code.
fn report(error: &anyhow::Error) -> ExitCode {
    if !output::is_broken_pipe(error) {
        output::print_error(error);
    }
    exit_code::of(error)
}

/// Prints the message of the arguments' parser.
fn print_usage(error: &clap::Error, code: ExitCode) -> ExitCode {
    // It quotes arguments, which may be file names that the shell expanded.
    let has_escapes = std::env::args_os().any(|argument| {
        let text = argument.to_string_lossy();
        escape::line(&text) != text
    });
    if has_escapes {
        output::print_lines(&error.render().to_string());
        return code;
    }
    match error.print() {
        Err(_) if code == ExitCode::Success => ExitCode::Failure,
        _ => code,
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Keygen(arguments) => commands::keys::generate(&arguments),
        Command::Keys(command) => commands::keys::run(&command),
        Command::Encrypt(arguments) => commands::transform::encrypt(&arguments),
        Command::Decrypt(arguments) => commands::transform::decrypt(&arguments),
        Command::Verify(arguments) => commands::transform::verify(&arguments),
        Command::Rekey(arguments) => commands::transform::rekey(&arguments),
        Command::Sync(arguments) => commands::transform::sync(&arguments),
        Command::Index(arguments) => commands::transform::index(&arguments),
        Command::List(arguments) => commands::list::list(&arguments),
        Command::Floor(arguments) => commands::transform::floor(&arguments),
        Command::Lcp(command) => commands::lcp::run(&command),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Inspect(arguments) => commands::inspect::run(&arguments),
        Command::Devices(arguments) => commands::devices::list(&arguments),
        Command::Calibrate(arguments) => commands::devices::calibrate_machine(&arguments),
        Command::Completions { shell } => commands::manual::completions(shell),
        Command::Man => commands::manual::man(),
    }
}

/// Raises the soft limit of open files to the hard one, since lanes hold two or three for each entry.
pub fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
        }
    }
}

/// Keeps keys out of core dumps: of the file that the kernel writes and of what it pipes to a collector. Called before any key is
/// read; this is one layer among others.
pub fn forbid_core_dumps() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    }
}
