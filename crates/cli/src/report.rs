//! What a run prints: an event for each entry, and a summary at its end, for people or as JSON lines.

mod sentence;
mod sync;

use crate::escape::{self, JsonPath};
use crate::hint::hint;
use crate::output;
use crate::progress::{Found, Progress};
use crate::repeats::Repeats;
use cipherloom::{
    Links, Observer, Report,
    internal::{Dropped, IndexMode, Job, PassedOver, Tree},
    report::{Action, Event, IndexReport, Outcome},
};
use sentence::sentence;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Weak;

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

/// Prints a run's events as they come, counts its progress, and stops it when a signal has come.
pub struct Printer {
    style: Style,
    /// Whether files are re-keyed where they are.
    in_place: bool,
    /// What is said of a file that was only read.
    read_as: &'static str,
    draws_progress: bool,
    /// Whether this is a dry run; then whether it lists the entries that would not fail.
    dry_run: Option<bool>,
    progress: Progress,
    repeats: Repeats,
}

impl Printer {
    pub fn new(style: Style, in_place: bool) -> Printer {
        Printer {
            style,
            in_place,
            read_as: "authentic",
            draws_progress: style == Style::Plain,
            dry_run: None,
            progress: Progress::default(),
            repeats: Repeats::default(),
        }
    }

    /// For a run that reads only the beginning and end of each file. `verb`: what it does, as a participle.
    pub fn with_verb(self, verb: Option<&'static str>) -> Printer {
        Printer { read_as: verb.unwrap_or(self.read_as), ..self }
    }

    /// For the events of a dry run. `lists`: also for entries that would not fail.
    pub fn for_dry_run(style: Style, lists: bool) -> Printer {
        Printer { dry_run: Some(lists), draws_progress: false, ..Printer::new(style, false) }
    }

    /// Draws no progress, for content on the terminal.
    pub fn leave_progress_out(&mut self) {
        self.draws_progress = false;
    }

    /// Does `work`; meanwhile draws its progress if somebody looks.
    pub fn watch<T>(&self, found: &Found<'_>, work: impl FnOnce(&dyn Observer) -> T) -> T {
        let done = match self.draws_progress {
            true => self.progress.show(found, || work(self)),
            false => work(self),
        };
        if self.style != Style::Verbose {
            self.repeats.end("file", "--verbose");
        }
        done
    }

    /// An event in words, with its hint the first time. `None` for an error that repeats too often.
    fn words(&self, event: &Event<'_>) -> Option<String> {
        let mut words = sentence(event, self.in_place, self.read_as);
        if let Outcome::Failed(error) = &event.outcome {
            let is_printed = self.repeats.is_printed(format!("{:?}", error.cause()), &error.to_string());
            if !is_printed && self.style != Style::Verbose {
                return None;
            }
            let hint = self.repeats.first(hint(error));
            words.extend(hint.map(|hint| format!("\nhint: {}", escape::line(&hint))));
        }
        Some(words)
    }
}

impl Observer for Printer {
    fn advanced(&self, bytes: u64) {
        self.progress.advanced(bytes);
    }

    fn entry_ended(&self) {
        self.progress.entry_ended();
    }

    fn wants_every_event(&self) -> bool {
        self.dry_run.unwrap_or(matches!(self.style, Style::Verbose | Style::Json))
    }

    fn ended(&self, event: &Event<'_>) {
        let is_planned = matches!(event.outcome, Outcome::Done { .. }) && self.dry_run.is_some();
        if self.dry_run == Some(false) && !matches!(event.outcome, Outcome::Failed(_)) {
            return;
        }
        // The command's end reports that nothing can be written.
        if self.style == Style::Json {
            let _ = output::print_json(&EventLine::new(event, is_planned));
        } else if is_planned {
            let output = event.output.map_or_else(|| "no name for the output".to_owned(), escape::path);
            let action = sync::words(event.action);
            let _ = output::print(&format!("{} -> {output}{action}\n", escape::path(event.source)));
        } else if let Some(words) = self.words(event) {
            self.progress.aside(|| output::print_lines(&words));
        }
    }

    fn is_stopped(&self) -> bool {
        self.progress.is_stopped()
    }

    fn on_stop(&self, wake: Weak<dyn Fn() + Send + Sync>) {
        self.progress.on_stop(wake);
    }
}

/// An event in JSON, of a file or a publication. `E`: what is said of how it ended.
#[derive(Serialize)]
pub struct EventLine<'e, E> {
    pub event: &'static str,
    pub source: JsonPath<&'e Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<JsonPath<&'e Path>>,
    pub bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    #[serde(flatten)]
    pub end: E,
}

