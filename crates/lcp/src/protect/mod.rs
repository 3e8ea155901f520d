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
//! helps with one that is in progress. Within a book CBC is a chain for each part, so a worker keeps many parts in flight
//! and encrypts them interleaved. Nearly every part's length in the output is known before it is encrypted, and with it
//! every offset, so any worker writes any part at any time. One thread of its own gives books their names: it waits for
//! the disk, and the workers do not.

mod book;
mod checksum;
mod committer;
mod fill;
mod known;
mod lane;
mod naming;
mod plan;
mod sources;
mod worker;

pub use plan::Plan;
pub use sources::{FoundPublications, find};

use crate::Error;
use crate::keys::{ContentKey, KeyFile, KeyRecord};
use crate::notification::Recipient;
use crate::report::{Counts, Outcome, Report};
use cipherloom::internal::engine::Workers;
use cipherloom::{IfExists, Observer, machine::Backend};
use committer::commit;
use known::Known;
use naming::Outputs;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use worker::Protecting;

/// A publication to be protected; [`find`] makes it.
#[derive(Debug, Clone)]
pub struct Publication {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes, as far as planning goes.
    pub size: u64,
    /// The folder below the output folder that its output goes to; empty for that folder itself.
    pub folder: PathBuf,
    /// The folder that was searched, if it was found in one: no link is followed below it.
    pub root: Option<PathBuf>,
}

impl Publication {
    fn open(&self) -> Result<crate::container::Source, Error> {
        let below = self.root.as_ref().and_then(|root| Some((root, self.path.strip_prefix(root).ok()?)));
        match below {
            Some((root, relative)) => crate::container::Source::open_below(root, relative),
            None => crate::container::Source::open(&self.path),
        }
    }
}

/// What to do with publications, and where their outputs go.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Job {
    /// The publications.
    pub sources: Vec<Publication>,
    /// The output folder.
    pub out: PathBuf,
    /// The file that gets the content keys.
    pub key_file: PathBuf,
    /// What to do where an output exists.
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

impl Job {
    /// Protects `sources` under new identifiers and keys, with checksums, on the best backend of this CPU; replaces nothing.
    pub fn new(sources: Vec<Publication>, out: impl Into<PathBuf>, key_file: impl Into<PathBuf>) -> Job {
        Job {
            sources,
            out: out.into(),
            key_file: key_file.into(),
            if_exists: IfExists::Fail,
            checksums: true,
            durable: false,
            level: 6,
            backend: Backend::best(),
            identity: Identity::default(),
        }
    }
}

/// Under which identifiers and keys publications are protected, and which license server is notified of them.
#[derive(Debug, Clone, Default)]
pub struct Identity {
    /// Whether publications that were protected before keep identifier and key, so that their licenses stay valid. Every
    /// publication must have a record in the key file then, or come with an identifier and a key. Goes with
    /// [`IfExists::Overwrite`].
    pub update: bool,
    /// The identifier of the only publication.
    pub id: Option<String>,
    /// The shop's identifier of the only publication.
    pub alt_id: Option<String>,
    /// The key of the only publication.
    pub content_key: Option<ContentKey>,
    /// The license server that is to be notified.
    pub recipient: Option<Recipient>,
}

/// A publication that has ended.
#[derive(Debug)]
pub struct Event<'a> {
    /// The source.
    pub source: &'a Path,
    /// The output; `None` if it failed before its name was known.
    pub output: Option<&'a Path>,
    /// The source's size in bytes.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome<Protected<'a>>,
}

/// A publication that was protected. Its key is in the key file.
#[derive(Debug)]
pub struct Protected<'a> {
    /// What was written to the key file.
    pub record: &'a KeyRecord,
    /// Entries that were encrypted.
    pub encrypted: u64,
    /// Entries that stay readable.
    pub clear: u64,
}

/// A run: what its workers and the thread that names outputs share.
struct Run<'r> {
    job: &'r Job,
    plan: &'r Plan,
    /// The largest first.
    sources: Vec<&'r Publication>,
    known: Known<'r>,
    outputs: Outputs<'r>,
    workers: &'r Workers<'r>,
    counts: Counts,
    ended: &'r (dyn Fn(Event<'_>) + Sync),
}

impl Run<'_> {
    /// Counts how a publication ended, and reports it.
    fn report(&self, source: &Publication, output: Option<&Path>, outcome: Outcome<Protected<'_>>) {
        match &outcome {
            // Neither counted nor reported.
            Outcome::Failed(Error::Library(cipherloom::Error::Stopped)) => return,
            Outcome::Done(done) => self.counts.count_done(source.size, done.record.protected.size),
            Outcome::Skipped => self.counts.count_skipped(),
            Outcome::Failed(error) => self.counts.count_failed(std::slice::from_ref(error)),
        }
        self.workers.entry_ended();
        (self.ended)(Event { source: &source.path, output, bytes: source.size, outcome });
    }
}

/// Protects every publication of `job`. Returns when all have ended, or when `observer` stops the run: publications that
/// are not complete by then get no output, no event and no count. `ended` gets each publication's event, from several
/// threads.
///
/// # Errors
/// With its path, if nothing could be started at all: the key file is none or cannot be opened
/// ([`KeyFile::open`]) or is one of the publications ([`Error::KeyFileIsSource`]), or the output folder cannot be made.
/// [`cipherloom::Error::Internal`] if a thread panicked. What goes wrong with single publications is in their events.
pub fn run(
    job: &Job,
    plan: &Plan,
    observer: &dyn Observer,
    ended: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Report, Error> {
    let counts = Counts::start();
    let with_keys = |error: Error| error.at(&job.key_file);
    let with_out = |error: Error| error.at(&job.out);
    naming::key_file_is_no_source(job).map_err(with_keys)?;
    let mut known = Known::new(job);
    let keys = KeyFile::open_with(&job.key_file, |record| known.add(record)).map_err(with_keys)?;
    let first_existing = cipherloom::internal::make_folders(&job.out)
        .map_err(|error| with_out(Error::io("make the output folder", error)))?;
    let workers = Workers::new(plan.threads, observer);
    let mut sources: Vec<&Publication> = job.sources.iter().collect();
    sources.sort_by_key(|source| std::cmp::Reverse(source.size));
    let count = sources.len();
    let run = Run { job, plan, sources, known, outputs: Outputs::new(job), workers: &workers, counts, ended };
    let (to_committer, finished) = channel();
    std::thread::scope(|scope| {
        let committing = std::thread::Builder::new()
            .spawn_scoped(scope, || commit(&run, keys, finished))
            .map_err(|error| Error::io("start the thread that names the outputs", error))?;
        let protecting = Protecting { run: &run, finished: to_committer };
        let all_ended = workers.run_items(count, &protecting);
        // The committer ends when nobody can send to it.
        drop(protecting);
        committing.join().map_err(|payload| cipherloom::Error::from_panic(&*payload))?;
        Ok(all_ended?)
    })
    .map_err(with_out)?;
    if job.durable {
        let folders = job.sources.iter().map(|source| source.folder.as_path()).collect::<HashSet<_>>();
        let made = folders.into_iter().filter(|folder| job.out.join(folder).is_dir());
        cipherloom::internal::sync_folders(&job.out, made, &first_existing)
            .map_err(|error| with_out(error.into()))?;
    }
    Ok(run.counts.report())
}
