//! Standard output, whose reader may go away.

use anyhow::Context as _;
use std::io::{ErrorKind, Write as _};

/// Prints text, which `print!` would panic over where it cannot.
///
/// # Errors
/// If it cannot be written; a reader that has gone away has seen what it wanted, and is no error.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// `1 record`, `2 records`.
#[must_use]
pub fn count(number: usize, singular: &str) -> String {
    format!("{number} {singular}{}", if number == 1 { "" } else { "s" })
}
