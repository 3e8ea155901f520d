//! `--dry-run`: what the run would do with each entry, as far as the names in the destination decide it.

use super::plan;
use crate::device;
use crate::exit_code::{self, ExitCode};
use crate::output;
use crate::progress::Progress;
use crate::report::{self, Printer, Style};
use cipherloom::{Error, Event, IfExists, Job, Machine, Observer, Outcome, Summary, Tree};
use serde::Serialize;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::Path;

/// What the run would leave out.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct LeftOut {
    /// Entries whose outputs exist.
    pub skipped: u64,
    /// Entries that would fail.
    pub failed: u64,
}

impl LeftOut {
    /// As rows of a plan's table; `what`: "file".
    pub fn rows(self, what: &str) -> String {
        let LeftOut { skipped, failed } = self;
        let mut text = String::new();
        if skipped > 0 {
            let _ = writeln!(text, "{:<10}{}, whose outputs exist", "skips", output::count(skipped, what));
        }
        if failed > 0 {
            let _ = writeln!(text, "{:<10}{}", "fails", output::count(failed, what));
        }
        text
    }
}

/// Shows the plan for what the run would do; returns the run's exit code. `lists`: each entry, too.
///
/// # Errors
/// If standard output does not take it.
pub fn show(
    mut tree: Tree,
    job: &Job<'_>,
    machine: &Machine,
    threads: Option<NonZeroUsize>,
    segment: Option<u32>,
    style: Style,
    lists: bool,
) -> anyhow::Result<ExitCode> {
    let progress = Progress::default();
    let in_place = cipherloom::is_in_place(&tree, job);
    let printer = Printer::new(style, &progress, in_place);
    let left_out = leave_out(&mut tree, job, &printer, lists);
    printer.end();
    let plan = job.plan(&tree, machine, threads);
    device::settle(&plan);
    if lists {
        report::foretell(&tree, job, style)?;
    }
    plan::print(&plan, segment, Some(left_out), style == Style::Json)?;
    let LeftOut { skipped, failed } = left_out;
    let summary = Summary { files: tree.entries.len() as u64, skipped, failed, ..Summary::default() };
    Ok(exit_code::of_summary(&summary))
}

/// Takes out of the tree what the run would skip, or fail at, and tells the observer; of what would be
/// skipped only if it `lists`.
fn leave_out(tree: &mut Tree, job: &Job<'_>, observer: &dyn Observer, lists: bool) -> LeftOut {
    let mut left_out = LeftOut::default();
    for unlisted in &tree.unlisted {
        left_out.failed += 1;
        let outcome = Outcome::Failed(&unlisted.error);
        observer.ended(&Event { source: &unlisted.path, output: None, bytes: 0, outcome });
    }
    let entries = std::mem::take(&mut tree.entries);
    for entry in entries {
        let relative = tree.relative_path(&entry);
        let output = job.names_output(&entry.name).zip(job.destination.as_ref());
        let output = output.map(|(name, folder)| folder.join(relative.with_file_name(name)));
        let ending = match &output {
            Some(output) => look_at(output, job.if_exists),
            None => Ending::Fails(Error::SuffixMissing { suffix: job.suffix.to_string_lossy().into_owned() }),
        };
        let outcome = match &ending {
            Ending::IsDone => {
                tree.entries.push(entry);
                continue;
            }
            Ending::IsSkipped => {
                left_out.skipped += 1;
                if !lists {
                    continue;
                }
                Outcome::Skipped
            }
            Ending::Fails(error) => {
                left_out.failed += 1;
                Outcome::Failed(error)
            }
        };
        let source = tree.root.join(&relative);
        observer.ended(&Event { source: &source, output: output.as_deref(), bytes: entry.size, outcome });
    }
    left_out
}

/// How an entry would end.
enum Ending {
    IsDone,
    IsSkipped,
    Fails(Error),
}

/// How the entry with this output would end, as far as its name decides it.
fn look_at(output: &Path, if_exists: IfExists) -> Ending {
    let there = match fs::symlink_metadata(output) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ending::IsDone,
        Err(error) => return Ending::Fails(Error::io("create the output", error)),
    };
    match if_exists {
        IfExists::Skip if there.is_file() => Ending::IsSkipped,
        IfExists::Fail | IfExists::Skip => Ending::Fails(Error::OutputExists),
        IfExists::Overwrite if there.is_dir() => {
            Ending::Fails(Error::io("give the output its name", ErrorKind::IsADirectory.into()))
        }
        IfExists::Overwrite => Ending::IsDone,
    }
}
