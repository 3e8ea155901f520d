//! Every exit code, in one place. The manual page prints this table.

use cipherloom::{Error, ErrorKind, Report};
use std::borrow::Cow;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Everything was done (or skipped as asked).
    Success = 0,
    /// Nothing was done: the error message says why.
    Failure = 1,
    /// The arguments make no sense.
    Usage = 2,
    /// Some entries failed, the others are done.
    Partial = 3,
    /// A key, keyset or passphrase is missing, damaged or wrong.
    Key = 4,
    /// At least one entry's content is not authentic: damaged, tampered with, truncated, or made with another key. Or it is not
    /// the file that the tree's index lists.
    Unauthentic = 5,
    /// Nothing is damaged, but the tree and its index do not list the same files.
    Incomplete = 6,
    /// The terminal or session ended (SIGHUP).
    HungUp = 129,
    /// Ctrl-C stopped it (SIGINT).
    Interrupted = 130,
    /// SIGTERM stopped it.
    Terminated = 143,
}

impl ExitCode {
    /// All codes with their meaning, for the manual page.
    pub const ALL: [(ExitCode, &'static str); 10] = [
        (ExitCode::Success, "everything was done, or skipped as asked"),
        (ExitCode::Failure, "nothing was done; the message says why"),
        (ExitCode::Usage, "the arguments make no sense"),
        (ExitCode::Partial, "some entries failed, the others are done"),
        (ExitCode::Key, "a key, keyset or passphrase is missing, damaged or wrong"),
        (
            ExitCode::Unauthentic,
            "at least one entry is not authentic (damaged, tampered with, truncated, or made with another key), or is not the file that the tree's index lists; others may be done",
        ),
        (
            ExitCode::Incomplete,
            "files that the tree's index lists are missing, or it does not list all that are there; nothing is damaged",
        ),
        (ExitCode::HungUp, "stopped by SIGHUP; completed outputs were kept"),
        (ExitCode::Interrupted, "stopped by Ctrl-C (SIGINT); completed outputs were kept"),
        (ExitCode::Terminated, "stopped by SIGTERM; completed outputs were kept"),
    ];

    /// The code for a signal that stopped the command: 128 and its number, as shells say it.
    pub fn of_signal(signal: i32) -> ExitCode {
        use signal_hook::consts::SIGTERM;
        match signal {
            SIGHUP => ExitCode::HungUp,
            SIGTERM => ExitCode::Terminated,
            _ => ExitCode::Interrupted,
        }
    }
}

/// Not every system has it.
const SIGHUP: i32 = 1;

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        std::process::ExitCode::from(code as u8)
    }
}

/// The code for a run that ended.
pub fn of_report(summary: &Report) -> ExitCode {
    match summary {
        Report { unauthentic: 1.., .. } => ExitCode::Unauthentic,
        Report { index: Some(index), failed, .. } if index.is_all_that_failed(*failed) => {
            ExitCode::Incomplete
        }
        Report { files, skipped, failed, sync, .. } => {
            of_counts(files + skipped + sync.map_or(0, |sync| sync.done()), *failed)
        }
    }
}

/// The code for a command over several items. `done`: how many were done, or skipped as asked; `failed`: how many failed.
pub fn of_counts(done: u64, failed: u64) -> ExitCode {
    match (done, failed) {
        (_, 0) => ExitCode::Success,
        (0, _) => ExitCode::Failure,
        _ => ExitCode::Partial,
    }
}

/// The code for an error that ended the command.
pub fn of(error: &anyhow::Error) -> ExitCode {
    if let Some(error) = error.downcast_ref::<cipherloom_lcp::Error>() {
        return of_kind(error.kind());
    }
    if let Some(error) = error.downcast_ref::<CommandError>() {
        return error.code;
    }
    match error.downcast_ref::<Error>() {
        Some(error) if error.is_authentication() => ExitCode::Unauthentic,
        Some(error) if error.kind() == ErrorKind::Key => ExitCode::Key,
        Some(error) if error.kind() == ErrorKind::Usage => ExitCode::Usage,
        _ => ExitCode::Failure,
    }
}

/// The code for a kind of error with publications or licenses.
pub fn of_kind(kind: cipherloom_lcp::ErrorKind) -> ExitCode {
    use cipherloom_lcp::ErrorKind;
    match kind {
        ErrorKind::Usage => ExitCode::Usage,
        ErrorKind::Key => ExitCode::Key,
        ErrorKind::Authentication => ExitCode::Unauthentic,
        ErrorKind::Content | ErrorKind::Io => ExitCode::Failure,
    }
}

/// An error of the command itself. Like the errors of the libraries it has no advice in its message.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct CommandError {
    code: ExitCode,
    message: String,
    hint: Cow<'static, str>,
}

impl CommandError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        Some(self.hint.clone()).filter(|hint| !hint.is_empty())
    }
}

type Hint = Cow<'static, str>;

/// An error that ends the command with this code. `hint`: what the user can do, or "".
pub fn failure(code: ExitCode, message: impl Into<String>, hint: impl Into<Hint>) -> anyhow::Error {
    CommandError { code, message: message.into(), hint: hint.into() }.into()
}

/// The error for arguments that are well formed one by one but make no sense together.
pub fn usage(message: impl Into<String>, hint: impl Into<Hint>) -> anyhow::Error {
    failure(ExitCode::Usage, message, hint)
}

/// The error for a key or passphrase that is missing or cannot be read.
pub fn no_key(message: impl Into<String>, hint: impl Into<Hint>) -> anyhow::Error {
    failure(ExitCode::Key, message, hint)
}

/// The error for a run that a signal stopped. `done`: what was done by then, or "".
pub fn interrupted(signal: i32, done: &str, hint: &'static str) -> anyhow::Error {
    let code = ExitCode::of_signal(signal);
    let cause = match code {
        ExitCode::HungUp => " by SIGHUP",
        ExitCode::Terminated => " by SIGTERM",
        // The user pressed Ctrl-C and knows.
        _ => "",
    };
    let separator = if done.is_empty() { "" } else { "; " };
    failure(code, format!("stopped{cause}{separator}{done}"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        let (numbered, signals) = ExitCode::ALL.split_at(7);
        for (position, (code, _)) in numbered.iter().enumerate() {
            assert_eq!(*code as usize, position);
        }
        // As shells say it of a program that a signal has ended: 128 and the signal's number.
        for ((code, _), signal) in signals.iter().zip([1, 2, 15]) {
            assert_eq!(*code as i32, 128 + signal);
            assert_eq!(ExitCode::of_signal(signal), *code);
        }
        assert_eq!(signals.len(), 3);
    }

    #[test]
    fn damage_counts_more_than_other_failures() {
        let summary = Report { files: 3, failed: 2, unauthentic: 1, ..Report::default() };
        assert_eq!(of_report(&summary), ExitCode::Unauthentic);
        assert_eq!(of_report(&Report { unauthentic: 0, ..summary }), ExitCode::Partial);
        assert_eq!(of_report(&Report { failed: 2, ..Report::default() }), ExitCode::Failure);
        assert_eq!(of_report(&Report { skipped: 9, ..Report::default() }), ExitCode::Success);
    }
}
