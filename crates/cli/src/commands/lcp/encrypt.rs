//! `cipherloom lcp encrypt`: finds the publications, makes the job, plans it, runs it, reports.

use super::Reporter;
use super::notify::Notifier;
use super::secrets;
use crate::arguments::{LcpEncryptArguments, MachineArguments};
use crate::commands::key_places;
use crate::escape::{self, JsonPath};
use crate::exit_code::{self, ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::progress::Progress;
use crate::report::{EventLine, Style};
use anyhow::Context;
use cipherloom::IfExists;
use cipherloom::internal::engine::lock;
use cipherloom_lcp::protect::{self, Event, Identity, Job, Plan, Protected};
use cipherloom_lcp::{KeyRecord, Outcome, Report};
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

pub fn run(arguments: &LcpEncryptArguments) -> anyhow::Result<ExitCode> {
    let jobs = arguments.running.jobs;
    let asked = MachineArguments { threads: jobs, backend: arguments.backend.clone() };
    if asked.backend.as_deref().is_some_and(|name| crate::device::Wanted::parse(name).is_some()) {
        let message = "books are encrypted with CBC, a chain within each part, which no GPU does faster";
        return Err(usage(message, "leave --backend out"));
    }
    if !arguments.running.report.quiet {
        let secrets = [Some(&arguments.key_file), arguments.notify_file.as_ref()];
        key_places::warn_of_content_keys(&arguments.out, secrets.into_iter().flatten().map(PathBuf::as_path));
    }
    let machine = crate::device::choose_machine(&asked, false)?;
    let found = protect::find(&arguments.sources, &arguments.out)?;
    if found.sources.is_empty() && found.unlisted.is_empty() {
        let message =
            "no publication was found: the folders hold no .epub, .webpub, .audiobook, .divina, .lpf or .pdf";
        return Err(usage(message, ""));
    }
    let is_named =
        arguments.id.is_some() || arguments.alt_id.is_some() || arguments.content_key_file.is_some();
    if is_named && found.sources.len() != 1 {
        let message = "--id, --alt-id and --content-key-file are one publication's";
        return Err(usage(message, "name one BOOK"));
    }
    let notifier = Notifier::new(arguments)?;
    let mut job = Job::new(found.sources, &arguments.out, &arguments.key_file);
    job.if_exists = if arguments.update { IfExists::Overwrite } else { arguments.if_exists.if_exists };
    job.checksums = !arguments.no_checksum;
    job.durable = arguments.durable;
    job.level = arguments.level;
    job.backend = machine.backend;
    job.identity = Identity {
        update: arguments.update,
        id: arguments.id.clone(),
        alt_id: arguments.alt_id.clone(),
        content_key: arguments.content_key_file.as_deref().map(secrets::content_key).transpose()?,
        recipient: notifier.as_ref().map(|notifier| notifier.recipient.clone()),
    };
    let plan = Plan::new(&job, &machine, jobs);
    let total_bytes: u64 = job.sources.iter().map(|source| source.size).sum();
    let style = arguments.running.report.style(arguments.verbose);
    let progress = Progress::default();
    let verdicts = Verdicts::new(style, &progress);
    let unlisted = found.unlisted.len() as u64;
    for (path, error) in found.unlisted {
        let outcome = Outcome::Failed(error.into());
        verdicts.add(Event { source: &path, output: None, bytes: 0, outcome });
    }
    if style == Style::Verbose {
        plan.reasons.iter().for_each(output::print_line);
    }
    let interrupt = Interrupt::listen();
    let (to_notifier, protected) = channel::<(PathBuf, KeyRecord)>();
    let not_notified = AtomicU64::new(0);
    let ended = std::thread::scope(|scope| {
        let (notifier, verdicts, not_notified) = (notifier.as_ref(), &verdicts, &not_notified);
        let notify = move || {
            for (output, record) in protected {
                let errors = notifier.map_or(Vec::new(), |notifier| notifier.notify(&record));
                not_notified.fetch_add(u64::from(!errors.is_empty()), Ordering::Relaxed);
                errors.iter().for_each(|error| verdicts.reporter.complain(&escape::path(&output), error));
            }
        };
        std::thread::Builder::new()
            .spawn_scoped(scope, notify)
            .context("cannot start the thread that notifies the license server")?;
        let ended = move |event: Event<'_>| {
            if let (Outcome::Done(Protected { record, .. }), Some(output)) = (&event.outcome, event.output)
                && record.notice.is_some()
            {
                // The receiver lives until this sender is dropped.
                let _ = to_notifier.send((output.to_owned(), KeyRecord::clone(record)));
            }
            verdicts.add(event);
        };
        let work = || protect::run(&job, &plan, &progress, &ended);
        let ended = match style {
            Style::Plain => progress.show(&|| (job.sources.len() as u64, total_bytes, true), work),
            Style::Verbose | Style::Quiet | Style::Json => work(),
        };
        Ok::<_, anyhow::Error>(ended?)
    });
    let mut report = ended?;
    report.failed += unlisted;
    let not_notified = not_notified.into_inner();
    verdicts.end(&report, found.passed_over, not_notified, &arguments.key_file)?;
    interrupt.check(interrupt::KEPT, interrupt::resume_hint(job.if_exists, false))?;
    Ok(code(&report, not_notified))
}