/// What is said of a file that was processed, of one that was not, and of one that failed.
#[derive(Serialize)]
#[serde(untagged)]
enum FileEnd {
    Done {
        output_bytes: u64,
    },
    Untouched {},
    Failed {
        error: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<Cow<'static, str>>,
        unauthentic: bool,
    },
}

impl<'e> EventLine<'e, FileEnd> {
    fn new(event: &Event<'e>, is_planned: bool) -> EventLine<'e, FileEnd> {
        let (name, end) = match &event.outcome {
            Outcome::Done { .. } if is_planned => ("planned", FileEnd::Untouched {}),
            Outcome::Done { output_bytes } => ("done", FileEnd::Done { output_bytes: *output_bytes }),
            Outcome::Skipped => ("skipped", FileEnd::Untouched {}),
            Outcome::Failed(error) => {
                let (hint, unauthentic) = (hint(error), error.is_authentication());
                ("failed", FileEnd::Failed { error: error.to_string(), hint, unauthentic })
            }
        };
        let (source, output) = (JsonPath(event.source), event.output.map(JsonPath));
        EventLine { event: name, source, output, bytes: event.bytes, action: event.action, end }
    }
}

/// The summary that ends a run.
#[derive(Serialize)]
#[serde(tag = "event", rename = "summary")]
pub struct RunSummary {
    #[serde(flatten)]
    summary: Report,
    links_passed_over: u64,
    special_passed_over: u64,
    excluded: u64,
    dropped: Dropped,
    #[serde(skip)]
    in_place: bool,
    leftovers_passed_over: u64,
    /// What the run was to do with the tree's index.
    #[serde(skip)]
    index_mode: Option<IndexMode>,
    /// Whether the run was to write an index and did not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    index_not_written: bool,
    /// What has the name of an index or is below it; not the index of the tree itself.
    index_passed_over: u64,
    /// How to keep links, if an option does.
    #[serde(skip)]
    links_hint: &'static str,
}

impl RunSummary {
    /// Of a run over a tree.
    pub fn of_tree(summary: &Report, tree: &Tree, job: &Job) -> RunSummary {
        let links_passed_over = if job.links == Links::Skip { tree.links.len() as u64 } else { 0 };
        let in_place = cipherloom::internal::is_in_place(tree, job);
        let keeps_links = job.destination.is_some() && !job.hides_names();
        let links_hint = if keeps_links { " (--links copy keeps links)" } else { "" };
        let dropped = match (&job.destination, job.work.opening()) {
            _ if in_place => tree.dropped.in_place(),
            (Some(_), None) => tree.dropped,
            // Reading loses nothing, and encrypted files have lost it before.
            _ => Dropped::default(),
        };
        // The tree's own index is no loss.
        let own = u64::from(cipherloom::internal::has_index(&tree.root));
        let index_passed_over = tree.passed_over.index.saturating_sub(own);
        let run = RunSummary::of_run(*summary, links_passed_over, tree.passed_over).with_index(job);
        RunSummary { in_place, dropped, links_hint, index_passed_over, ..run }
    }

    /// With what the run did with the index of the tree, which is then no loss if it was passed over.
    pub fn with_index(self, job: &Job) -> RunSummary {
        let index_mode = job.index.as_ref().map(|index| index.mode);
        let writes_index = match index_mode {
            Some(IndexMode::Update | IndexMode::Rebuild { .. } | IndexMode::Carry) => true,
            Some(IndexMode::Sync(options)) => !options.dry_run,
            Some(IndexMode::Check { .. }) | None => false,
        };
        let index_not_written = writes_index && self.summary.index.is_none();
        let index_passed_over = if self.summary.index.is_some() { 0 } else { self.index_passed_over };
        RunSummary { index_mode, index_not_written, index_passed_over, ..self }
    }

    /// The summary of a run, or of a single stream, which passes over nothing. `passed_over`: what it passed over besides links.
    pub fn of_run(summary: Report, links_passed_over: u64, passed_over: PassedOver) -> RunSummary {
        RunSummary {
            summary,
            links_passed_over,
            special_passed_over: passed_over.special,
            excluded: passed_over.excluded,
            dropped: Dropped::default(),
            in_place: false,
            leftovers_passed_over: passed_over.leftovers,
            index_mode: None,
            index_not_written: false,
            index_passed_over: passed_over.index,
            links_hint: "",
        }
    }

