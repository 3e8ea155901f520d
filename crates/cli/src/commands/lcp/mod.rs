//! `cipherloom lcp …`: Readium LCP.

#[cfg(feature = "notify")]
mod client;
mod csv;
mod encrypt;
mod license;
mod manifest;
mod notify;
mod opened;
mod secrets;
#[cfg_attr(not(feature = "notify"), path = "no_server.rs")]
mod server;

use crate::arguments::LcpCommand;
use crate::escape::JsonPath;
use crate::exit_code::ExitCode;
use crate::output::{self, at};
use crate::progress::Progress;
use crate::repeats::Repeats;
use crate::report::Style;
use serde::Serialize;
use serde_json::json;
use std::borrow::Cow;
use std::path::Path;

pub fn run(command: &LcpCommand) -> anyhow::Result<ExitCode> {
    match command {
        LcpCommand::Encrypt(arguments) => encrypt::run(arguments),
        LcpCommand::License(arguments) => license::run(arguments),
        LcpCommand::Check(arguments) => opened::check(arguments),
        LcpCommand::Notify(arguments) => notify::run(arguments),
        LcpCommand::Decrypt(arguments) => opened::decrypt(arguments),
        LcpCommand::Inspect(arguments) => opened::inspect(arguments),
    }
}

/// Prints what a command did, and the failures of single publications or rows: each hint once.
pub struct Reporter<'p> {
    style: Style,
    /// Whether every failure is printed. Otherwise only the first ones of a cause are.
    lists_all: bool,
    /// What is drawn on the terminal meanwhile.
    progress: Option<&'p Progress>,
    repeats: Repeats,
}

#[derive(Serialize)]
struct FailedLine<T> {
    #[serde(flatten)]
    object: T,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<Cow<'static, str>>,
}

impl<'p> Reporter<'p> {
    /// [`Style::Json`] and [`Style::Verbose`] print all failures.
    pub fn new(style: Style, progress: Option<&'p Progress>) -> Reporter<'p> {
        let lists_all = matches!(style, Style::Json | Style::Verbose);
        Reporter { style, lists_all, progress, repeats: Repeats::default() }
    }

    /// Prints all failures in every style.
    pub fn listing_all(style: Style) -> Reporter<'p> {
        Reporter { lists_all: true, ..Reporter::new(style, None) }
    }

    /// Prints the object in JSON, or the words, or nothing where only errors are wanted.
    ///
    /// # Errors
    /// If it cannot be written to standard output.
    pub fn print(&self, object: &impl Serialize, words: impl FnOnce() -> String) -> anyhow::Result<()> {
        match self.style {
            Style::Json => return output::print_json(object),
            Style::Quiet => {}
            Style::Plain | Style::Verbose => output::print_line(words()),
        }
        Ok(())
    }

    /// Prints that `--if-exists skip` kept an output as it is.
    pub fn print_skipped(&self, path: &Path) -> anyhow::Result<()> {
        let object = json!({ "event": "skipped", "output": JsonPath(path) });
        self.print(&object, || at(path, "skipped (it exists)"))
    }

    /// Prints that something failed at `place`, which is empty if the error has its path; in JSON, `object` with the error and
    /// its hint.
    pub fn fail(&self, place: &str, error: &anyhow::Error, object: impl Serialize) {
        let message = output::message(error);
        if self.style == Style::Json {
            // The command's end reports that nothing can be written.
            let hint = crate::hint::of_chain(error);
            let _ = output::print_json(&FailedLine { object, error: message, hint });
        } else if self.lists_all || self.repeats.is_message_printed(&message) {
            self.complain(place, error);
        }
    }

    /// Prints an error to standard error in every style.
    pub fn complain(&self, place: &str, error: &anyhow::Error) {
        let print = || {
            let separator = if place.is_empty() { "" } else { ": " };
            output::print_line(format_args!("cipherloom: {place}{separator}{}", output::message(error)));
            self.repeats.first(crate::hint::of_chain(error)).into_iter().for_each(output::hint);
        };
        // The progress may be drawn there.
        self.progress.map_or_else(print, |progress| progress.aside(print));
    }

    /// Prints how many failures were not printed. `what` failed, such as "book"; `option` prints them all.
    pub fn end(&self, what: &str, option: &str) {
        self.repeats.end(what, option);
    }
}

/// A sentence with the counts that are not 0.
pub fn sentence(begin: String, counts: &[(u64, String)]) -> String {
    let named = counts.iter().filter(|(count, _)| *count > 0);
    named.fold(begin, |text, (_, words)| text + "; " + words)
}

/// The counts that every sentence ends with.
pub fn skipped_and_failed(skipped: u64, failed: u64) -> [(u64, String); 2] {
    [(skipped, format!("{skipped} skipped (the output exists)")), (failed, format!("{failed} FAILED"))]
}
