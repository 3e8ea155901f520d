//! What operations over many publications report: how each one ended, and the counts at the end.

use crate::{Error, ErrorKind};
use cipherloom::internal::engine::lock;
use serde::Serialize;
use std::sync::Mutex;
use std::time::Instant;

/// How an operation on one publication or license ended.
#[derive(Debug)]
pub enum Outcome<T> {
    /// It succeeded; outputs are complete under their final names.
    Done(T),
    /// Its output exists, and [`cipherloom::IfExists::Skip`] was given.
    Skipped,
    /// It failed, and changed nothing.
    Failed(Error),
}

/// The counts of an operation over many publications or licenses. What a stopped run did not finish is in none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Publications that were protected, licenses that were made, files that were found sound.
    #[serde(rename = "books")]
    pub done: u64,
    /// Source bytes of these.
    pub bytes: u64,
    /// Bytes written.
    pub output_bytes: u64,
    /// Those that were skipped because their output exists.
    pub skipped: u64,
    /// Those that failed, or were found unsound.
    pub failed: u64,
    /// Of these: those with no other problem than a key or key file.
    pub without_key: u64,
    /// Of these: those that are not authentic.
    #[serde(skip)]
    pub unauthentic: u64,
    /// Wall time in seconds.
    pub seconds: f64,
}

/// Counts outcomes, from several threads.
pub(crate) struct Counts {
    start: Instant,
    report: Mutex<Report>,
}

impl Counts {
    pub(crate) fn start() -> Counts {
        Counts { start: Instant::now(), report: Mutex::default() }
    }

    /// Counts a success over so many bytes of source and output.
    pub(crate) fn count_done(&self, bytes: u64, output_bytes: u64) {
        let mut report = lock(&self.report);
        report.done += 1;
        report.bytes += bytes;
        report.output_bytes += output_bytes;
    }

    pub(crate) fn count_skipped(&self) {
        lock(&self.report).skipped += 1;
    }

    /// Counts a failure with these problems, of which there is at least one.
    pub(crate) fn count_failed(&self, problems: &[Error]) {
        let mut kinds = problems.iter().map(Error::kind);
        let mut report = lock(&self.report);
        report.failed += 1;
        report.unauthentic += u64::from(kinds.clone().any(|kind| kind == ErrorKind::Authentication));
        report.without_key += u64::from(kinds.all(|kind| kind == ErrorKind::Key));
    }

    pub(crate) fn report(&self) -> Report {
        Report { seconds: self.start.elapsed().as_secs_f64(), ..*lock(&self.report) }
    }
}
