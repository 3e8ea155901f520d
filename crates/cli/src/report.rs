//! What a run tells: an event for each entry, and a summary at its end, for people or as JSON lines.

use crate::escape::JsonPath;
use crate::output;
use crate::progress::Progress;
use crate::repeats::Repeats;
use cipherloom::{Cause, Dropped, Event, Job, Links, Observer, Outcome, PassedOver, Summary, Tree};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

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

/// Prints a run's events as they come, and counts its progress.
pub struct Printer<'p> {
    style: Style,
    progress: &'p Progress,
    /// Whether files are re-keyed where they are.
    in_place: bool,
    repeats: Repeats<Cause>,
}

impl<'p> Printer<'p> {
    pub fn new(style: Style, progress: &'p Progress, in_place: bool) -> Printer<'p> {
        Printer { style, progress, in_place, repeats: Repeats::default() }
    }

    /// Tells of the errors that were only counted.
    pub fn end(&self) {
        self.repeats.end("file", "--verbose");
    }

    /// Whether an event is told: all of them, but for the same cause only so many errors.
    fn tells(&self, event: &Event<'_>) -> bool {
        match &event.outcome {
            Outcome::Failed(error) if self.style != Style::Verbose => {
                self.repeats.is_told(error.cause(), &error.to_string())
            }
            _ => true,
        }
    }
}

impl Observer for Printer<'_> {
    fn advanced(&self, bytes: u64) {
        self.progress.count_bytes(bytes);
    }

    fn entry_ended(&self) {
        self.progress.count_file();
    }

    fn wants_every_event(&self) -> bool {
        matches!(self.style, Style::Verbose | Style::Json)
    }

    fn ended(&self, event: &Event<'_>) {
        if self.style == Style::Json {
            // Where nothing can be written any more, the summary will tell.
            let _ = output::print_json(&EventLine::new(event));
        } else if self.tells(event) {
            self.progress.aside(|| output::tell(sentence(event, self.in_place)));
        }
    }
}

fn sentence(event: &Event<'_>, in_place: bool) -> String {
    let source = output::printable(event.source);
    match (&event.outcome, event.output) {
        (Outcome::Failed(error), Some(output)) if error.is_about_output() => {
            format!("cipherloom: {}: {error}", output::printable(output))
        }
        (Outcome::Failed(error), _) => format!("cipherloom: {source}: {error}"),
        (Outcome::Skipped, _) if in_place => format!("{source}: skipped, it opens with the new key"),
        (Outcome::Skipped, _) => format!("{source}: skipped, the name exists; not checked"),
        (Outcome::Done { .. }, Some(output)) => format!("{source} -> {}", output::printable(output)),
        (Outcome::Done { .. }, None) => format!("{source}: authentic"),
    }
}

/// Tells of each entry which output it would have, for a run that is not made.
///
/// # Errors
/// If standard output does not take it.
pub fn foretell(tree: &Tree, job: &Job<'_>, style: Style) -> anyhow::Result<()> {
    for entry in &tree.entries {
        let relative = tree.relative_path(entry);
        let source = tree.root.join(&relative);
        let output = job.names_output(&entry.name).zip(job.destination.as_ref());
        let output = output.map(|(name, folder)| folder.join(relative.with_file_name(name)));
        foretell_entry(&source, output.as_deref(), entry.size, style)?;
    }
    Ok(())
}

/// Tells which output one entry would have.
///
/// # Errors
/// If standard output does not take it.
pub fn foretell_entry(source: &Path, output: Option<&Path>, bytes: u64, style: Style) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Foretold<'f> {
        event: &'static str,
        source: JsonPath<'f>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<JsonPath<'f>>,
        bytes: u64,
    }
    if style == Style::Json {
        let (source, output) = (JsonPath(source), output.map(JsonPath));
        return output::print_json(&Foretold { event: "planned", source, output, bytes });
    }
    let output = output.map_or_else(|| "no name for the output".to_owned(), output::printable);
    output::print(&format!("{} -> {output}\n", output::printable(source)))
}

/// An event in JSON.
#[derive(Serialize)]
struct EventLine<'e> {
    event: &'static str,
    source: JsonPath<'e>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<JsonPath<'e>>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unauthentic: Option<bool>,
}

impl<'e> EventLine<'e> {
    fn new(event: &Event<'e>) -> EventLine<'e> {
        let mut line = EventLine {
            event: "done",
            source: JsonPath(event.source),
            output: event.output.map(JsonPath),
            bytes: event.bytes,
            output_bytes: None,
            error: None,
            unauthentic: None,
        };
        match &event.outcome {
            Outcome::Done { output_bytes } => line.output_bytes = Some(*output_bytes),
            Outcome::Skipped => line.event = "skipped",
            Outcome::Failed(error) => {
                line.event = "failed";
                line.error = Some(error.to_string());
                line.unauthentic = Some(error.is_authentication());
            }
        }
        line
    }
}

/// The summary that ends a run.
#[derive(Serialize)]
pub struct Report<'s> {
    event: &'static str,
    #[serde(flatten)]
    summary: &'s Summary,
    links_passed_over: u64,
    special_passed_over: u64,
    excluded: u64,
    dropped: Dropped,
    #[serde(skip)]
    in_place: bool,
    leftovers_passed_over: u64,
    /// What keeps links, where something does.
    #[serde(skip)]
    links_hint: &'static str,
}