    /// Prints it in this style; `verb`: what was done, "encrypted".
    ///
    /// # Errors
    /// If it cannot be written to standard output.
    pub fn print(&self, verb: &str, style: Style) -> anyhow::Result<()> {
        match style {
            Style::Json => output::print_json(self)?,
            Style::Quiet => {}
            Style::Plain | Style::Verbose => {
                output::print_line(self.sentence(verb));
                if matches!(self.index_mode, Some(IndexMode::Rebuild { .. })) && !self.index_not_written {
                    output::print_line(
                        "it lists the files as they are: nothing shows whether a file was missing, swapped or put back \
                         before",
                    );
                }
            }
        }
        Ok(())
    }

    fn dropped_sentence(&self) -> String {
        let Dropped { owners, hard_links, holes, set_id } = self.dropped;
        let parts: Vec<String> = [
            (owners, "owner", ""),
            (hard_links, "hard link", ""),
            (holes, "file", " with holes"),
            (set_id, "set-id or sticky bit", ""),
            (self.summary.extended_attributes, "file", " with extended attributes"),
        ]
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, what, with)| output::count(number, what) + with)
        .collect();
        if parts.is_empty() { String::new() } else { format!("not carried over: {}", parts.join(", ")) }
    }

    fn sentence(&self, verb: &str) -> String {
        let Report {
            files, bytes, skipped, failed, untried, links, attributes_refused, index, seconds, ..
        } = self.summary;
        let is_dry_run = matches!(self.index_mode, Some(IndexMode::Sync(options)) if options.dry_run);
        let mut text = match is_dry_run {
            true => "nothing was written".to_owned(),
            false => format!("{verb} {}", output::count(files, "file")),
        };
        let reads_ends_only =
            matches!(self.index_mode, Some(IndexMode::Rebuild { .. } | IndexMode::Check { quick: true }));
        if files > 0 && !reads_ends_only {
            let _ = write!(text, ", {}", output::pace(bytes, seconds));
        }
        if let Some(sync) = self.summary.sync {
            text.push_str(&sync::sentence(&sync));
        }
        if let Some(IndexReport { generation, time, entries, .. }) = index {
            let entries = if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") };
            let _ = write!(text, "; index generation {generation} of {} lists {entries}", output::utc(time));
        }
        if self.index_not_written {
            text.push_str("; the index was not written");
        }
        let why_skipped = match self.index_mode {
            Some(IndexMode::Carry) if self.in_place => {
                "they open with the new key, as the index lists them or as an earlier run re-keyed them"
            }
            Some(IndexMode::Carry) => "re-keyed by an earlier run",
            _ if self.in_place => "they open with the new key; not checked further",
            Some(IndexMode::Update) => {
                "the name exists, and the key opens the beginning; not checked further"
            }
            Some(IndexMode::Sync(_)) => "an earlier run made them of these files",
            _ => "the name exists; not checked",
        };
        let count = output::count;
        let links_passed_over = count(self.links_passed_over, "link");
        let leftovers = count(self.leftovers_passed_over, "leftover");
        let special = count(self.special_passed_over, "special file");
        for (number, part) in [
            (skipped, format!("{skipped} skipped ({why_skipped})")),
            (links, format!("{} copied", count(links, "link"))),
            (self.links_passed_over, format!("{links_passed_over} passed over{}", self.links_hint)),
            (self.special_passed_over, format!("{special} passed over (FIFO, socket or device)")),
            (
                self.index_passed_over,
                format!("{} of an index passed over (.cipherloom)", count(self.index_passed_over, "item")),
            ),
            (self.leftovers_passed_over, format!("{leftovers} of killed runs passed over (.cipherloom-…)")),
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
        let summary = Report { files: 1, bytes: 2048, seconds: 0.5, ..Report::default() };
        let report = RunSummary::of_run(summary, 0, PassedOver::default());
        assert_eq!(report.sentence("verified"), "verified 1 file, 2.0 KiB in 500.0 ms (4.0 KiB/s)");
        let summary = Report { failed: 3, ..Report::default() };
        let links_hint = " (--links copy keeps links)";
        let report = RunSummary {
            links_passed_over: 1,
            excluded: 2,
            links_hint,
            ..RunSummary::of_run(summary, 0, PassedOver::default())
        };
        assert_eq!(
            report.sentence("encrypted"),
            "encrypted 0 files; 1 link passed over (--links copy keeps links); \
             2 left out by --include, --exclude or --shard; 3 FAILED"
        );
    }
}
