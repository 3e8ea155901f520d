//! Whole trees: one door for all four operations, and the plan without a run.

use crate::errors::{self, InvalidRequest, exception};
use crate::keyset::Keyset;
use crate::machine;
use crate::watch::{Failure, Watch};
use cipherloom::key::{Protection, Template};
use cipherloom::plan::CipherCost;
use cipherloom::{
    Entry, Error, Format, IfExists, Job, Links, Observer, Operation, Plan, Request, Selection, Tree, Work,
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What the Python front says of a run, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    /// "encrypt", "decrypt", "verify" or "rekey".
    operation: String,
    source: PathBuf,
    /// `None` when verifying.
    destination: Option<PathBuf>,
    key: Py<Keyset>,
    /// The key to encrypt with when re-keying.
    new_key: Option<Py<Keyset>>,
    threads: Option<NonZeroUsize>,
    if_exists: String,
    links: String,
    include: Vec<String>,
    exclude: Vec<String>,
    /// Only these files, relative to the source, which is a folder then; `include` and `exclude` are not asked.
    files: Option<Vec<PathBuf>>,
    suffix: OsString,
    bind_path: bool,
    durable: bool,
    /// Called with the totals of bytes and entries once they are known; returns what is called with those so far.
    progress: Option<Py<PyAny>>,
}

/// Runs an operation over a tree. Returns the summary (JSON) and the failures.
#[pyfunction]
pub(crate) fn process(py: Python<'_>, options: Options) -> PyResult<(String, Vec<Failure>)> {
    let key = options.key.get().format();
    let new_key = options.new_key.as_ref().map(|key| key.get().format());
    let mut job = Job::new(work(&options.operation, key, new_key.map(|format| &**format))?, None);
    job.if_exists = chosen("if_exists", &options.if_exists, &IF_EXISTS)?;
    job.links = chosen("links", &options.links, &LINKS)?;
    job.suffix.clone_from(&options.suffix);
    job.bind_path = options.bind_path;
    job.durable = options.durable;

    let tree = match &options.files {
        None => list(py, &options.source, &options.include, &options.exclude)?,
        Some(files) => named(py, &options.source, files)?,
    };
    if let Some(destination) = &options.destination {
        place(&mut job, &tree, destination)?;
    }
    let plan = job.plan(&tree, &machine::detect(py)?, options.threads);
    let started = options.progress.map(|start| start.call1(py, (tree.total_bytes(), tree.entries.len())));
    let progress = started.transpose()?;
    let watch = Watch::new(progress.as_ref());
    let summary = watch.during(py, || cipherloom::run(&tree, &plan, &job, &watch))?;
    let about = options.destination.as_deref().unwrap_or(&options.source);
    let summary = summary.map_err(|error| exception(&error, Some(about)))?;
    watch.tell_end(py)?;
    let summary =
        serde_json::to_string(&summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((summary, watch.into_failures()))
}

/// A file's path below its root, its size in bytes, its version (size and time of change).
type Listed = (PathBuf, u64, String);

/// Lists the files below a folder, or the one file, and tells what could not be listed.
#[pyfunction]
pub(crate) fn list_files(
    py: Python<'_>,
    source: PathBuf,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<(Vec<Listed>, Vec<Failure>)> {
    let tree = list(py, &source, &include, &exclude)?;
    let version = |entry: &Entry| {
        let since = entry.attributes.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{:x}-{:x}", entry.size, since.map_or(0, |since| since.as_nanos()))
    };
    let unlisted = tree.unlisted.iter().map(|unlisted| {
        (unlisted.path.clone(), errors::message(&unlisted.error), errors::exception_name(&unlisted.error))
    });
    let files = tree.entries.iter().map(|entry| (tree.relative_path(entry), entry.size, version(entry)));
    Ok((files.collect(), unlisted.collect()))
}

/// Plans the encryption of a tree with keys of this template. Returns the description (JSON).
#[pyfunction]
#[pyo3(signature = (source, template, threads, include, exclude))]
pub(crate) fn plan(
    py: Python<'_>,
    source: PathBuf,
    template: &str,
    threads: Option<NonZeroUsize>,
    include: Vec<String>,
    exclude: Vec<String>,
) -> PyResult<String> {
    let template: Template = template.parse().map_err(|error| exception(&error, None))?;
    let tree = list(py, &source, &include, &exclude)?;
    let sizes: Vec<u64> = tree.entries.iter().map(|entry| entry.size).collect();
    let machine = machine::detect(py)?;
    let request = Request {
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
    let plan = Plan::new(&sizes, &machine, &request);
    serde_json::to_string(&plan.describe()).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

pub(crate) const IF_EXISTS: [(&str, IfExists); 3] =
    [("fail", IfExists::Fail), ("skip", IfExists::Skip), ("overwrite", IfExists::Overwrite)];
const LINKS: [(&str, Links); 2] = [("skip", Links::Skip), ("copy", Links::Copy)];

pub(crate) fn chosen<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    match choices.iter().find(|(known, _)| *known == name) {
        Some((_, choice)) => Ok(*choice),
        None => {
            let known: Vec<_> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
            let known = known.join(", ");
            Err(InvalidRequest::new_err(format!("{option} is one of {known}, not {name:?}")))
        }
    }
}

fn work<'f>(operation: &str, key: &'f Format, new_key: Option<&'f Format>) -> PyResult<Work<'f>> {
    match (operation, new_key) {
        ("encrypt", None) => Ok(Work::Encrypt(key)),
        ("decrypt", None) => Ok(Work::Decrypt(key)),
        ("verify", None) => Ok(Work::Verify(key)),
        ("rekey", Some(to)) => Ok(Work::Rekey { from: key, to }),
        _ => Err(InvalidRequest::new_err(format!("no operation {operation:?} with these keys"))),
    }
}

fn list(py: Python<'_>, source: &Path, include: &[String], exclude: &[String]) -> PyResult<Tree> {
    let selection = Selection::new(include, exclude).map_err(|error| exception(&error, None))?;
    let watch = Watch::new(None);
    let tree = watch.during(py, || Tree::list_unless(source, &selection, &|| watch.is_stopped()))?;
    tree.map_err(|error: Error| exception(&error, Some(source)))
}

fn named(py: Python<'_>, source: &Path, files: &[PathBuf]) -> PyResult<Tree> {
    let watch = Watch::new(None);
    let tree = watch.during(py, || Tree::named(source, files, &|| watch.is_stopped()))?;
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
