//! Trees in folders: runs, listings, and plans without a run.

use crate::errors::{self, OrRaise};
use crate::index;
use crate::machine;
use crate::plain::plain;
use crate::request::{Listing, Ran, Request};
use crate::watch::Watch;
use cipherloom::internal::location::{Location, SourceKind};
use cipherloom::internal::{Entry, Job, Selection, Tree, Work, check};
use cipherloom::key::{Keyset, Template};
use cipherloom::{Error, Format, Observer};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Runs an operation over a tree. Returns the report's numbers and the failures.
pub(crate) fn process<'py>(
    py: Python<'py>,
    request: &Request,
    source: &Path,
    destination: Option<&Location>,
) -> PyResult<Ran<'py>> {
    let options = &request.options;
    let (tree, index, suffix) = match &request.objects {
        None => index::list_source(py, request, source)?,
        Some(objects) => {
            let files: Vec<PathBuf> = objects.iter().map(|(path, ..)| path.into()).collect();
            let index = index::of_share(request, objects)?;
            let tree = listed(py, source, |watch| Tree::named(source, &files, &|| watch.is_stopped()))?;
            (tree, index, None)
        }
    };
    let job = request.job(SourceKind::from(&tree), destination)?;
    let job = Job { index, suffix: suffix.unwrap_or_else(|| job.suffix.clone()), ..job };
    let plan = job.plan(&tree, &machine::detect(py)?, options.threads);
    request.run(py, tree.total_bytes(), tree.entries.len() as u64, |watch| {
        check(&tree, &job)?;
        cipherloom::internal::run(&tree, &plan, &job, watch)
    })
}

/// Lists the files below a folder, or the one file.
pub(crate) fn list_objects(py: Python<'_>, source: &Path, selection: &Selection) -> PyResult<Listing> {
    let tree = list(py, source, selection)?;
    let version = |entry: Entry<'_>| {
        let since = entry.attributes().modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{:x}-{:x}", entry.size(), since.map_or(0, |since| since.as_nanos()))
    };
    let path = |entry: Entry<'_>| tree.relative_path(entry).into_os_string();
    let file = |entry: Entry<'_>| {
        let (version, modified) = (version(entry), entry.attributes().moment());
        (path(entry), entry.size(), Some(version), modified)
    };
    let files = tree.entries.iter().map(file);
    Ok((files.collect(), errors::unlisted(&tree.unlisted), tree.passed_over.index))
}

/// Plans the encryption of a tree with keys of this template. Returns the description.
pub(crate) fn plan<'py>(
    py: Python<'py>,
    source: &Path,
    template: Template,
    threads: Option<NonZeroUsize>,
    selection: &Selection,
) -> PyResult<Bound<'py, PyAny>> {
    let tree = list(py, source, selection)?;
    let machine = machine::detect(py)?;
    // Any key of the template has the plan of all.
    let format =
        Keyset::generate(template).and_then(|keyset| Format::tink(keyset, machine.backend)).or_raise(None)?;
    plain(py, &Job::new(Work::Encrypt(format), None).plan(&tree, &machine, threads).describe())
}

pub(crate) fn list(py: Python<'_>, source: &Path, selection: &Selection) -> PyResult<Tree> {
    listed(py, source, |watch| Tree::list_observed(source, selection, watch))
}

/// What `list` gives of `source`, unless Ctrl-C stops it.
fn listed(
    py: Python<'_>,
    source: &Path,
    list: impl FnOnce(&Watch<'_>) -> Result<Tree, Error> + Send,
) -> PyResult<Tree> {
    let watch = Watch::new(None);
    watch.during(py, || list(&watch))?.or_raise(Some(source))
}
