//! What a run tells: progress while it runs, an event for each entry, a summary at its end.

mod sync;

pub use sync::{Action, SyncReport};

use crate::Error;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::Duration;

/// How one entry ended.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// Its output stands complete under its final name (verify: every byte is authentic).
    Done {
        /// Bytes of the output (verify: of the plaintext).
        output_bytes: u64,
    },
    /// Its output was there already and `--if-exists skip` holds.
    Skipped,
    /// It failed; nothing stands under its final name that did not before.
    Failed(&'a Error),
}

/// An entry that has ended.
#[derive(Debug)]
pub struct Event<'a> {
    /// The source, as a path that the user can open.
    pub source: &'a Path,
    /// The output's path; `None` when verifying.
    pub output: Option<&'a Path>,
    /// Size of the source in bytes.
    pub bytes: u64,
    /// How it ended.
    pub outcome: Outcome<'a>,
    /// What a synchronization did with it, or was to do; `None` in other runs.
    pub action: Option<Action>,
}

/// Somebody who watches a run. Called from the worker threads, so it must be quick.
///
/// ```
/// # let scratch = tempfile::tempdir().unwrap();
/// # std::env::set_current_dir(scratch.path()).unwrap();
/// # std::fs::create_dir("books").unwrap();
/// # (0..100).for_each(|book| std::fs::write(format!("books/{book}"), "It was a bright cold day").unwrap());
/// use cipherloom::key::{Keyset, Template};
/// use cipherloom::report::{Event, Observer, Outcome, Report, Unobserved};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// /// Prints every file, and stops the run after ten.
/// #[derive(Default)]
/// struct FirstTen {
///     files: AtomicU64,
///     bytes: AtomicU64,
/// }
///
/// impl Observer for FirstTen {
///     fn advanced(&self, bytes: u64) {
///         self.bytes.fetch_add(bytes, Ordering::Relaxed);
///     }
///     fn entry_ended(&self) {
///         self.files.fetch_add(1, Ordering::Relaxed);
///     }
///     fn wants_every_event(&self) -> bool {
///         true
///     }
///     fn ended(&self, event: &Event<'_>) {
///         match event.outcome {
///             Outcome::Done { output_bytes } => println!("{}: {output_bytes} bytes", event.source.display()),
///             Outcome::Skipped => {}
///             Outcome::Failed(error) => eprintln!("{}: {error}", event.source.display()),
///         }
///     }
///     fn is_stopped(&self) -> bool {
///         self.files.load(Ordering::Relaxed) >= 10
///     }
/// }
///
/// let keyset = Keyset::generate(Template::default())?;
/// let job = cipherloom::encrypt("books", "sealed").key(&keyset).if_exists(cipherloom::IfExists::Skip);
/// let Report { files, .. } = job.run_with(&FirstTen::default())?;
/// assert!(files < 100);
/// let rest = job.run_with(&Unobserved)?;
/// assert_eq!((rest.files, rest.skipped), (100 - files, files));
/// # Ok::<(), cipherloom::Error>(())
/// ```
pub trait Observer: Sync {
    /// So many more source bytes were processed.
    fn advanced(&self, _bytes: u64) {}
    /// One more entry has ended, well or not.
    fn entry_ended(&self) {}
    /// Whether [`Observer::ended`] is to be called for entries that did not fail, too. Default: no.
    fn wants_every_event(&self) -> bool {
        false
    }
    /// An entry has ended: one that failed, or any if [`Observer::wants_every_event`] says so.
    fn ended(&self, _event: &Event<'_>) {}
    /// Whether the run is to stop, from now on: the work of a moment is finished, no output that is not complete gets
    /// a name. Asked by every worker before each entry and each run of segments (about a mebibyte), and by the thread
    /// that started the run while it waits for others.
    fn is_stopped(&self) -> bool {
        false
    }
    /// How often the thread that started the run asks [`Observer::is_stopped`] while it only waits. `None`: it asks when
    /// something happens, and otherwise waits without asking.
    fn watch_interval(&self) -> Option<Duration> {
        None
    }
    /// Takes a function to call, from any thread, as soon as [`Observer::is_stopped`] turns true; if it is true already,
    /// at once. A run gives it that waits for answers from elsewhere, as a run over an object store does, and drops it when
    /// it ends. An observer that can stop a run implements this or [`Observer::watch_interval`].
    fn on_stop(&self, wake: Weak<dyn Fn() + Send + Sync>) {
        drop(wake);
    }
}

/// The methods of an [`Observer`] that passes everything on to its field `observer`, and itself says when to stop.
macro_rules! pass_on {
    () => {
        fn advanced(&self, bytes: u64) {
            self.observer.advanced(bytes);
        }
        fn entry_ended(&self) {
            self.observer.entry_ended();
        }
        fn wants_every_event(&self) -> bool {
            self.observer.wants_every_event()
        }
        fn ended(&self, event: &$crate::report::Event<'_>) {
            self.observer.ended(event);
        }
        fn watch_interval(&self) -> Option<std::time::Duration> {
            self.observer.watch_interval()
        }
        fn on_stop(&self, wake: std::sync::Weak<dyn Fn() + Send + Sync>) {
            self.observer.on_stop(wake);
        }
    };
}
pub(crate) use pass_on;

/// Watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}

/// A run's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Report {
    /// Entries that were done.
    pub files: u64,
    /// Source bytes of the entries that were done.
    pub bytes: u64,
    /// Bytes written (verify: plaintext bytes that were authenticated).
    pub output_bytes: u64,
    /// Entries skipped because their output was there already.
    pub skipped: u64,
    /// Entries that failed.
    pub failed: u64,
    /// Of those that failed: entries whose content failed authentication.
    pub unauthentic: u64,
    /// Entries that were left because the run ended early: the destination took nothing more, or the key opened nothing
    /// ([`Error::ends_run`]). The event of the last failure says which.
    pub untried: u64,
    /// Symbolic links copied as links.
    pub links: u64,
    /// Outputs and folders whose permissions or time the file system did not take; their content is complete.
    #[serde(skip_serializing_if = "is_zero")]
    pub attributes_refused: u64,
    /// Files to be encrypted whose extended attributes (access control lists among them) their outputs lack. Counted on Linux.
    #[serde(skip_serializing_if = "is_zero")]
    pub extended_attributes: u64,
    /// What the run found in the tree's index, or wrote to it; `None` if it used none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexReport>,
    /// What a synchronization did; `None` after other runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sync: Option<SyncReport>,
    /// Wall time in seconds.
    pub seconds: f64,
}