fn code(report: &Report, not_notified: u64) -> ExitCode {
    match report {
        Report { failed: 0, .. } if not_notified == 0 => ExitCode::Success,
        Report { done: 0, skipped: 0, without_key, failed, .. } if without_key == failed => ExitCode::Key,
        Report { done, skipped, .. } => exit_code::of_counts(done + skipped, report.failed.max(1)),
    }
}

/// Prints how books ended: failures and JSON at once, the table at the end.
pub struct Verdicts<'p> {
    reporter: Reporter<'p>,
    rows: Mutex<Vec<Row>>,
}

/// A book in the table.
struct Row {
    source: PathBuf,
    /// The last one, the identifier, is for `--verbose`.
    cells: [String; 6],
}

/// A book in JSON.
type Line<'e> = EventLine<'e, Option<Done<'e>>>;

/// What is printed of a book that was protected. Its key is in the key file and nowhere else.
#[derive(Serialize)]
struct Done<'e> {
    id: &'e str,
    title: &'e str,
    media_type: &'e str,
    output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'e str>,
    fingerprint: &'e str,
    encrypted: u64,
    clear: u64,
}

impl<'p> Verdicts<'p> {
    pub fn new(style: Style, progress: &'p Progress) -> Verdicts<'p> {
        Verdicts { reporter: Reporter::new(style, Some(progress)), rows: Mutex::default() }
    }

    /// A book has ended.
    pub fn add(&self, event: Event<'_>) {
        let Event { source, output, bytes, outcome } = event;
        let line = |event, end| Line {
            event,
            source: JsonPath(source),
            output: output.map(JsonPath),
            bytes,
            action: None,
            end,
        };
        match outcome {
            Outcome::Done(Protected { record, encrypted, clear, .. }) => {
                let done = Done {
                    id: &record.id,
                    title: &record.title,
                    media_type: &record.media_type,
                    output_bytes: record.protected.size,
                    sha256: record.protected.sha256.as_deref(),
                    fingerprint: &record.fingerprint,
                    encrypted,
                    clear,
                };
                self.add_line("protected", line("done", Some(done)));
            }
            Outcome::Skipped => self.add_line("skipped", line("skipped", None)),
            Outcome::Failed(error) => {
                let line = line("failed", None);
                self.reporter.fail(&escape::path(source), &error.into(), &line);
                if self.reporter.style != Style::Json {
                    self.add_line("FAILED", Line { output: None, ..line });
                }
            }
        }
    }

    fn add_line(&self, verdict: &str, line: Line<'_>) {
        match self.reporter.style {
            // The command's end reports that nothing can be written.
            Style::Json => drop(output::print_json(&line)),
            Style::Quiet => {}
            Style::Plain | Style::Verbose => {
                let output = line.output.map(|output| format!("-> {}", escape::path(output.0)));
                let done = line.end.as_ref();
                let parts = done.map(|done| format!("{} encrypted, {} clear", done.encrypted, done.clear));
                let size = done.map(|done| output::size(done.output_bytes));
                let source = line.source.0;
                let [output, parts, size] = [output, parts, size].map(Option::unwrap_or_default);
                let id = done.map_or_else(String::new, |done| escape::line(done.id).into_owned());
                let cells = [verdict.to_owned(), escape::path(source), output, parts, size, id];
                lock(&self.rows).push(Row { source: source.to_owned(), cells });
            }
        }
    }

    /// Prints the table and the summary.
    ///
    /// # Errors
    /// If they cannot be written to standard output.
    pub fn end(
        &self,
        summary: &Report,
        passed_over: u64,
        not_notified: u64,
        key_file: &Path,
    ) -> anyhow::Result<()> {
        #[derive(Serialize)]
        #[serde(tag = "event", rename = "summary")]
        struct Summary<'s> {
            #[serde(flatten)]
            summary: &'s Report,
            not_notified: u64,
            passed_over: u64,
        }
        self.reporter.end("book", "--verbose");
        let mut rows = lock(&self.rows);
        rows.sort_by(|a, b| a.source.cmp(&b.source));
        if !rows.is_empty() {
            output::print(&table(&rows, self.reporter.style == Style::Verbose))?;
        }
        let object = Summary { summary, not_notified, passed_over };
        self.reporter.print(&object, || sentence(summary, passed_over, not_notified, key_file))
    }
}

/// One line a book, columns aligned; with the identifier if `with_id`.
fn table(rows: &[Row], with_id: bool) -> String {
    let width = |column: usize| rows.iter().map(|row| row.cells[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..5 + usize::from(with_id)).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.cells.iter().zip(&widths);
        let line: String = cells.map(|(cell, width)| format!("{cell:width$}  ")).collect();
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn sentence(summary: &Report, passed_over: u64, not_notified: u64, key_file: &Path) -> String {
    let Report { done: books, bytes, skipped, failed, seconds, .. } = *summary;
    let mut begin = format!("protected {}", output::count(books, "book"));
    if books > 0 {
        let _ = write!(begin, ", {}; keys in {}", output::pace(bytes, seconds), escape::path(key_file));
    }
    let [skipped, failed] = super::skipped_and_failed(skipped, failed);
    let passed_over = (passed_over, format!("{} passed over", output::count(passed_over, "other file")));
    let not_notified = (not_notified, format!("{not_notified} NOT NOTIFIED"));
    super::sentence(begin, &[skipped, passed_over, not_notified, failed])
}
