//! `cipherloom plan`: what would run where, and why; needs no key. `--dry-run`: that, and what the run would do with each entry,
//! as far as the names in the destination decide it.

use super::sources::Source;
use super::stores;
use super::transform::Run;
use crate::arguments::{FormatName, PlanArguments};
use crate::exit_code::{self, ExitCode, usage};
use crate::report::Printer;
use crate::{device, output};
use cipherloom::error::IndexFault;
use cipherloom::format::{Cipher, Mode};
use cipherloom::internal::{Job, Tree, Work, list_index_to_replace};
use cipherloom::key::Protection;
use cipherloom::machine::Machine;
use cipherloom::plan::{CipherCost, Description, DeviceChoice, DeviceVerdict, Operation, Plan, Request};
use cipherloom::report::{Event, ListedEntry, ListedKind, Outcome};
use cipherloom::{Error, IfExists, Observer, Report};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Bytes of a Cobblestone segment, and of the ranges into which files of formats without segments are cut.
const COBBLESTONE_SEGMENT: u32 = 16 << 10;
const AGE_SEGMENT: u32 = 64 << 10;
const VIRTUAL_SEGMENT: u32 = 1 << 20;

pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let mut machine = crate::device::choose_machine(&arguments.machine, true)?;
    if arguments.machine.backend.is_none() {
        machine.known_devices = device::known();
    }
    let sizes: Vec<u64> = match Source::look(&arguments.tree, &arguments.stores)? {
        Source::Tree(tree) => tree.entries.iter().map(|entry| entry.size()).collect(),
        Source::Listing(found) => return stores::show_plan(&found, arguments),
        Source::StandardInput => {
            let message = "standard input is one stream of unknown length: one thread processes it in order";
            return Err(usage(message, ""));
        }
    };
    let (cipher, segment) = shape(arguments)?;
    let request = Request {
        operation: Operation::Encrypt,
        threads: arguments.machine.threads,
        cipher,
        key_iterations: match arguments.format {
            FormatName::Openssl => arguments.pbkdf2_iterations.get(),
            _ => 0,
        },
        largest_segment: segment as usize,
        names_in_turns: false,
    };
    print_plan(&Plan::new(&sizes, &machine, &request), Some(segment), None, arguments.json)?;
    Ok(ExitCode::Success)
}

/// What encryption in this format costs, and the bytes of its segments.
fn shape(arguments: &PlanArguments) -> anyhow::Result<(CipherCost, u32)> {
    match (arguments.format, arguments.cipher.map(Cipher::mode)) {
        (FormatName::Tink, _) => {
            let cost = match arguments.template.protection() {
                Protection::Gcm => CipherCost::Gcm,
                Protection::CtrHmac { .. } => CipherCost::CtrHmac,
            };
            Ok((cost, arguments.template.segment_size()))
        }
        (FormatName::Cobblestone, _) => Ok((CipherCost::Gcm, COBBLESTONE_SEGMENT)),
        (FormatName::Age, _) => Ok((CipherCost::ChaChaPoly, AGE_SEGMENT)),
        (FormatName::Raw | FormatName::Openssl, Some(Mode::Cbc)) => {
            Ok((CipherCost::CbcChain, VIRTUAL_SEGMENT))
        }
        (FormatName::Raw | FormatName::Openssl, Some(Mode::Ctr)) => Ok((CipherCost::Ctr, VIRTUAL_SEGMENT)),
        (FormatName::Raw | FormatName::Openssl, None) => {
            Err(usage("CBC and CTR are planned differently", "give --cipher too"))
        }
    }
}

/// Prints a plan. `segment`: bytes of the format's segments, if it has any; `left_out`: what the run would not do.
///
/// # Errors
/// If it cannot be written to standard output.
fn print_plan(
    plan: &Plan,
    segment: Option<u32>,
    left_out: Option<LeftOut>,
    json: bool,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Planned<'p> {
        #[serde(flatten)]
        description: Description<'p>,
        segment_bytes: Option<u32>,
    }
    let planned = Planned { description: plan.describe(), segment_bytes: segment };
    print_planned(&planned, || table(plan, segment), left_out, "file", json)
}

