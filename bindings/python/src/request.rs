//! What the Python front asks for: one form for trees in folders and in object stores.

use crate::age::Keys;
use crate::errors::{InvalidRequest, OrRaise};
use crate::plain::plain;
use crate::watch::{Failure, Watch};
use crate::{stores, tree};
use cipherloom::error::IndexFault;
use cipherloom::internal::location::{Location, SourceKind, place_outputs};
use cipherloom::key::Template;
use cipherloom::{
    Error, Format, IfExists, Links, Report,
    internal::{Job, Selection, Work},
};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// An object (or file) of a listing: its path below the source, its size in bytes, its version (a store's ETag; size and time
/// of a file), and when it was last changed, in seconds and nanoseconds since 1970.
pub(crate) type Listed = (OsString, u64, Option<String>, Option<(i64, u32)>);

/// The numbers of a run's report, and its failures.
pub(crate) type Ran<'py> = (Bound<'py, PyAny>, Vec<Failure>);

/// Python's `Request`.
#[derive(FromPyObject)]
pub(crate) struct Request {
    /// "encrypt", "decrypt", "verify", "rekey" or "copy".
    operation: String,
    /// A path, or the address of a place in a store.
    source: PathBuf,
    /// `None` when verifying.
    pub(crate) destination: Option<PathBuf>,
    /// `None` when copying.
    key: Option<Keys>,
    /// The key to encrypt with when re-keying.
    new_key: Option<Keys>,
    pub(crate) options: Options,
    /// What the run does with the index of an encrypted folder, beside what it does anyway.
    pub(crate) index: Option<IndexOptions>,
    /// Only these objects of the source, as [`list_objects`] gave them; `include` and `exclude` are not applied.
    pub(crate) objects: Option<Vec<Listed>>,
    /// Called with the totals of bytes and entries once they are known; returns the function that gets those so far.
    progress: Option<Py<PyAny>>,
}

/// Python's `Options`, as far as they are not for the front itself.
#[derive(FromPyObject)]
pub(crate) struct Options {
    pub(crate) threads: Option<NonZeroUsize>,
    if_exists: String,
    links: String,
    include: Vec<String>,
    exclude: Vec<String>,
    pub(crate) suffix: OsString,
    pub(crate) bind_path: bool,
    pub(crate) durable: bool,
    pub(crate) preserve_modes: bool,
    pub(crate) non_atomic: bool,
    max_segment_size: Option<u32>,
    allow_mixed_keys: bool,
}

/// Python's `IndexOptions`.
#[derive(FromPyObject)]
pub(crate) struct IndexOptions {
    /// "update", "rebuild", "compare"; with `objects`, "journal" or "expect".
    pub(crate) use_as: String,
    pub(crate) anchor: Option<PathBuf>,
    pub(crate) quick: bool,
    pub(crate) replace: bool,
    pub(crate) skip_unopened: bool,
    pub(crate) only: Vec<String>,
    pub(crate) hide_names: bool,
    /// The root that a journal is to follow.
    pub(crate) root: Option<[u8; 32]>,
    /// By object, the stream that the index lists there.
    pub(crate) expected: Vec<Option<[u8; 16]>>,
}

/// Whether this is the address of a place in a store (`s3://bucket/prefix`), and no path.
#[pyfunction]
pub(crate) fn is_address(place: PathBuf) -> bool {
    Location::parse(&place).is_ok_and(|location| location.is_store())
}

/// `file:///folder` as `/folder`; other paths and addresses as they are.
#[pyfunction]
pub(crate) fn without_scheme(place: PathBuf) -> PyResult<OsString> {
    Ok(match locate(place.clone())? {
        Location::Path(path) => path,
        _ => place,
    }
    .into())
}

fn locate(place: PathBuf) -> PyResult<Location> {
    match Location::parse(&place) {
        // There is no standard output here that a caller could mean.
        Ok(Location::StandardStream) => Ok(Location::Path(place)),
        parsed => parsed.or_raise(Some(&place)),
    }
}

/// Runs an operation. Returns the report's numbers and the failures.
#[pyfunction]
pub(crate) fn process(py: Python<'_>, request: Request) -> PyResult<Ran<'_>> {
    let (source, destination) =
        (locate(request.source.clone())?, request.destination.clone().map(locate).transpose()?);
    match (&source, &destination) {
        (Location::Path(source), None | Some(Location::Path(_))) => {
            tree::process(py, &request, source, destination.as_ref())
        }
        _ if request.index.is_some() && request.objects.is_none() => {
            let fault = IndexFault::Unsupported("folders as source and destination");
            Err(Error::from(fault)).or_raise(Some(request.about()))
        }
        _ => stores::process(py, &request, &source, destination.as_ref()),
    }
}

/// What there is at a place, what could not be listed, and how much was passed over because its name is reserved for indexes.
pub(crate) type Listing = (Vec<Listed>, Vec<Failure>, u64);

/// Lists what there is at a path or address.
#[pyfunction]
pub(crate) fn list_objects(py: Python<'_>, source: PathBuf, options: Options) -> PyResult<Listing> {
    let (source, selection) = (locate(source)?, options.selection()?);
    match source.path() {
        Some(path) => tree::list_objects(py, path, &selection),
        None => stores::list_objects(py, &source.to_path(), selection),
    }
}

/// Whether an entry of this name would be in the place of an index.
#[pyfunction]
pub(crate) fn is_reserved(name: OsString) -> bool {
    cipherloom::internal::is_reserved(&name)
}

/// Plans the encryption of what there is at a path or address, with keys of this template. Returns whether this is a plan
/// for a store, and its description.
#[pyfunction]
pub(crate) fn plan<'py>(
    py: Python<'py>,
    source: PathBuf,
    template: &str,
    options: Options,
) -> PyResult<(bool, Bound<'py, PyAny>)> {
    let template = template.parse::<Template>().or_raise(None)?;
    let (source, selection) = (locate(source)?, options.selection()?);
    Ok(match source.path() {
        Some(path) => (false, tree::plan(py, path, template, options.threads, &selection)?),
        None => (true, stores::plan(py, &source.to_path(), options.threads, selection)?),
    })
}

