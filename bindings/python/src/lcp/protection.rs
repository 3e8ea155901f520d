//! Protecting publications, many at once.

use super::Options;
use crate::errors::{OrRaise, Trouble};
use crate::machine;
use crate::plain::plain;
use crate::watch::{Failure, Watch};
use cipherloom::internal::engine::lock;
use cipherloom_lcp::Outcome;
use cipherloom_lcp::protect::{self, Event, Job, Plan, Protected};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;

/// What Python's `encrypt` asks for beside the options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Order {
    sources: Vec<PathBuf>,
    out: PathBuf,
    key_file: PathBuf,
    checksums: bool,
    level: u32,
    /// Called with the totals of bytes and publications; returns the function that gets those so far.
    progress: Option<Py<PyAny>>,
}

/// A publication that was protected, or was there already.
#[derive(Default, IntoPyObject)]
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

/// The report's numbers, the publications, the failures, the number of files passed over.
type Report<'py> = (Bound<'py, PyAny>, Vec<Book>, Vec<Failure>, u64);

/// Protects publications.
#[pyfunction]
pub(crate) fn lcp_encrypt(py: Python<'_>, order: Order, options: Options) -> PyResult<Report<'_>> {
    let machine = machine::detect(py)?;
    let found = py.detach(|| protect::find(&order.sources, &order.out)).or_raise(None)?;
    let (bytes, books) = (found.sources.iter().map(|source| source.size).sum::<u64>(), found.sources.len());
    let mut job = Job::new(found.sources, order.out, order.key_file);
    (job.if_exists, job.durable) = (options.if_exists()?, options.durable);
    (job.checksums, job.level, job.backend) = (order.checksums, order.level, machine.backend);
    let plan = Plan::new(&job, &machine, options.threads);
    let started = order.progress.map(|start| start.call1(py, (bytes, books)));
    let progress = started.transpose()?;
    let watch = Watch::new(progress.as_ref());
    let all: Mutex<(Vec<Book>, Vec<Failure>)> = Mutex::default();
    let ended = |event: Event<'_>| add_event(&mut lock(&all), event);
    let mut report = watch.during(py, || protect::run(&job, &plan, &watch, &ended))?.or_raise(None)?;
    watch.report_progress(py)?;
    let (mut books, mut failures) = std::mem::take(&mut *lock(&all));
    for (path, error) in found.unlisted {
        report.failed += 1;
        failures.push(Trouble::from(&error).failure(path));
    }
    books.sort_by(|one, other| one.source.cmp(&other.source));
    failures.sort();
    Ok((plain(py, &report)?, books, failures, found.passed_over))
}

fn add_event(all: &mut (Vec<Book>, Vec<Failure>), event: Event<'_>) {
    let mut book = Book {
        source: event.source.to_owned(),
        output: event.output.map(ToOwned::to_owned).unwrap_or_default(),
        bytes: event.bytes,
        ..Book::default()
    };
    match event.outcome {
        Outcome::Done(Protected { record, encrypted, clear, .. }) => {
            (book.id, book.title) = (Some(record.id.clone()), Some(record.title.clone()));
            book.output_bytes = Some(record.protected.size);
            (book.encrypted, book.clear) = (Some(encrypted), Some(clear));
        }
        Outcome::Skipped => {}
        Outcome::Failed(error) => return all.1.push(Trouble::from(&error).failure(event.source)),
    }
    all.0.push(book);
}
