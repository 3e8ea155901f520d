//! Runs over stores. They print the same messages, events and progress as runs over folders, and have the same exit codes.
//! `cipherloom plan` and `--dry-run` show what would be read and written, how much at once, on which condition, and with how
//! many requests.

use crate::arguments::{MachineArguments, PlanArguments, StoreArguments, TreeArguments};
use crate::commands::plan::{LeftOut, print_planned};
use crate::commands::sources::Source;
use crate::commands::stream::pass_to_output;
use crate::commands::transform::{self, Run, not_a_folder};
use crate::escape::{self, JsonPath};
use crate::exit_code::{self, ExitCode, usage};
use crate::output;
use crate::report::{Printer, RunSummary};
use anyhow::Context;
use cipherloom::internal::{IndexPlace, IndexStore, Job, Selection, Work, select_indexed_files};
use cipherloom::report::Unobserved;
use cipherloom::{Error, Format, IfExists, Links, Report};
use cipherloom_stores::{Access, Inventory, Limits, Place, StoreJob, Survey};
use serde::Serialize;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was found in a store.
pub type Found = Inventory;

fn access(arguments: &StoreArguments) -> Access {
    let mut access = Access::default();
    access.retries = arguments.retries;
    access
}

/// Looks at the source, which is in a store.
pub fn look(tree: &TreeArguments, stores: &StoreArguments) -> anyhow::Result<Found> {
    let selection = tree.selection()?;
    let place = Place::open(tree.source(), access(stores));
    let inventory = place.and_then(|place| Inventory::open(&place, selection));
    Ok(inventory.map_err(|error| error.at(tree.source()))?)
}

/// The index of a tree in a store.
pub fn index(tree: &Path) -> anyhow::Result<Arc<dyn IndexStore>> {
    let place = Place::open(tree, Access::default()).map_err(|error| error.at(tree))?;
    place.index().ok_or_else(not_a_folder)
}

/// Whether the tree has an index that the run would leave behind.
pub fn has_index(found: &Found) -> anyhow::Result<bool> {
    Ok(found.has_index(&Unobserved).map_err(|error| error.at(&found.place().address()))?)
}

/// The objects that the tree's index lists under selected names, how many it lists, and the suffix of their names.
pub fn list_indexed_files(
    found: &Found,
    format: &Format,
    selection: &Selection,
    suffix: &OsStr,
    anchor: Option<&Path>,
) -> Result<(Found, usize, OsString), Error> {
    let index = found.place().index().ok_or(Error::NeitherFileNorFolder)?;
    let place = IndexPlace::Store(&index);
    let (files, suffix) = select_indexed_files(place, format, selection, suffix, anchor)?;
    Ok((found.named(&files, &Unobserved)?, files.len(), suffix))
}

/// Prints what encrypting this to a store takes.
pub fn show_plan(found: &Found, arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let limits = limits(&arguments.stores, &arguments.machine);
    let survey = found.survey(&limits)?;
    let planned = Planned::for_reading(found, survey, &limits);
    print_planned(&planned, || planned.table(), None, "object", arguments.json)?;
    Ok(if survey.unlisted == 0 { ExitCode::Success } else { ExitCode::Partial })
}

/// Runs and reports.
pub fn run(run: &Run<'_>, source: Source) -> anyhow::Result<ExitCode> {
    let inventory = match source {
        Source::Listing(inventory) => inventory,
        Source::Tree(tree) => Inventory::of_tree(tree),
        Source::StandardInput => return Err(usage("standard input is no tree", "")),
    };
    if run.job.links != Links::Skip {
        return Err(usage("a store has no links", "leave --links copy out"));
    }
    let job = open(run, run.job.clone())?;
    // What the user named as DST, or as SRC where nothing is written.
    let about = job.destination.as_ref().unwrap_or(inventory.place()).address();
    job.check(&inventory).map_err(|error| error.at(&about))?;
    warn_of_index(&job);
    // An index that was compared may list nothing.
    let is_empty =
        |report: &Report| report.files + report.skipped + report.failed == 0 && report.index.is_none();
    let refuse_nothing = |report: &Report| match is_empty(report) {
        true => run.refuse_nothing(&inventory.place().address(), inventory.passed_over().excluded),
        false => Ok(()),
    };
    if run.dry_run {
        let printer = Printer::for_dry_run(run.style(), run.common.verbose);
        let foreseen = printer.watch(&|| (0, 0, true), |observer| job.foresee(&inventory, observer));
        let (report, survey) = foreseen.map_err(|error| error.at(&about))?;
        refuse_nothing(&report)?;
        let left_out = LeftOut { skipped: report.skipped, failed: report.failed };
        let planned = Planned::for_run(&inventory, Some(survey), &job);
        print_planned(&planned, || planned.table(), Some(left_out), "object", run.common.report.json)?;
        return Ok(exit_code::of_report(&report));
    }
    let report = run.carry_out(
        &Printer::new(run.style(), false),
        &|| inventory.found(),
        // The source is listed during the run.
        || Planned::for_run(&inventory, None, &job).table(),
        |observer| job.run(&inventory, observer).map_err(|error| error.at(&about)),
        |report| {
            let passed_over = inventory.passed_over();
            let summary = RunSummary::of_run(*report, inventory.links(), passed_over);
            // A run that found nothing has written no index, and need not.
            if is_empty(report) { summary } else { summary.with_index(&job.job) }
        },
    )?;
    refuse_nothing(&report).inspect_err(|_| run.take_key_back())?;
    Ok(exit_code::of_report(&report))
}

