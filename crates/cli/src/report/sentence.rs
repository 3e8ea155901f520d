//! The end of an entry, in words.

use super::sync;
use crate::escape;
use crate::output::at;
use cipherloom::report::{Event, Outcome};

/// An event as one line. `read_as`: what is said of a file that was only read.
pub(super) fn sentence(event: &Event<'_>, in_place: bool, read_as: &str) -> String {
    let source = escape::path(event.source);
    match (&event.outcome, event.output) {
        (Outcome::Failed(error), output) => {
            let path = output.filter(|_| error.is_about_output()).unwrap_or(event.source);
            format!("cipherloom: {}", at(path, escape::line(&error.to_string())))
        }
        (Outcome::Skipped, _) if in_place => format!("{source}: skipped, it opens with the new key"),
        (Outcome::Skipped, _) if event.action.is_some() => format!("{source}: skipped, it was made before"),
        (Outcome::Skipped, _) => format!("{source}: skipped, the name exists"),
        (Outcome::Done { .. }, Some(output)) => {
            format!("{source} -> {}{}", escape::path(output), sync::words(event.action))
        }
        (Outcome::Done { .. }, None) => format!("{source}: {read_as}"),
    }
}