impl Report {
    /// Adds what a later part of the run counted.
    pub(crate) fn add(&mut self, later: &Report) {
        self.files += later.files;
        self.bytes += later.bytes;
        self.output_bytes += later.output_bytes;
        self.skipped += later.skipped;
        self.failed += later.failed;
        self.unauthentic += later.unauthentic;
        self.untried += later.untried;
        self.links += later.links;
        self.attributes_refused += later.attributes_refused;
        self.extended_attributes += later.extended_attributes;
        self.index = later.index.or(self.index);
    }
}

/// What a run found in a tree's index, or wrote to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct IndexReport {
    /// The index's generation, which each run that writes one raises by one.
    pub generation: u64,
    /// When this generation was written, in seconds since 1970.
    pub time: i64,
    /// How many files, folders and links it lists.
    pub entries: u64,
    /// Of those that failed: entries that the index lists and that are missing.
    pub missing: u64,
    /// Of those that failed: files and links that the index does not list.
    pub extra: u64,
}

impl IndexReport {
    /// Whether nothing is wrong but that the tree and its index list different files.
    #[must_use]
    pub fn is_all_that_failed(&self, failed: u64) -> bool {
        failed > 0 && self.missing + self.extra == failed
    }
}

/// What an index lists under one path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedEntry {
    /// The path before encryption, relative to the tree.
    pub path: PathBuf,
    /// The path in the encrypted tree.
    pub encrypted_path: PathBuf,
    /// What it is.
    pub kind: ListedKind,
    /// Bytes of plaintext of a file; else 0.
    pub size: u64,
    /// Bytes of ciphertext of a file; else 0.
    pub encrypted_size: u64,
    /// Permission bits, of a file or folder.
    pub mode: Option<u32>,
    /// Seconds since 1970, and nanoseconds, of the last change of a file or folder.
    pub modified: Option<(i64, u32)>,
    /// Where a link leads.
    pub target: Option<PathBuf>,
    /// The identifier of the key that a file is encrypted with.
    pub key_id: Option<u32>,
}

/// What an index lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
