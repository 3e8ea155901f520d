//! Every exit code, in one place. The manual page prints this table.

use cipherloom::{Error, Summary};

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
    /// At least one entry's content is not authentic: damaged, tampered with, truncated, or made with another key.
    Unauthentic = 5,
    /// The terminal or session ended (SIGHUP).
    HungUp = 129,
    /// Ctrl-C stopped it (SIGINT).
    Interrupted = 130,
    /// SIGTERM stopped it.
    Terminated = 143,
}

impl ExitCode {
    /// All codes with their meaning, for the manual page.
    pub const ALL: [(ExitCode, &'static str); 9] = [
        (ExitCode::Success, "everything was done, or skipped as asked"),
        (ExitCode::Failure, "nothing was done; the message says why"),
        (ExitCode::Usage, "the arguments make no sense"),
        (ExitCode::Partial, "some entries failed, the others are done"),
        (ExitCode::Key, "a key, keyset or passphrase is missing, damaged or wrong"),
        (
            ExitCode::Unauthentic,
            "at least one entry is not authentic (damaged, tampered with, truncated, or made with another key); others may be done",
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
pub fn of_summary(summary: &Summary) -> ExitCode {
    match summary {
        Summary { unauthentic: 1.., .. } => ExitCode::Unauthentic,
        Summary { failed: 0, .. } => ExitCode::Success,
        Summary { files: 0, skipped: 0, .. } => ExitCode::Failure,
        _ => ExitCode::Partial,
    }
}

/// The code for an error that ended the command.
pub fn of(error: &anyhow::Error) -> ExitCode {
    if let Some(error) = error.downcast_ref::<cipherloom_lcp::Error>() {
        return of_class(error.class());
    }
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        return ExitCode::of_signal(interrupted.signal);
    }
    match error.downcast_ref::<Error>() {
        Some(error) if error.is_authentication() => ExitCode::Unauthentic,
        Some(error) if error.is_key() => ExitCode::Key,
        Some(error) if error.is_usage() => ExitCode::Usage,
        _ if error.is::<UsageError>() => ExitCode::Usage,
        _ if error.is::<KeyError>() => ExitCode::Key,
        _ => ExitCode::Failure,
    }
}

/// A signal stopped the run; with what was done by then, in words.
#[derive(Debug, thiserror::Error)]
pub struct Interrupted {
    /// The signal's number.
    pub signal: i32,
    pub done: &'static str,
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text.write_str("stopped")?;
        match ExitCode::of_signal(self.signal) {
            ExitCode::HungUp => text.write_str(" by SIGHUP")?,
            ExitCode::Terminated => text.write_str(" by SIGTERM")?,
            // Whoever presses Ctrl-C knows.
            _ => {}
        }
        if self.done.is_empty() { Ok(()) } else { write!(text, "; {}", self.done) }
    }
}

/// The code for a class of trouble with publications or licences.
pub fn of_class(class: cipherloom_lcp::Class) -> ExitCode {
    use cipherloom_lcp::Class;
    match class {
        Class::Usage => ExitCode::Usage,
        Class::Key => ExitCode::Key,
        Class::Authentication => ExitCode::Unauthentic,
        Class::Content | Class::Io => ExitCode::Failure,
    }
}

/// Arguments that are well formed one by one but make no sense together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(String);

/// The error that ends a command whose arguments make no sense together.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// A key or passphrase that is missing or cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

/// The error that ends a command without its key.
pub fn no_key(message: impl Into<String>) -> anyhow::Error {
    KeyError(message.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        let (numbered, signals) = ExitCode::ALL.split_at(6);
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
        let summary = Summary { files: 3, failed: 2, unauthentic: 1, ..Summary::default() };
        assert_eq!(of_summary(&summary), ExitCode::Unauthentic);
        assert_eq!(of_summary(&Summary { unauthentic: 0, ..summary }), ExitCode::Partial);
        assert_eq!(of_summary(&Summary { failed: 2, ..Summary::default() }), ExitCode::Failure);
        assert_eq!(of_summary(&Summary { skipped: 9, ..Summary::default() }), ExitCode::Success);
    }
}
