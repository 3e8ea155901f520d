//! What a run prints: lines for people or objects for machines, and the numbers in them.

use crate::progress::Counters;
use cipherloom::{Event, Observer, Outcome, Summary};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

/// How much is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Errors and a summary line.
    Plain,
    /// A line for every entry too.
    Verbose,
    /// Errors only.
    Quiet,
    /// One JSON object a line on standard output.
    Json,
}

/// Prints a run's events and counts its progress.
pub struct Printer {
    pub style: Style,
    pub counters: &'static Counters,
}

impl Observer for Printer {
    fn advanced(&self, bytes: u64) {
        self.counters.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn entry_ended(&self) {
        self.counters.files.fetch_add(1, Ordering::Relaxed);
    }

    fn wants_every_event(&self) -> bool {
        matches!(self.style, Style::Verbose | Style::Json)
    }

    fn ended(&self, event: &Event<'_>) {
        match self.style {
            Style::Json => print_line(&event_json(event)),
            Style::Plain | Style::Verbose | Style::Quiet => self.say(event),
        }
    }
}

impl Printer {
    fn say(&self, event: &Event<'_>) {
        let source = printable(event.source);
        match (&event.outcome, event.output) {
            (Outcome::Failed(error), _) => eprintln!("cipherloom: {source}: {error}"),
            (Outcome::Skipped, _) => eprintln!("{source}: skipped, the output exists"),
            (Outcome::Done { .. }, Some(output)) => eprintln!("{source} -> {}", printable(output)),
            (Outcome::Done { .. }, None) => eprintln!("{source}: authentic"),
        }
    }
}

fn event_json(event: &Event<'_>) -> Value {
    let mut object =
        json!({ "event": "done", "source": event.source.to_string_lossy(), "bytes": event.bytes });
    if let Some(output) = event.output {
        object["output"] = json!(output.to_string_lossy());
    }
    match &event.outcome {
        Outcome::Done { output_bytes } => object["output_bytes"] = json!(output_bytes),
        Outcome::Skipped => object["event"] = json!("skipped"),
        Outcome::Failed(error) => {
            object["event"] = json!("failed");
            object["error"] = json!(error.to_string());
            object["unauthentic"] = json!(error.is_authentication());
        }
    }
    object
}

/// The summary object that ends a `--json` run.
pub fn summary_json(summary: &Summary) -> Value {
    let mut object = serde_json::to_value(summary).unwrap_or_default();
    object["event"] = json!("summary");
    object
}

/// One line to standard output, whole even if other threads print too. A reader that has gone away is no error of ours.
pub fn print_line(value: &Value) {
    let _ = writeln!(std::io::stdout().lock(), "{value}");
}

/// A path in one line: control characters are escaped, bytes that are no text replaced.
pub fn printable(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.chars().any(char::is_control) { text.escape_debug().to_string() } else { text.into_owned() }
}

/// Bytes as a person reads them.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1 file`, `2 files`.
pub fn files(count: u64) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(u64::MAX), "16384.0 PiB");
    }

    #[test]
    fn a_newline_in_a_name_stays_in_the_line() {
        assert_eq!(printable(Path::new("a\nb")), "a\\nb");
        assert_eq!(printable(Path::new("Büch er")), "Büch er");
    }
}
