//! Protecting publications, many at once.

use super::{exception, exception_name, message};
use crate::machine;
use crate::request::{IF_EXISTS, chosen};
use crate::watch::Watch;
use cipherloom::Observer as _;
use cipherloom_lcp::protect::{self, Event, Job, Observer, Outcome, Plan};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What the Python front says of a run, as a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    sources: Vec<PathBuf>,
    out: PathBuf,
    key_file: PathBuf,
    threads: Option<NonZeroUsize>,
    if_exists: String,
    checksums: bool,
    level: u32,
    /// Called with the totals of bytes and publications; returns what is called with those so far.
    progress: Option<Py<PyAny>>,
}

/// A publication that was protected, or was there already.
#[derive(IntoPyObject)]
pub(crate) struct Book {
    source: PathBuf,
    output: PathBuf,
    /// `None` if it was skipped: what is there has another run's record.
    id: Option<String>,
    title: Option<String>,
    bytes: u64,
    output_bytes: Option<u64>,
    encrypted: Option<u64>,
    clear: Option<u64>,
}

/// A publication that failed: its path, the reason, the exception's name.
type Failure = (PathBuf, String, &'static str);

/// What [`lcp_encrypt`] gives: the summary (JSON), the publications, the failures, the number of files passed over.
type Report = (String, Vec<Book>, Vec<Failure>, u64);

/// Protects publications.
#[pyfunction]
pub(crate) fn lcp_encrypt(py: Python<'_>, options: Options) -> PyResult<Report> {
    let if_exists = chosen("if_exists", &options.if_exists, &IF_EXISTS)?;
    let machine = machine::detect(py)?;
    let found = py
        .detach(|| protect::find(&options.sources, &options.out))
        .map_err(|(path, error)| exception(&error, &path))?;
    let sizes: Vec<u64> = found.sources.iter().map(|source| source.size).collect();
    let plan = Plan::new(&sizes, &machine, machine.backend, options.threads, options.checksums);
    let job = Job {
        sources: found.sources,
        out: options.out,
        key_file: options.key_file,
        if_exists,
        checksums: options.checksums,
        durable: false,
        level: options.level,
        backend: machine.backend,
        identity: protect::Identity::default(),
    };
    let started = options.progress.map(|start| start.call1(py, (sizes.iter().sum::<u64>(), sizes.len())));
    let progress = started.transpose()?;
    let library = Library { watch: Watch::new(progress.as_ref()), ended: Mutex::default() };
    let summary = library.watch.during(py, || protect::run(&job, &plan, &library))?;
    let mut summary = summary.map_err(|(path, error)| exception(&error, &path))?;
    library.watch.tell_end(py)?;
    let (mut books, mut failures) = library.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (path, error) in found.unlisted {
        summary.failed += 1;
        failures.push((path, crate::errors::message(&error), crate::errors::exception_name(&error)));
    }
    books.sort_by(|one, other| one.source.cmp(&other.source));
    failures.sort();
    let summary =
        serde_json::to_string(&summary).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    Ok((summary, books, failures, found.passed_over))
}

/// What became of publications so far.
struct Library<'w> {
    watch: Watch<'w>,
    ended: Mutex<(Vec<Book>, Vec<Failure>)>,
}

impl Observer for Library<'_> {
    fn advanced(&self, bytes: u64) {
        self.watch.advanced(bytes);
    }

    fn ended(&self, event: &Event<'_>) {
        self.watch.entry_ended();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let mut book = Book {
            source: event.source.to_owned(),
            output: event.output.map(ToOwned::to_owned).unwrap_or_default(),
            id: None,
            title: None,
            bytes: event.bytes,
            output_bytes: None,
            encrypted: None,
            clear: None,
        };
        match &event.outcome {
            Outcome::Done { record, encrypted, clear, .. } => {
                (book.id, book.title) = (Some(record.id.clone()), Some(record.title.clone()));
                book.output_bytes = Some(record.protected.size);
                (book.encrypted, book.clear) = (Some(*encrypted), Some(*clear));
            }
            Outcome::Skipped => {}
            Outcome::Failed(error) => {
                ended.1.push((event.source.to_owned(), message(error), exception_name(error)));
                return;
            }
        }
        ended.0.push(book);
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }
}
