//! A run over stores: the same words, events, progress and exit codes as one over folders.

use super::{Source, StoreRun, dry_run, plan, stream};
use crate::arguments::{PlanArguments, StoreArguments, TreeArguments};
use crate::commands::key_places;
use crate::commands::keygen::FirstKey;
use crate::commands::transform::style;
use crate::exit_code::{self, ExitCode, usage};
use crate::interrupt::{self, Interrupt};
use crate::output;
use crate::progress::Progress;
use crate::report::{Printer, Report, Style};
use anyhow::Context;
use cipherloom::{Error, Format, Links, Summary};
use cipherloom_stores::{Access, Errand, Inventory, Limits, Listing, Place, Work};
use std::path::Path;
use std::sync::Arc;

/// What was found in a store.
pub struct Found(Inventory);

impl Found {
    /// Whether it is one object, which the user named.
    pub fn is_single(&self) -> bool {
        self.0.single().is_some()
    }
}

pub(super) fn access(arguments: &StoreArguments) -> Access {
    Access { retries: arguments.retries }
}

/// Looks at the source, which is in a store.
pub fn look(tree: &TreeArguments, stores: &StoreArguments) -> anyhow::Result<Found> {
    let selection = tree.selection()?;
    let place = Place::open(tree.source(), access(stores));
    let inventory = place.and_then(|place| Inventory::open(&place, selection));
    Ok(Found(inventory.with_context(|| output::printable(tree.source()))?))
}

/// Says what encrypting this to a store takes.
pub fn show_plan(found: &Found, arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let mut limits = Limits { objects: arguments.stores.in_flight.get(), ..Limits::default() };
    if let Some(threads) = arguments.machine.threads {
        limits.threads = threads.get();
    }
    let survey = found.0.survey(&limits)?;
    plan::print(&plan::Planned::of_reading(&found.0, survey, &limits), None, arguments.json)?;
    Ok(if survey.unlisted == 0 { ExitCode::Success } else { ExitCode::Partial })
}

/// Runs and reports.
pub fn run(run: StoreRun<'_>, source: Source, new_key: &FirstKey<'_>) -> anyhow::Result<ExitCode> {
    let inventory = match source {
        Source::Listing(Found(inventory)) => inventory,
        Source::Tree(tree) => Inventory::from(&Arc::new(Listing::of_tree(tree))),
        Source::StandardInput => return stream::from_standard_input(&run, new_key),
    };
    if run.job.links != Links::Skip {
        return Err(usage("a store has no links; leave --links copy out"));
    }
    if run.job.destination.as_deref() == Some(Path::new("-")) {
        return stream::to_standard_output(&run, &inventory, new_key);
    }
    if run.job.work.sealing().is_some_and(Format::is_chained) {
        return Err(usage(
            "a tree in a store cannot be encrypted with CBC, where each block is chained to the one before; use CTR or \
             --format tink, or send objects one by one through standard input: cipherloom encrypt - s3://BUCKET/NAME",
        ));
    }
    let errand = errand(&run, &inventory)?;
    let name = || output::printable(&address(&errand, &inventory));
    cipherloom_stores::check(&inventory, &errand).with_context(name)?;
    if !run.allow_mixed_keys {
        let other = cipherloom_stores::find_other_key(&inventory, &errand).with_context(name)?;
        key_places::refuse_mixed_keys(other.as_deref())?;
    }
    if run.dry_run {
        return dry_run::show(&run, &inventory, &errand);
    }
    let interrupt = Interrupt::listen();
    new_key.write()?;
    let style = style(run.common);
    if style == Style::Verbose {
        // Nothing waits for the end of a listing.
        output::tell_lines(&plan::Planned::of_run(&inventory, None, &errand).table());
    }
    let progress = Progress::default();
    let printer = Printer::new(style, &progress, false);
    let work = || cipherloom_stores::run(&inventory, &errand, &interrupt.watching(&printer));
    let ended = match style {
        Style::Plain => progress.shown_while_listed(&|| inventory.found(), work),
        Style::Verbose | Style::Quiet | Style::Json => work(),
    };
    printer.end();
    // Such an error comes before anything was made.
    let summary = ended.inspect_err(|_| new_key.take_back()).with_context(name)?;
    Report::of_run(&summary, inventory.links(), inventory.passed_over()).print(run.verb, style)?;
    interrupt.check(match errand.destination {
        Some(_) => interrupt::kept(errand.if_exists, new_key.is_made()),
        None => interrupt::NOT_READ,
    })?;
    refuse_nothing(&run, &inventory, &summary).inspect_err(|_| new_key.take_back())?;
    Ok(exit_code::of_summary(&summary))
}

/// Fails if the run found nothing to do.
pub(super) fn refuse_nothing(
    run: &StoreRun<'_>,
    inventory: &Inventory,
    summary: &Summary,
) -> anyhow::Result<()> {
    let place = output::printable(&inventory.place().address());
    run.nothing.of_run(summary, &place, run.verb, inventory.passed_over().excluded)
}

/// What the user named as DST, or as SRC where nothing is written.
pub(super) fn address(errand: &Errand, inventory: &Inventory) -> std::path::PathBuf {
    errand.destination.as_ref().unwrap_or(inventory.place()).address()
}

fn errand(run: &StoreRun<'_>, inventory: &Inventory) -> anyhow::Result<Errand> {
    let (job, stores) = (&run.job, &run.common.stores);
    let mut errand = Errand::new(work(run)?, None);
    if let Some(path) = job.destination.as_deref() {
        let place = Place::open(path, access(stores)).with_context(|| output::printable(path))?;
        let (place, single_name) = match inventory.single() {
            Some(_) => place.for_single(),
            None => (place, None),
        };
        errand.destination = Some(place);
        errand.single_name = single_name;
    }
    limit(&mut errand, run);
    errand.suffix = job.suffix.to_str().ok_or_else(|| usage("--suffix is not UTF-8"))?.to_owned();
    errand.bind_path = job.bind_path;
    if errand.bind_path && errand.renames(inventory) {
        return Err(usage(
            "--bind-path binds the object's own name; name a prefix that ends in / as DST, so that the object keeps it",
        ));
    }
    Ok(errand)
}

/// What the command says of every errand.
pub(super) fn limit(errand: &mut Errand, run: &StoreRun<'_>) {
    errand.if_exists = run.job.if_exists;
    errand.durable = run.job.durable;
    errand.limits.objects = run.common.stores.in_flight.get();
    if let Some(threads) = run.common.machine.threads {
        errand.limits.threads = threads.get();
    }
}

pub(super) fn work(run: &StoreRun<'_>) -> anyhow::Result<Work> {
    let [opening, sealing] = run.formats.clone();
    let side = |format: Option<Arc<Format>>| format.ok_or(Error::NeitherFileNorFolder);
    Ok(match run.job.work {
        cipherloom::Work::Encrypt(_) => Work::Encrypt(side(sealing)?),
        cipherloom::Work::Decrypt(_) => Work::Decrypt(side(opening)?),
        cipherloom::Work::Verify(_) => Work::Verify(side(opening)?),
        cipherloom::Work::Rekey { .. } => Work::Rekey { from: side(opening)?, to: side(sealing)? },
        cipherloom::Work::Copy => Work::Copy,
    })
}
