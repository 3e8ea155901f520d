//! A run over stores: the same words, events, progress and exit codes as one over folders.

use super::{Source, StoreRun, plan};
use crate::arguments::{StoreArguments, TreeArguments};
use crate::commands::transform::style;
use crate::exit_code::{self, ExitCode, usage};
use crate::output;
use crate::progress::Progress;
use crate::report::{Printer, Report, Style};
use anyhow::Context;
use cipherloom::{Error, Format, Links};
use cipherloom_stores::{Access, Errand, Listing, Place, Work};
use std::path::Path;
use std::sync::Arc;

/// What was found in a store.
pub struct Found(Arc<Listing>);

impl Found {
    /// The objects' sizes in bytes.
    pub fn sizes(&self) -> Vec<u64> {
        self.0.objects.iter().map(|object| object.size).collect()
    }
}

fn access(arguments: &StoreArguments) -> Access {
    Access { retries: arguments.retries }
}

/// Lists the source, which is in a store.
pub fn look(tree: &TreeArguments, stores: &StoreArguments) -> anyhow::Result<Found> {
    let selection = tree.selection()?;
    let place = Place::open(&tree.source, access(stores));
    let listing = place.and_then(|place| Listing::list(&place, &selection));
    Ok(Found(Arc::new(listing.with_context(|| output::printable(&tree.source))?)))
}

/// Runs and reports.
pub fn run(
    run: StoreRun<'_>,
    source: Source,
    write_key: &dyn Fn() -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let listing = match source {
        Source::Listing(Found(listing)) => listing,
        Source::Tree(tree) => Arc::new(Listing::of_tree(tree)),
        Source::StandardInput => {
            return Err(usage(
                "standard input goes to a file or to standard output; name a folder as SRC for a store",
            ));
        }
    };
    if run.job.links == Links::Copy {
        return Err(usage("a store has no links; leave --links copy out"));
    }
    let errand = errand(&run, &listing)?;
    if run.dry_run {
        plan::print(&listing, &errand, run.common.json)?;
        return Ok(ExitCode::Success);
    }
    let name = || output::printable(&address(&errand, &listing));
    cipherloom_stores::check(&listing, &errand).with_context(name)?;
    write_key()?;
    let style = style(run.common);
    if style == Style::Verbose {
        output::tell(plan::table(&listing, &errand).trim_end());
    }
    let progress = Progress::default();
    let work = || cipherloom_stores::run(&listing, &errand, &Printer { style, progress: &progress });
    let ended = match style {
        Style::Plain => progress.shown_during(listing.total_bytes(), listing.objects.len() as u64, work),
        Style::Verbose | Style::Quiet | Style::Json => work(),
    };
    let summary = ended.with_context(name)?;
    Report::of_run(&summary, listing.links, listing.passed_over).print(run.verb, style)?;
    Ok(exit_code::of_summary(&summary))
}

/// What the user named as DST, or as SRC where nothing is written.
fn address(errand: &Errand, listing: &Listing) -> std::path::PathBuf {
    errand.destination.as_ref().unwrap_or(listing.place()).address()
}

fn errand(run: &StoreRun<'_>, listing: &Listing) -> anyhow::Result<Errand> {
    let (job, stores) = (&run.job, &run.common.stores);
    let mut errand = Errand::new(work(run)?, None);
    if let Some(path) = job.destination.as_deref() {
        if path == Path::new("-") {
            return Err(usage(
                "an object goes to a file, not to standard output; name a file or folder as DST",
            ));
        }
        let place = Place::open(path, access(stores)).with_context(|| output::printable(path))?;
        let (place, single_name) = if listing.is_single { place.for_single() } else { (place, None) };
        errand.destination = Some(place);
        errand.single_name = single_name;
    }
    errand.if_exists = job.if_exists;
    errand.suffix = job.suffix.to_str().ok_or_else(|| usage("--suffix is not UTF-8"))?.to_owned();
    errand.bind_path = job.bind_path;
    errand.durable = job.durable;
    errand.limits.objects = stores.in_flight.get();
    if let Some(threads) = run.common.machine.threads {
        errand.limits.threads = threads.get();
    }
    if errand.bind_path && errand.renames(listing) {
        return Err(usage(
            "--bind-path binds the object's own name; name a prefix that ends in / as DST, so that the object keeps it",
        ));
    }
    Ok(errand)
}

fn work(run: &StoreRun<'_>) -> anyhow::Result<Work> {
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
