//! What a run over publications tells: a verdict for each book, and a sentence at the end.

use crate::escape;
use crate::output;
use crate::progress::Progress;
use crate::repeats::Repeats;
use crate::report::Style;
use cipherloom_lcp::protect::{Event, Outcome, Summary};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// How one book ended.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    event: &'static str,
    #[serde(serialize_with = "escape::json_path")]
    source: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "escape::json_paths")]
    output: Option<PathBuf>,
    bytes: u64,
    #[serde(flatten)]
    done: Option<Done>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// What is said of a book that was protected. Its key is in the key file and nowhere else.
#[derive(Debug, Clone, Serialize)]
struct Done {
    id: String,
    title: String,
    media_type: String,
    output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    fingerprint: String,
    encrypted: u64,
    clear: u64,
}

impl Line {
    pub fn new(event: &Event<'_>) -> Line {
        let line = |event_name, done, error| Line {
            event: event_name,
            source: event.source.to_owned(),
            output: event.output.map(Path::to_owned),
            bytes: event.bytes,
            done,
            error,
        };
        match &event.outcome {
            Outcome::Skipped => line("skipped", None, None),
            Outcome::Failed(error) => line("failed", None, Some(error.to_string())),
            Outcome::Done { record, encrypted, clear, .. } => {
                let done = Done {
                    id: record.id.clone(),
                    title: record.title.clone(),
                    media_type: record.media_type.clone(),
                    output_bytes: record.protected.size,
                    sha256: record.protected.sha256.clone(),
                    fingerprint: record.fingerprint.clone(),
                    encrypted: *encrypted,
                    clear: *clear,
                };
                line("done", Some(done), None)
            }
        }
    }

    pub fn failed(source: &Path, output: Option<&Path>, bytes: u64, error: &str) -> Line {
        Line {
            event: "failed",
            source: source.to_owned(),
            output: output.map(Path::to_owned),
            bytes,
            done: None,
            error: Some(error.into()),
        }
    }
}

/// Collects verdicts, or prints them as they come.
pub struct Verdicts<'p> {
    style: Style,
    progress: &'p Progress,
    lines: Mutex<Vec<Line>>,
    repeats: Repeats<String>,
}

/// The summary in JSON.
#[derive(Serialize)]
struct End<'s> {
    event: &'static str,
    #[serde(flatten)]
    summary: &'s Summary,
    not_notified: u64,
    passed_over: u64,
}

impl<'p> Verdicts<'p> {
    pub fn new(style: Style, progress: &'p Progress) -> Verdicts<'p> {
        Verdicts { style, progress, lines: Mutex::default(), repeats: Repeats::default() }
    }

    /// A book has ended. What went wrong is told at once, the rest in the table at the end.
    pub fn add(&self, line: Line) {
        if self.style == Style::Json {
            // Where nothing can be written any more, the command's end tells.
            let _ = output::print_json(&line);
            return;
        }
        if let Some(error) = &line.error
            && (self.style == Style::Verbose || self.repeats.is_told_of_words(error))
        {
            let source = output::printable(&line.source);
            self.progress.aside(|| output::tell(format_args!("cipherloom: {source}: {error}")));
        }
        if self.style != Style::Quiet {
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    /// Something is wrong with a book that is protected nevertheless.
    pub fn complain(&self, output: &Path, message: &str) {
        let output = output::printable(output);
        self.progress.aside(|| output::tell(format_args!("cipherloom: {output}: {message}")));
    }

    /// The table and the summary.
    ///
    /// # Errors
    /// If standard output should have it and does not take it.
    pub fn end(
        &self,
        summary: &Summary,
        passed_over: u64,
        not_notified: u64,
        key_file: &Path,
    ) -> anyhow::Result<()> {
        self.repeats.end("book", "--verbose");
        match self.style {
            Style::Quiet => Ok(()),
            Style::Json => output::print_json(&End { event: "summary", summary, not_notified, passed_over }),
            Style::Plain | Style::Verbose => {
                let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
                lines.sort_by(|a, b| a.source.cmp(&b.source));
                output::print(&table(&lines, self.style == Style::Verbose))?;
                output::tell(sentence(summary, passed_over, not_notified, key_file));
                Ok(())
            }
        }
    }
}

/// One line a book, columns aligned; with the identifier if `with_id`.
fn table(lines: &[Line], with_id: bool) -> String {
    let rows: Vec<[String; 5]> = lines
        .iter()
        .map(|line| {
            let (parts, size) = match &line.done {
                Some(done) => (
                    format!("{} encrypted, {} clear", done.encrypted, done.clear),
                    output::size(done.output_bytes),
                ),
                None => (String::new(), String::new()),
            };
            let verdict = match line.event {
                "done" => "protected",
                "failed" => "FAILED",
                other => other,
            };
            let arrow = line.output.as_ref().filter(|_| line.error.is_none());
            let arrow = arrow.map(|output| format!("-> {}", output::printable(output))).unwrap_or_default();
            [verdict.into(), output::printable(&line.source), arrow, parts, size]
        })
        .collect();
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for (row, line) in rows.iter().zip(lines) {
        let mut written = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(written, "{cell:width$}  ");
        }
        if let (true, Some(done)) = (with_id, &line.done) {
            written.push_str(&escape::line(&done.id));
        }
        text.push_str(written.trim_end());
        text.push('\n');
    }
    text
}

fn sentence(summary: &Summary, passed_over: u64, not_notified: u64, key_file: &Path) -> String {
    let Summary { books, bytes, skipped, failed, seconds, .. } = *summary;
    let mut text = format!("protected {}", output::count(books, "book"));
    if books > 0 {
        let rate = output::size((bytes as f64 / seconds.max(1e-9)) as u64);
        let _ = write!(text, ", {} in {} ({rate}/s)", output::size(bytes), output::duration(seconds));
        let _ = write!(text, "; keys in {}", output::printable(key_file));
    }
    for (number, part) in [
        (skipped, format!("{skipped} skipped (the output exists)")),
        (passed_over, format!("{} passed over", output::count(passed_over, "other file"))),
        (not_notified, format!("{not_notified} NOT NOTIFIED")),
        (failed, format!("{failed} FAILED")),
    ] {
        if number > 0 {
            let _ = write!(text, "; {part}");
        }
    }
    text
}