impl Request {
    /// The job over `source`, with the folder or prefix that its outputs go to.
    pub(crate) fn job(&self, source: SourceKind<'_>, destination: Option<&Location>) -> PyResult<Job> {
        let options = &self.options;
        let mut job = Job {
            if_exists: options.if_exists()?,
            links: options.links()?,
            suffix: options.suffix.clone(),
            bind_path: options.bind_path,
            durable: options.durable,
            preserve_modes: options.preserve_modes,
            non_atomic: options.non_atomic,
            allow_mixed_keys: options.allow_mixed_keys,
            ..Job::new(self.work()?, None)
        };
        if let Some(destination) = destination {
            let placed = place_outputs(source, destination, &job).or_raise(Some(self.about()))?;
            job.destination = Some(placed.folder.to_path());
            job.single_name = placed.name;
        }
        Ok(job)
    }

    /// The work between the formats of the keys.
    pub(crate) fn work(&self) -> PyResult<Work> {
        let format = |key: &Option<Keys>| -> PyResult<Option<Format>> {
            key.as_ref().map(|key| key.format(self.options.max_segment_size)).transpose()
        };
        match (self.operation.as_str(), format(&self.key)?, format(&self.new_key)?) {
            ("encrypt", Some(key), None) => Ok(Work::Encrypt(key)),
            ("decrypt", Some(key), None) => Ok(Work::Decrypt(key)),
            ("verify", Some(key), None) => Ok(Work::Verify(key)),
            ("rekey", Some(from), Some(to)) => Ok(Work::Rekey { from, to }),
            ("copy", None, None) => Ok(Work::Copy),
            (operation, ..) => {
                Err(InvalidRequest::new_err(format!("no operation {operation:?} with these keys")))
            }
        }
    }

    /// What an error of the run as a whole is about.
    pub(crate) fn about(&self) -> &Path {
        self.destination.as_deref().unwrap_or(&self.source)
    }

    /// Does `work`, watched. Python's progress function is called with the totals first. Returns the report's numbers and the
    /// failures.
    pub(crate) fn run<'py>(
        &self,
        py: Python<'py>,
        bytes: u64,
        entries: u64,
        work: impl FnOnce(&Watch<'_>) -> Result<Report, Error> + Send,
    ) -> PyResult<Ran<'py>> {
        let progress = self.progress.as_ref().map(|start| start.call1(py, (bytes, entries))).transpose()?;
        let watch = Watch::new(progress.as_ref());
        let report = watch.during(py, || work(&watch))?.or_raise(Some(self.about()))?;
        watch.report_progress(py)?;
        Ok((plain(py, &report)?, watch.into_failures()))
    }

    /// Whether somebody wants to know the totals before the run.
    #[cfg_attr(not(feature = "stores"), expect(dead_code, reason = "only stores are listed during a run"))]
    pub(crate) fn has_progress(&self) -> bool {
        self.progress.is_some()
    }
}

impl Options {
    pub(crate) fn if_exists(&self) -> PyResult<IfExists> {
        if_exists(&self.if_exists)
    }

    pub(crate) fn links(&self) -> PyResult<Links> {
        let choices = [("skip", Links::Skip), ("copy", Links::Copy), ("copy-all", Links::CopyAll)];
        choose("links", &self.links, &choices)
    }

    pub(crate) fn selection(&self) -> PyResult<Selection> {
        Selection::new(&self.include, &self.exclude).or_raise(None)
    }
}

pub(crate) fn if_exists(name: &str) -> PyResult<IfExists> {
    let choices = [("fail", IfExists::Fail), ("skip", IfExists::Skip), ("overwrite", IfExists::Overwrite)];
    choose("if_exists", name, &choices)
}

fn choose<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> PyResult<T> {
    choices.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice).ok_or_else(|| {
        let known: Vec<_> = choices.iter().map(|(known, _)| format!("{known:?}")).collect();
        InvalidRequest::new_err(format!("{option} is one of {}, not {name:?}", known.join(", ")))
    })
}
