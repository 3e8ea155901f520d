//! `-` beside a store: standard input to one object, one object to standard output.

use super::StoreRun;
use super::enabled::{access, limit, work};
use crate::commands::keygen::FirstKey;
use crate::commands::stream::{Watch, finish, refuse_bound_path, refuse_standard_output};
use crate::exit_code::{ExitCode, usage};
use crate::interrupt::Interrupt;
use crate::output;
use crate::standard::Input;
use anyhow::Context;
use cipherloom::Error;
use cipherloom_stores::{Errand, Inventory, Place, read_single, write_single};
use std::path::Path;

/// Standard input to the object that is named as DST.
pub fn from_standard_input(run: &StoreRun<'_>, new_key: &FirstKey<'_>) -> anyhow::Result<ExitCode> {
    refuse_bound_path(&run.job)?;
    refuse_dry_run(run)?;
    let path = run.job.destination.as_deref().unwrap_or(Path::new(""));
    let place = Place::open(path, access(&run.common.stores)).with_context(|| output::printable(path))?;
    let (place, Some(name)) = place.for_single() else {
        return Err(usage(format!(
            "standard input has no name; {} should name the object: s3://BUCKET/NAME",
            output::printable(path)
        )));
    };
    let mut errand = Errand::new(work(run)?, Some(place));
    errand.single_name = Some(name);
    limit(&mut errand, run);
    let mut source = Input::open()?;
    let interrupt = Interrupt::listen();
    new_key.write()?;
    let written = Watch::new(run.common)
        .during(0, |observer| write_single(&mut source, &errand, &interrupt.watching(observer)));
    let summary = stopped(written, &interrupt)
        .with_context(|| format!("standard input to {}", output::printable(path)))?;
    finish(run.verb, &summary, run.common)
}

/// A single object to standard output.
pub fn to_standard_output(
    run: &StoreRun<'_>,
    inventory: &Inventory,
    new_key: &FirstKey<'_>,
) -> anyhow::Result<ExitCode> {
    refuse_bound_path(&run.job)?;
    refuse_dry_run(run)?;
    refuse_standard_output(&run.job, run.common)?;
    if inventory.single().is_none() {
        return Err(usage("only a single object goes to standard output; name a folder as DST"));
    }
    let mut errand = Errand::new(work(run)?, None);
    limit(&mut errand, run);
    new_key.write()?;
    let name = || output::printable(&inventory.place().address());
    let (_, bytes, _) = inventory.found();
    let read = Watch::new(run.common)
        .pass_to_output(bytes, |sink, observer| read_single(inventory, &errand, sink, observer));
    finish(run.verb, &read.with_context(name)?, run.common)
}

fn stopped<T>(ended: Result<T, Error>, interrupt: &Interrupt) -> anyhow::Result<T> {
    ended.or_else(|error| {
        interrupt.check("no object was made")?;
        Err(error.into())
    })
}

fn refuse_dry_run(run: &StoreRun<'_>) -> anyhow::Result<()> {
    if run.dry_run {
        return Err(usage("a single stream has no plan to show; leave --dry-run out"));
    }
    Ok(())
}
