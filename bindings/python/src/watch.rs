//! Watching a run from Python: progress, failures, and Ctrl-C.
//!
//! Only Python's main thread may handle a signal, and only with the interpreter's lock. That thread is one of the
//! workers here. Between runs of segments, and while it waits for others, the library asks it whether to stop; it then
//! checks for signals, at most once per [`INTERVAL`]. So no thread is started only to wait, and Ctrl-C stops a run well
//! within 200 ms.

use crate::errors::Trouble;
use crate::hints::Hint;
use cipherloom::internal::engine::lock;
use cipherloom::{
    Observer,
    report::{Event, Outcome},
};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// How often signals are handled and progress is reported.
const INTERVAL: Duration = Duration::from_millis(40);

/// An entry that failed: its path or address (as text, since Python's paths make one slash of two), the reason, the
/// exception's name, the remedy.
pub(crate) type Failure = (OsString, String, &'static str, Option<Hint>);

/// What is seen of one run.
pub(crate) struct Watch<'w> {
    /// The thread that Python called.
    caller: ThreadId,
    /// Called with source bytes and entries that are through.
    progress: Option<&'w Py<PyAny>>,
    bytes: AtomicU64,
    entries: AtomicU64,
    stopped: AtomicBool,
    polled: Mutex<Instant>,
    raised: Mutex<Option<PyErr>>,
    failures: Mutex<Vec<Failure>>,
}

impl<'w> Watch<'w> {
    /// A watch for a run that this thread starts.
    pub(crate) fn new(progress: Option<&'w Py<PyAny>>) -> Watch<'w> {
        Watch {
            caller: thread::current().id(),
            progress,
            bytes: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            polled: Mutex::new(Instant::now()),
            raised: Mutex::new(None),
            failures: Mutex::new(Vec::new()),
        }
    }

    /// Runs `work` without the interpreter's lock. What a signal's handler or the progress function raised meanwhile
    /// comes before the result.
    pub(crate) fn during<T: Send>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
        let result = py.detach(work);
        match lock(&self.raised).take() {
            Some(raised) => Err(raised),
            None => Ok(result),
        }
    }

    /// The failures so far, by path.
    pub(crate) fn into_failures(self) -> Vec<Failure> {
        let mut failures = self.failures.into_inner().unwrap_or_else(PoisonError::into_inner);
        failures.sort_by(|one, other| Path::new(&one.0).cmp(Path::new(&other.0)));
        failures
    }

    /// Handles signals and reports progress, unless that was done a moment ago.
    fn poll(&self) {
        let mut polled = lock(&self.polled);
        if polled.elapsed() < INTERVAL {
            return;
        }
        let handled = Python::attach(|py| py.check_signals().and_then(|()| self.report_progress(py)));
        if let Err(raised) = handled {
            *lock(&self.raised) = Some(raised);
            self.stopped.store(true, Ordering::Relaxed);
        }
        *polled = Instant::now();
    }

    /// Calls the progress function with the counts so far.
    pub(crate) fn report_progress(&self, py: Python<'_>) -> PyResult<()> {
        let Some(progress) = self.progress else { return Ok(()) };
        let counts = (self.bytes.load(Ordering::Relaxed), self.entries.load(Ordering::Relaxed));
        progress.call1(py, counts).map(|_| ())
    }
}

impl Observer for Watch<'_> {
    fn advanced(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn entry_ended(&self) {
        self.entries.fetch_add(1, Ordering::Relaxed);
    }

    fn wants_every_event(&self) -> bool {
        false
    }

    fn ended(&self, event: &Event<'_>) {
        if let Outcome::Failed(error) = &event.outcome {
            lock(&self.failures).push(Trouble::from(*error).failure(event.source));
        }
    }

    fn is_stopped(&self) -> bool {
        if !self.stopped.load(Ordering::Relaxed) && thread::current().id() == self.caller {
            self.poll();
        }
        self.stopped.load(Ordering::Relaxed)
    }

    fn watch_interval(&self) -> Option<Duration> {
        Some(INTERVAL)
    }
}

/// Runs on another thread what cannot be asked to stop, and looks for signals meanwhile. What a signal leaves behind comes to
/// its end by itself, and nobody hears of it: for work that changes nothing.
#[cfg_attr(not(feature = "stores"), expect(dead_code, reason = "what lists folders can be asked to stop"))]
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, hears) = channel();
    thread::Builder::new().name("cipherloom-listing".to_owned()).spawn(move || drop(tell.send(work())))?;
    let hears = Mutex::new(hears);
    loop {
        match py.detach(|| lock(&hears).recv_timeout(INTERVAL)) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err(
                    "the listing came to no end; this is a bug of cipherloom",
                ));
            }
        }
    }
}
