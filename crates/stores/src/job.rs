//! What a run over stores does: the library's [`Job`], a destination that may be in a store, and how much at once.

use crate::place::{Access, Place};
use cipherloom::{Error, error::LocationFault, internal::Job};
use std::ffi::OsStr;

/// How much is done at once.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// Objects in flight.
    pub objects: usize,
    /// Threads that run ciphers.
    pub threads: usize,
    /// Bytes of sources and outputs in memory together. One part of an object goes on even if it is larger alone.
    pub memory: usize,
    /// Objects above this many bytes are read and written in parts of about so many; at least 5 MiB, as S3 asks.
    pub part: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Limits { objects: 64, threads, memory: 256 << 20, part: 8 << 20 }
    }
}

/// A [`Job`] whose source or destination is in a store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreJob {
    /// What to do. Its settings mean what they mean for folders, but for these:
    ///
    /// - [`Job::if_exists`]: `Skip` passes over an output only if it was made from the same source under the same key. Any
    ///   other object there is a conflict, and fails.
    /// - [`Job::durable`] concerns files: a store answers when an object is on stable storage.
    /// - [`Job::links`], [`Job::preserve_modes`] and [`Job::non_atomic`] mean nothing to a store.
    pub job: Job,
    /// Where the outputs go, opened from [`Job::destination`]; `None` when verifying. It may be the source's own place when
    /// re-keying in a bucket with [`Overwrite`](cipherloom::IfExists::Overwrite): each object is replaced only if it is
    /// still the one that was read.
    pub destination: Option<Place>,
    /// How much at once.
    pub limits: Limits,
}

impl StoreJob {
    /// The job with the usual limits. Opens [`Job::destination`], the folder or prefix that holds the outputs. For a single
    /// object, [`place_outputs`](cipherloom::internal::location::place_outputs) decides that and [`Job::single_name`].
    ///
    /// # Errors
    /// As [`Place::open`]; [`Error::Location`] if [`Job::suffix`] or [`Job::single_name`] is not UTF-8, which keys are.
    pub fn open(job: Job, access: Access) -> Result<StoreJob, Error> {
        if job.suffix.to_str().is_none() {
            return Err(not_utf8("the suffix"));
        }
        if job.single_name.as_ref().is_some_and(|name| name.to_str().is_none()) {
            return Err(not_utf8("the name"));
        }
        let destination =
            job.destination.as_deref().map(|address| Place::open(address, access)).transpose()?;
        Ok(StoreJob { job, destination, limits: Limits::default() })
    }
}

pub(crate) fn not_utf8(what: &str) -> Error {
    LocationFault::Unusable { reason: format!("{what} is not UTF-8, which a key must be") }.into()
}

/// The output's path below the destination, for a source with this path.
pub(crate) fn output_path(job: &Job, relative: &str) -> Result<String, Error> {
    let (folder, name) = split(relative);
    let output = job.names_output(OsStr::new(name)).ok_or_else(|| suffix_missing(job))?;
    job.check_output_name(&output)?;
    Ok(format!("{folder}{}", output.to_string_lossy()))
}

/// The path to bind: the plaintext's.
pub(crate) fn bound_path(job: &Job, relative: &str) -> Result<Vec<u8>, Error> {
    if !job.bind_path {
        return Ok(Vec::new());
    }
    let (folder, name) = split(relative);
    let plain = job.plaintext_name(OsStr::new(name)).ok_or_else(|| suffix_missing(job))?;
    Ok([folder.as_bytes(), plain.as_encoded_bytes()].concat())
}

fn suffix_missing(job: &Job) -> Error {
    Error::SuffixMissing(job.suffix.to_string_lossy().into_owned())
}

/// Folders with their `/`, and the name.
fn split(relative: &str) -> (&str, &str) {
    relative.split_at(relative.rfind('/').map_or(0, |slash| slash + 1))
}