/// Warns of an index at the destination that will not list what the run writes.
fn warn_of_index(job: &StoreJob) {
    if matches!(job.job.work, Work::Encrypt(_))
        && job.job.index.is_none()
        && let Some(place) = &job.destination
        && matches!(place.has_index(&Unobserved), Ok(true))
    {
        output::warn(output::at(&place.address(), transform::index::NOT_LISTED));
    }
}

/// A single object to standard output.
pub fn read(run: &Run<'_>, inventory: &Inventory, printer: Printer) -> anyhow::Result<Report> {
    let job = open(run, Job { destination: None, ..run.job.clone() })?;
    run.write_key()?;
    let (_, bytes, _) = inventory.found();
    let read = pass_to_output(printer, &|| (1, bytes, true), |sink, observer| {
        job.read_single(inventory, sink, observer)
    });
    read.with_context(|| escape::path(&inventory.place().address()))
}

/// This job of the run, its destination opened.
pub fn open(run: &Run<'_>, job: Job) -> anyhow::Result<StoreJob> {
    let common = run.common;
    let job = StoreJob::open(job, access(&common.stores));
    let mut job = job.map_err(|error| error.at(&run.output_path()))?;
    job.limits = limits(&common.stores, &common.machine);
    Ok(job)
}

fn limits(stores: &StoreArguments, machine: &MachineArguments) -> Limits {
    let mut limits = Limits::default();
    limits.objects = stores.in_flight.get();
    if let Some(threads) = machine.threads {
        limits.threads = threads.get();
    }
    limits
}

/// List prices of S3 Standard, in US dollars for a thousand requests: PUT, POST and LIST; GET and HEAD.
const WRITING: f64 = 0.005;
const READING: f64 = 0.0004;

/// What a run over stores takes.
#[derive(Serialize)]
pub struct Planned {
    source: JsonPath<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    destination: Option<JsonPath<PathBuf>>,
    /// What the source holds, if it was counted.
    #[serde(flatten)]
    counted: Option<Counted>,
    part_bytes: u64,
    in_flight: usize,
    threads: usize,
    /// The most memory that sources and outputs take.
    memory_bytes: u64,
    #[serde(skip)]
    outputs: &'static str,
}

#[derive(Serialize)]
struct Counted {
    objects: u64,
    bytes: u64,
    /// Objects that are read and written in parts, and these parts.
    in_parts: u64,
    parts: u64,
    /// Prefixes that could not be listed.
    unlisted: u64,
    requests: Requests,
}

/// Requests to stores, if none is repeated.
#[derive(Serialize)]
struct Requests {
    list: u64,
    head: u64,
    get: u64,
    put: u64,
    /// In US dollars, at list prices of S3 Standard, without storage and traffic.
    cost_dollars: f64,
}

/// What a run does with a store.
struct Uses {
    reads: bool,
    writes: bool,
    /// Whether sources are encrypted.
    opens: bool,
    /// Whether outputs that exist are skipped.
    skips: bool,
}

impl Requests {
    fn new(survey: &Survey, uses: &Uses) -> Requests {
        let Survey { objects, in_parts, parts, requests: list, .. } = *survey;
        let small = objects - in_parts;
        // The beginning of a large encrypted object is read first, for its header.
        let headers = if uses.opens { in_parts } else { 0 };
        let get = if uses.reads { small + headers + parts } else { 0 };
        // A large output: HEAD, begin, its parts, HEAD, complete.
        let put = if uses.writes { small + parts + 2 * in_parts } else { 0 };
        let skipping = if uses.skips { small } else { 0 };
        let head = if uses.writes { 2 * in_parts + skipping } else { 0 };
        let cost_dollars = (list + put) as f64 / 1e3 * WRITING + (get + head) as f64 / 1e3 * READING;
        Requests { list, head, get, put, cost_dollars }
    }