/// A plan as a table for people.
pub fn table(plan: &Plan, segment: Option<u32>) -> String {
    let description = plan.describe();
    let Description { tasks, parts, lanes, estimated_serial_seconds, estimated_seconds, .. } = description;
    let size = |bytes: usize| output::size(bytes as u64);
    let tasks = match description.shared_entries as u64 {
        0 => tasks.to_string(),
        shared => format!("{tasks}, {parts} of them parts of {}", output::count(shared, "large file")),
    };
    let lanes = match lanes {
        1 => "1 file at a time in each thread".to_owned(),
        lanes => format!("{lanes} files interleaved in each thread"),
    };
    let files = output::count(description.entries as u64, "file");
    let (buffer, buffers) = (size(description.buffer_bytes_per_worker), size(description.buffer_bytes));
    let [serial, planned] = [estimated_serial_seconds, estimated_seconds].map(output::duration);
    let rows = [
        ("files", Some(format!("{files}, {}", output::size(description.bytes)))),
        ("threads", Some(description.threads.to_string())),
        ("backend", Some(description.backend.to_owned())),
        ("device", description.device.map(str::to_owned)),
        ("lanes", Some(lanes)),
        ("tasks", Some(tasks)),
        ("segments", segment.map(|segment| format!("{} each", output::size(segment.into())))),
        ("reads", Some(format!("up to {} at once", size(description.run_bytes)))),
        ("buffers", Some(format!("{buffer} in each thread, {buffers} in all"))),
        ("estimate", Some(format!("{serial} with one thread, {planned} as planned"))),
    ];
    let reasons = description.reasons.iter().enumerate();
    let reasons =
        reasons.map(|(position, reason)| (if position == 0 { "because" } else { "" }, Some(reason.clone())));
    let mut text = output::table(rows.into_iter().chain(reasons));
    for choice in description.devices {
        text.push_str(&device(choice, &description));
    }
    text
}

/// A device's rows: the verdict, both times, and the figures that they come from.
fn device(choice: &DeviceChoice, plan: &Description<'_>) -> String {
    let mut text = format!("{:<10}{}\n", choice.backend, choice.name);
    let mut line = |words: &str| {
        let _ = writeln!(text, "{:<10}{words}", "");
    };
    if let Some(driver) = &choice.driver {
        line(&format!("driver {driver}"));
    }
    let verdict = match choice.verdict {
        DeviceVerdict::Works => "is faster and does the cipher's work",
        DeviceVerdict::WorksAsAsked => "does the cipher's work as asked",
        DeviceVerdict::Idle => "leaves the work to the CPU",
        DeviceVerdict::WouldPay => "as calibrated, would be faster (--backend auto)",
        DeviceVerdict::WouldNotPay => "as calibrated, would not be faster",
        DeviceVerdict::NotForGcm => "has nothing to do: AES-GCM is done by the CPU",
        DeviceVerdict::NotForChains => "has nothing to do: CBC encryption is a chain within a file",
        DeviceVerdict::NoCipher => "has nothing to do: there is no cipher",
    };
    let Some(times) = choice.times else {
        line(verdict);
        return text;
    };
    let [device, cpu, call] =
        [times.device_seconds, times.cpu_seconds, times.call_seconds].map(output::duration);
    line(&format!("{verdict}: {device} against {cpu} of the CPU"));
    let calls = match times.calls {
        1 => format!("{call} for its one call"),
        calls => format!("{call} for each of {calls} calls"),
    };
    let staging = format!("{} of memory for staging", output::size(times.staging_bytes as u64));
    let cpu = format!("{} on {}", plan.backend, output::count(plan.threads as u64, "thread"));
    for (what, rate, more) in [
        ("there and back", times.end_to_end_bytes_per_second, calls),
        ("moving alone", times.transfer_bytes_per_second, staging),
        ("kernel alone", times.kernel_bytes_per_second, "AES-128-CTR".to_owned()),
        ("the CPU", times.cpu_bytes_per_second, cpu),
    ] {
        line(&format!("  {what:<16}{:>10}, {more}", output::rate(rate)));
    }
    text
}

/// What the run would leave out.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct LeftOut {
    /// Entries whose outputs exist.
    pub skipped: u64,
    /// Entries that would fail.
    pub failed: u64,
}

/// Prints a plan as one JSON object or as a table. `what`: what the plan counts, "file".
///
/// # Errors
/// If it cannot be written to standard output.
pub fn print_planned(
    plan: &impl Serialize,
    table: impl FnOnce() -> String,
    left_out: Option<LeftOut>,
    what: &str,
    json: bool,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Whole<'p, P> {
        #[serde(flatten)]
        plan: &'p P,
        #[serde(flatten)]
        left_out: Option<LeftOut>,
    }
    output::print_as(json, &Whole { plan, left_out }, || {
        let LeftOut { skipped, failed } = left_out.unwrap_or_default();
        let skips = format!("{}, whose outputs exist", output::count(skipped, what));
        let fails = output::count(failed, what);
        let rows = [("skips", (skipped > 0).then_some(skips)), ("fails", (failed > 0).then_some(fails))];
        table() + &output::table(rows)
    })
}