impl<'s> Report<'s> {
    /// Of a run over a tree.
    pub fn of_tree(summary: &'s Summary, tree: &Tree, job: &Job<'_>) -> Report<'s> {
        let links_passed_over = if job.links == Links::Skip { tree.links.len() as u64 } else { 0 };
        let in_place = cipherloom::is_in_place(tree, job);
        let links_hint = if job.destination.is_some() { " (--links copy keeps links)" } else { "" };
        let dropped = match (&job.destination, job.work.opening()) {
            _ if in_place => tree.dropped.in_place(),
            (Some(_), None) => tree.dropped,
            // What is only read loses nothing, and what is encrypted has lost it before.
            _ => Dropped::default(),
        };
        let run = Report::of_run(summary, links_passed_over, tree.passed_over);
        Report { in_place, dropped, links_hint, ..run }
    }

    /// Of a run that passed over so many links, and these others.
    pub fn of_run(summary: &'s Summary, links_passed_over: u64, passed_over: PassedOver) -> Report<'s> {
        Report {
            links_passed_over,
            special_passed_over: passed_over.special,
            excluded: passed_over.excluded,
            leftovers_passed_over: passed_over.leftovers,
            ..Report::of_stream(summary)
        }
    }

    /// Of a single stream.
    pub fn of_stream(summary: &'s Summary) -> Report<'s> {
        Report {
            event: "summary",
            summary,
            links_passed_over: 0,
            special_passed_over: 0,
            excluded: 0,
            dropped: Dropped::default(),
            in_place: false,
            leftovers_passed_over: 0,
            links_hint: "",
        }
    }

    /// Prints it in this style; `verb`: what was done, "encrypted".
    ///
    /// # Errors
    /// If standard output should have it and does not take it.
    pub fn print(&self, verb: &str, style: Style) -> anyhow::Result<()> {
        match style {
            Style::Json => output::print_json(self)?,
            Style::Quiet => {}
            Style::Plain | Style::Verbose => output::tell(self.sentence(verb)),
        }
        Ok(())
    }

    fn dropped_sentence(&self) -> String {
        let Dropped { owners, hard_links, holes, set_id } = self.dropped;
        let parts: Vec<String> = [
            (owners, "owner"),
            (hard_links, "hard link"),
            (holes, "file with holes"),
            (set_id, "set-id or sticky bit"),
            (self.summary.extended_attributes, "file with extended attributes"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| match what {
            "file with holes" if number > 1 => format!("{number} files with holes"),
            "file with extended attributes" if number > 1 => {
                format!("{number} files with extended attributes")
            }
            _ => output::count(number, what),
        })
        .collect();
        if parts.is_empty() { String::new() } else { format!("not carried over: {}", parts.join(", ")) }
    }

    fn sentence(&self, verb: &str) -> String {
        let Summary { files, bytes, skipped, failed, untried, links, attributes_refused, seconds, .. } =
            *self.summary;
        let mut text = format!("{verb} {}", output::count(files, "file"));
        if files > 0 {
            let rate = output::size((bytes as f64 / seconds.max(1e-9)) as u64);
            let _ = write!(text, ", {} in {} ({rate}/s)", output::size(bytes), output::duration(seconds));
        }
        let special = output::count(self.special_passed_over, "special file");
        for (number, part) in [
            (
                skipped,
                match self.in_place {
                    true => format!("{skipped} skipped (they open with the new key; not checked further)"),
                    false => format!("{skipped} skipped (the name exists; not checked)"),
                },
            ),
            (links, format!("{} copied", output::count(links, "link"))),
            (
                self.links_passed_over,
                format!("{} passed over{}", output::count(self.links_passed_over, "link"), self.links_hint),
            ),
            (self.special_passed_over, format!("{special} passed over (FIFO, socket or device)")),
            (
                self.leftovers_passed_over,
                format!(
                    "{} of killed runs passed over (.cipherloom-…)",
                    output::count(self.leftovers_passed_over, "leftover")
                ),
            ),
            (
                attributes_refused,
                format!("{attributes_refused} without permissions or time, which the file system refused"),
            ),
            (self.excluded, format!("{} left out by --include, --exclude or --shard", self.excluded)),
            (1, self.dropped_sentence()),
            (failed, format!("{failed} FAILED")),
            (untried, format!("{untried} not tried")),
        ] {
            if number > 0 && !part.is_empty() {
                let _ = write!(text, "; {part}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_tells_what_there_is_to_tell() {
        let summary = Summary { files: 1, bytes: 2048, seconds: 0.5, ..Summary::default() };
        let report = Report::of_stream(&summary);
        assert_eq!(report.sentence("verified"), "verified 1 file, 2.0 KiB in 500.0 ms (4.0 KiB/s)");
        let summary = Summary { failed: 3, ..Summary::default() };
        let links_hint = " (--links copy keeps links)";
        let report = Report { links_passed_over: 1, excluded: 2, links_hint, ..Report::of_stream(&summary) };
        assert_eq!(
            report.sentence("encrypted"),
            "encrypted 0 files; 1 link passed over (--links copy keeps links); \
             2 left out by --include, --exclude or --shard; 3 FAILED"
        );
    }
}
