//! Trees in folders: one door for all operations, the listing, and the plan without a run.

use crate::errors::{self, InvalidRequest, exception};
use crate::machine;
use crate::request::{Listed, Request};
use crate::watch::{Failure, Watch, json};
use cipherloom::key::{Protection, Template};
use cipherloom::plan::CipherCost;
use cipherloom::{Entry, Error, Job, Observer, Operation, Plan, Selection, Tree};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Runs an operation over a tree. Returns the summary (JSON) and the failures.
pub(crate) fn process(py: Python<'_>, request: &Request) -> PyResult<(String, Vec<Failure>)> {
    let mut job = Job::new(request.work()?, None);
    job.if_exists = request.if_exists()?;
    job.links = request.links()?;
    job.suffix.clone_from(&request.suffix);
    job.bind_path = request.bind_path;
    job.durable = request.durable;

    let tree = match &request.objects {
        None => list(py, &request.source, &request.selection()?)?,
        Some(objects) => named(py, &request.source, objects)?,
    };
    if let Some(destination) = &request.destination {
        place(&mut job, &tree, destination)?;
    }
    let plan = job.plan(&tree, &machine::detect(py)?, request.threads);
    let progress = request.progress.as_ref();
    let started = progress.map(|start| start.call1(py, (tree.total_bytes(), tree.entries.len())));
    let progress = started.transpose()?;
    let watch = Watch::new(progress.as_ref());
    let summary = watch.during(py, || cipherloom::run(&tree, &plan, &job, &watch))?;
    let about = request.destination.as_deref().unwrap_or(&request.source);
    let summary = summary.map_err(|error| exception(&error, Some(about)))?;
    watch.tell_end(py)?;
    Ok((json(&summary)?, watch.into_failures()))
}

/// Lists the files below a folder, or the one file, and tells what could not be listed.
pub(crate) fn list_objects(
    py: Python<'_>,
    source: &Path,
    selection: &Selection,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    let tree = list(py, source, selection)?;
    let version = |entry: &Entry| {
        let since = entry.attributes.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{:x}-{:x}", entry.size, since.map_or(0, |since| since.as_nanos()))
    };
    let path = |entry: &Entry| tree.relative_path(entry).into_os_string();
    let files = tree.entries.iter().map(|entry| (path(entry), entry.size, Some(version(entry))));
    Ok((files.collect(), errors::unlisted(&tree.unlisted)))
}

/// Plans the encryption of a tree with keys of this template. Returns the description (JSON).
pub(crate) fn plan(
    py: Python<'_>,
    source: &Path,
    template: Template,
    threads: Option<NonZeroUsize>,
    selection: &Selection,
) -> PyResult<String> {
    let tree = list(py, source, selection)?;
    let sizes: Vec<u64> = tree.entries.iter().map(|entry| entry.size).collect();
    let machine = machine::detect(py)?;
    let request = cipherloom::Request {
        operation: Operation::Encrypt,
        threads,
        backend: machine.backend,
        cipher: match template.protection() {
            Protection::Gcm => CipherCost::Gcm,
            Protection::CtrHmac { .. } => CipherCost::CtrHmac,
        },
        key_iterations: 0,
        largest_segment: template.segment_size() as usize,
        open_files: machine.open_files,
    };
    json(&Plan::new(&sizes, &machine, &request).describe())
}

fn list(py: Python<'_>, source: &Path, selection: &Selection) -> PyResult<Tree> {
    let watch = Watch::new(None);
    let tree = watch.during(py, || Tree::list_unless(source, selection, &|| watch.is_stopped()))?;
    tree.map_err(|error: Error| exception(&error, Some(source)))
}

fn named(py: Python<'_>, source: &Path, objects: &[Listed]) -> PyResult<Tree> {
    let files: Vec<PathBuf> = objects.iter().map(|(path, ..)| path.into()).collect();
    let watch = Watch::new(None);
    let tree = watch.during(py, || Tree::named(source, &files, &|| watch.is_stopped()))?;
    tree.map_err(|error| exception(&error, Some(source)))
}

/// Where the outputs go. Like `cp`, a file goes to the file of that name, unless a folder is there.
fn place(job: &mut Job<'_>, tree: &Tree, destination: &Path) -> PyResult<()> {
    let is_folder = destination.is_dir() || destination.to_string_lossy().ends_with(std::path::is_separator);
    if !tree.is_single_file || is_folder {
        job.destination = Some(destination.to_owned());
        return Ok(());
    }
    let name = destination.file_name();
    let name =
        name.ok_or_else(|| InvalidRequest::new_err("the destination names neither a file nor a folder"))?;
    let keeps_name =
        tree.entries.iter().all(|entry| job.names_output(&entry.name).is_none_or(|output| output == name));
    if job.bind_path && !keeps_name {
        return Err(InvalidRequest::new_err(
            "bind_path binds the file's own name; name a folder as destination, so that the file keeps it",
        ));
    }
    job.single_name = Some(name.to_owned());
    let parent = destination.parent().filter(|parent| !parent.as_os_str().is_empty());
    job.destination = Some(parent.unwrap_or(Path::new(".")).to_owned());
    Ok(())
}
