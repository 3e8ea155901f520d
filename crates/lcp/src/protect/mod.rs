//! Protects publications, many at once.
//!
//! ```text
//! books ─> worker: survey ─> parts of the book ─┬> worker 1: read ─> (deflate) ─> CBC in lanes ─> write ┐
//!                                               └> worker N: read ─> (deflate) ─> CBC in lanes ─> write ┴> last one:
//!      ┌── directory and checksum ── all parts written ──────────────────────────────────────────────────── ┘
//!      └> committer: key records to stable storage ─> names ─> report
//! ```
//!
//! The parts of all books form one queue: a worker takes the next book that nobody has looked at; when there is none, it
//! helps with one that is under way. Within a book CBC is a chain for each part, so a worker keeps many parts in flight
//! and encrypts them interleaved. Nearly every part's length in the output is known before it is encrypted, and with it
//! every offset, so any worker writes any part at any time. One thread of its own gives books their names: it waits for
//! the disk, and the workers do not.

mod book;
mod checksum;
mod committer;
mod deflation;
mod event;
mod fill;
mod known;
mod lane;
mod naming;
mod plan;
mod queue;
mod round;
mod sources;
mod worker;

pub use event::{Event, Observer, Outcome, Summary};
pub use plan::Plan;
pub use sources::{Found, find};

use crate::keys::{ContentKey, KeyFile};
use crate::{Error, Recipient};
use cipherloom::{Backend, IfExists};
use committer::Committer;
use event::Tally;
use known::Known;
use naming::Outputs;
use queue::Queue;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Instant;
use worker::Worker;

/// A publication to be protected.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes, as far as planning goes.
    pub size: u64,
    /// The folder below the output folder that its output goes to; empty for that folder itself.
    pub folder: PathBuf,
    /// The folder that was searched, if it was found in one: no link is followed below it.
    pub root: Option<PathBuf>,
}

impl Source {
    fn open(&self) -> Result<crate::container::Source, Error> {
        let below = self.root.as_ref().and_then(|root| Some((root, self.path.strip_prefix(root).ok()?)));
        match below {
            Some((root, relative)) => crate::container::Source::open_below(root, relative),
            None => crate::container::Source::open(&self.path),
        }
    }
}

/// What to do with publications, and where what comes of them goes.
#[derive(Debug, Clone)]
pub struct Job {
    /// The publications.
    pub sources: Vec<Source>,
    /// The output folder.
    pub out: PathBuf,
    /// The file that gets the content keys.
    pub key_file: PathBuf,
    /// What to do where an output's name is taken.
    pub if_exists: IfExists,
    /// Whether SHA-256 of sources and outputs are taken.
    pub checksums: bool,
    /// Whether outputs, and their names, are forced to stable storage. Keys always are.
    pub durable: bool,
    /// Deflate level, 1 to 9, for text that a source stores uncompressed.
    pub level: u32,
    /// The AES backend.
    pub backend: Backend,
    /// Under which identifiers and keys, and who is notified.
    pub identity: Identity,
}

/// Under which identifiers and keys publications are protected, and which licence server is notified of them.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Whether publications that were protected before keep identifier and key, so that their licences stay valid. Every
    /// publication must have a record in the key file then, or come with an identifier and a key. Goes with
    /// [`IfExists::Overwrite`].
    pub update: bool,
    /// The identifier of the only publication.
    pub id: Option<String>,
    /// The shop's identifier of the only publication.
    pub alt_id: Option<String>,
    /// The key of the only publication.
    pub content_key: Option<ContentKey>,
    /// The licence server that is to be notified.
    pub recipient: Option<Recipient>,
}

/// Protects every publication of `job`. Returns when all have ended, well or not, or `observer` says that the run is to
/// stop: what was not complete by then is in no count.
///
/// # Errors
/// With the path it is about, if nothing could be started at all: the key file is none or cannot be opened
/// ([`KeyFile::open`]) or is one of the publications ([`Error::KeyFileIsSource`]), or the output folder cannot be made.
/// What goes wrong with single publications is
/// told to `observer` and counted in the summary.
pub fn run(job: &Job, plan: &Plan, observer: &dyn Observer) -> Result<Summary, (PathBuf, Error)> {
    let start = Instant::now();
    let with_keys = |error| (job.key_file.clone(), error);
    let with_out = |error| (job.out.clone(), error);
    naming::key_file_is_no_source(job).map_err(with_keys)?;
    let mut known = Known::new(job);
    let keys = KeyFile::open_with(&job.key_file, |record| known.add(record)).map_err(with_keys)?;
    let first_existing = cipherloom::make_folders(&job.out)
        .map_err(|error| with_out(Error::io("make the output folder", error)))?;
    let tally = Tally::new(observer);
    let queue = Queue::new(job, plan);
    let (to_committer, finished) = channel();
    let outputs = Outputs::default();
    let committer = Committer { job, tally: &tally, outputs: &outputs, keys };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .spawn_scoped(scope, move || committer.work(&finished))
            .map_err(|error| Error::io("start the thread that names the outputs", error))?;
        let to_committer = to_committer;
        let work = || Worker::new(job, plan, &queue, &tally, &known, &outputs, to_committer.clone()).work();
        cipherloom::on_watched_workers(plan.threads, &work, &|| _ = observer.is_stopped());
        Ok(())
    })
    .map_err(with_out)?;
    if job.durable {
        let folders = job.sources.iter().map(|source| source.folder.as_path()).collect::<HashSet<_>>();
        let made = folders.into_iter().filter(|folder| job.out.join(folder).is_dir());
        cipherloom::sync_folders(&job.out, made, &first_existing).map_err(|error| with_out(error.into()))?;
    }
    Ok(tally.summary(start.elapsed().as_secs_f64()))
}