    fn words(&self) -> String {
        let Requests { list, head, get, put, cost_dollars } = *self;
        let counts = [(list, "LIST"), (head, "HEAD"), (get, "GET"), (put, "PUT or POST")];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
        let cost = match cost_dollars {
            0.0 => return "none".to_owned(),
            cost if cost < 0.01 => "less than a cent".to_owned(),
            cost => format!("about ${cost:.2}"),
        };
        format!("{}: {cost} at S3's list prices, without traffic", counts.join(", "))
    }
}

impl Planned {
    /// What this job takes; `survey`: what the source holds, if that was counted.
    pub fn for_run(inventory: &Inventory, survey: Option<Survey>, job: &StoreJob) -> Planned {
        let is_store = |place: &Place| place.folder().is_none();
        let uses = Uses {
            reads: is_store(inventory.place()),
            writes: job.destination.as_ref().is_some_and(is_store),
            opens: !matches!(job.job.work, Work::Encrypt(_) | Work::Copy),
            skips: job.job.if_exists == IfExists::Skip,
        };
        let outputs = match job.job.if_exists {
            _ if job.destination.is_none() => "none: every byte is authenticated",
            IfExists::Fail => "created; where one exists, that object fails",
            IfExists::Skip => "created; where one exists that was made of the same source, it is skipped",
            IfExists::Overwrite => "replaced",
        };
        let destination = job.destination.as_ref().map(|place| JsonPath(place.address()));
        Planned { destination, ..Planned::new(inventory, survey, &job.limits, &uses, outputs) }
    }

    /// What encryption to a store takes.
    pub fn for_reading(inventory: &Inventory, survey: Survey, limits: &Limits) -> Planned {
        let uses = Uses { reads: true, writes: true, opens: false, skips: false };
        let outputs = "counted as if they went to a store; encrypt --dry-run knows where they go";
        Planned::new(inventory, Some(survey), limits, &uses, outputs)
    }

    fn new(
        inventory: &Inventory,
        survey: Option<Survey>,
        limits: &Limits,
        uses: &Uses,
        outputs: &'static str,
    ) -> Planned {
        Planned {
            source: JsonPath(inventory.place().address()),
            destination: None,
            counted: survey.map(|survey| Counted {
                objects: survey.objects,
                bytes: survey.bytes,
                in_parts: survey.in_parts,
                parts: survey.parts,
                unlisted: survey.unlisted,
                requests: Requests::new(&survey, uses),
            }),
            part_bytes: limits.part as u64,
            in_flight: limits.objects,
            threads: limits.threads,
            memory_bytes: limits.memory as u64,
            outputs,
        }
    }

    /// As a table for people.
    pub fn table(&self) -> String {
        let part = output::size(self.part_bytes);
        let (objects, parts, unlisted, requests) = match &self.counted {
            None => {
                let parts = format!("objects above {part} in parts of about so much");
                ("listed while they are processed".to_owned(), parts, 0, None)
            }
            Some(counted) => {
                let objects = output::count(counted.objects, "object");
                let parts = match counted.in_parts {
                    0 => "each object in one piece".to_owned(),
                    count => format!("{} in parts of about {part}", output::count(count, "object")),
                };
                let objects = format!("{objects}, {}", output::size(counted.bytes));
                (objects, parts, counted.unlisted, Some(counted.requests.words()))
            }
        };
        let unlisted =
            (unlisted > 0).then(|| format!("{}, which are not counted", output::count(unlisted, "folder")));
        output::table([
            ("source", Some(escape::path(&self.source.0))),
            ("output", self.destination.as_ref().map(|address| escape::path(&address.0))),
            ("objects", Some(objects)),
            ("unlisted", unlisted),
            ("in flight", Some(format!("up to {} at once", self.in_flight))),
            ("parts", Some(parts)),
            ("threads", Some(format!("{} for ciphers", self.threads))),
            ("memory", Some(format!("up to {} of sources and outputs", output::size(self.memory_bytes)))),
            ("outputs", Some(self.outputs.to_owned())),
            ("requests", requests),
        ])
    }
}