/// Shows the plan for what the run would do over a tree, with -v each entry too; returns the run's exit code.
///
/// # Errors
/// If it cannot be written to standard output.
pub fn dry_run(
    run: &Run<'_>,
    mut tree: Tree,
    machine: &Machine,
    segment: Option<u32>,
) -> anyhow::Result<ExitCode> {
    let printer = Printer::for_dry_run(run.style(), run.common.verbose);
    let hidden = hidden_outputs(&run.job, &tree)?;
    let leave_out = |observer: &dyn Observer| leave_out(&mut tree, &run.job, hidden.as_ref(), observer);
    let left_out = printer.watch(&|| (0, 0, true), leave_out);
    let plan = run.job.plan(&tree, machine, run.common.machine.threads);
    device::settle(&plan);
    print_plan(&plan, segment, Some(left_out), run.common.report.json)?;
    let LeftOut { skipped, failed } = left_out;
    let report = Report { files: tree.entries.len() as u64, skipped, failed, ..Report::default() };
    Ok(exit_code::of_report(&report))
}

/// Where outputs are whose names are hidden, by the paths of their plaintexts: as far as the index lists them, with `None` for
/// folders.
type HiddenOutputs = HashMap<PathBuf, Option<PathBuf>>;

/// Those of a job; `None` if it hides no names.
fn hidden_outputs(job: &Job, tree: &Tree) -> Result<Option<HiddenOutputs>, Error> {
    let (root, format, other) = match (&job.work, &job.destination) {
        (Work::Encrypt(format), Some(root)) if job.hides_names() => (root, format, format),
        // A run that was stopped has sealed it with the new key.
        (Work::Rekey { from, to }, _) if job.hides_names() => (&tree.root, from, to),
        _ => return Ok(None),
    };
    if !root.is_dir() {
        return Ok(Some(HashMap::new()));
    }
    let list = |format| list_index_to_replace(root, format);
    let entries = match list(format).or_else(|error| list(other).map_err(|_| error)) {
        Err(error) if matches!(error.without_path(), Error::Index(IndexFault::Absent)) => {
            return Ok(Some(HashMap::new()));
        }
        listed => listed?,
    };
    let place = |entry: ListedEntry| (entry.kind == ListedKind::File).then_some(entry.encrypted_path);
    entries
        .map(|entry| entry.map(|entry| (entry.path.clone(), place(entry))))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Removes from the tree what the run would skip or fail at, and notifies the observer of each entry. `hidden`: where outputs are
/// that do not have the names of their sources.
fn leave_out(tree: &mut Tree, job: &Job, hidden: Option<&HiddenOutputs>, observer: &dyn Observer) -> LeftOut {
    let mut left_out = LeftOut::default();
    for unlisted in &tree.unlisted {
        left_out.failed += 1;
        let outcome = Outcome::Failed(&unlisted.error);
        observer.ended(&Event { source: &unlisted.path, output: None, bytes: 0, outcome, action: None });
    }
    let entries = std::mem::take(&mut tree.entries);
    for entry in entries.iter() {
        let relative = tree.relative_path(entry);
        let output = job.names_output(entry.name()).zip(job.destination.as_ref());
        let output = output.map(|(name, folder)| folder.join(relative.with_file_name(name)));
        let place = hidden.zip(job.destination.as_ref());
        let ending = match (&output, place) {
            (Some(_), Some((hidden, root))) => {
                let is_file = |path: &Path| matches!(hidden.get(path), Some(Some(_)));
                match hidden.get(&relative) {
                    Some(Some(place)) => foresee(&root.join(place), job.if_exists),
                    None if !relative.ancestors().any(is_file) => Ok(true),
                    _ => Err(IndexFault::InTheWay.into()),
                }
            }
            (Some(output), None) => foresee(output, job.if_exists),
            (None, _) => Err(Error::SuffixMissing(job.suffix.to_string_lossy().into_owned())),
        };
        let outcome = match &ending {
            Ok(true) => Outcome::Done { output_bytes: 0 },
            Ok(false) => Outcome::Skipped,
            Err(error) => Outcome::Failed(error),
        };
        let source = tree.root.join(&relative);
        let output = output.as_deref();
        observer.ended(&Event { source: &source, output, bytes: entry.size(), outcome, action: None });
        match ending {
            Ok(true) => tree.entries.push(entry.directory(), entry.name(), entry.size(), &entry.attributes()),
            Ok(false) => left_out.skipped += 1,
            Err(_) => left_out.failed += 1,
        }
    }
    left_out
}

/// Whether the entry with this output would be done, or else skipped, as far as its name decides it.
fn foresee(output: &Path, if_exists: IfExists) -> Result<bool, Error> {
    let there = match fs::symlink_metadata(output) {
        Ok(there) => there,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(Error::io("create the output", error)),
    };
    match if_exists {
        IfExists::Skip if there.is_file() => Ok(false),
        IfExists::Fail | IfExists::Skip => Err(Error::OutputExists),
        IfExists::Overwrite if there.is_dir() => {
            Err(Error::io("give the output its name", ErrorKind::IsADirectory.into()))
        }
        IfExists::Overwrite => Ok(true),
    }
}
