//! Runs over publications in a folder of their own, and what came of them.

use cipherloom::{IfExists, Machine, machine::Calibration};
use cipherloom_lcp::protect::{Event, Identity, Job, Observer, Outcome, Plan, Source, Summary, run};
use cipherloom_lcp::{Error, KeyFile, KeyRecord};
use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// How a book ended.
#[derive(Debug)]
#[allow(dead_code, reason = "each test looks at its own part")]
pub enum Ended {
    Done(PathBuf),
    Skipped,
    Failed(String),
}

/// A run that is over.
#[allow(dead_code, reason = "each test looks at its own part")]
pub struct Run {
    pub folder: TempDir,
    pub out: TempDir,
    pub ended: HashMap<String, Ended>,
    pub summary: Summary,
    pub key_file: PathBuf,
}

#[allow(dead_code, reason = "each test looks at its own part")]
impl Run {
    /// The records; none where nothing was protected.
    pub fn keys(&self) -> Vec<KeyRecord> {
        match self.key_file.exists() {
            true => KeyFile::read(&self.key_file).unwrap(),
            false => Vec::new(),
        }
    }
}

struct Collect<'c> {
    folder: &'c Path,
    ended: Mutex<HashMap<String, Ended>>,
}

impl Observer for Collect<'_> {
    fn advanced(&self, _bytes: u64) {}

    fn ended(&self, event: &Event<'_>) {
        let name = event.source.strip_prefix(self.folder).unwrap().to_string_lossy().into_owned();
        let ended = match &event.outcome {
            Outcome::Done { .. } => Ended::Done(event.output.unwrap().to_owned()),
            Outcome::Skipped => Ended::Skipped,
            Outcome::Failed(error) => Ended::Failed(error.to_string()),
        };
        assert!(self.ended.lock().unwrap().insert(name, ended).is_none(), "told twice");
    }
}

/// The number of threads that the chores ask for, or two.
fn threads() -> NonZeroUsize {
    let asked = std::env::var("CIPHERLOOM_TEST_THREADS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(NonZeroUsize::new(2).unwrap())
}

#[allow(dead_code, reason = "each test looks at its own part")]
pub fn protect(books: &[(&str, Vec<u8>)]) -> Run {
    protect_with(books, None, |_| {})
}

/// Protects books of these names and contents; to `out` if it is given.
pub fn protect_with(books: &[(&str, Vec<u8>)], out: Option<&Path>, change: impl Fn(&mut Job)) -> Run {
    let (folder, new_out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut sources = Vec::new();
    for (name, content) in books {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        sources.push(Source { path, size: content.len() as u64, folder: PathBuf::new(), root: None });
    }
    let machine = Machine::detect(Calibration::default());
    let key_file = folder.path().join("keys.json");
    let mut job = Job {
        sources,
        out: out.unwrap_or(new_out.path()).to_owned(),
        key_file: key_file.clone(),
        if_exists: IfExists::Fail,
        checksums: true,
        durable: false,
        level: 6,
        backend: machine.backend,
        identity: Identity::default(),
    };
    change(&mut job);
    let collect = Collect { folder: folder.path(), ended: Mutex::default() };
    let summary = run(&job, &planned(&job, &machine), &collect).unwrap();
    let ended = collect.ended.into_inner().unwrap();
    assert_eq!(ended.len(), books.len(), "every book is told once");
    Run { folder, out: new_out, ended, summary, key_file }
}

fn planned(job: &Job, machine: &Machine) -> Plan {
    let sizes: Vec<u64> = job.sources.iter().map(|source| source.size).collect();
    Plan::new(&sizes, machine, job.backend, Some(threads()), job.checksums)
}

/// A run over one book that may not even start.
#[allow(dead_code, reason = "each test looks at its own part")]
pub fn try_protect(book: &Path, key_file: &Path, out: &Path) -> Result<Summary, (PathBuf, Error)> {
    let machine = Machine::detect(Calibration::default());
    let size = fs::metadata(book).unwrap().len();
    let job = Job {
        sources: vec![Source { path: book.to_owned(), size, folder: PathBuf::new(), root: None }],
        out: out.to_owned(),
        key_file: key_file.to_owned(),
        if_exists: IfExists::Fail,
        checksums: true,
        durable: false,
        level: 6,
        backend: machine.backend,
        identity: Identity::default(),
    };
    let collect = Collect { folder: book.parent().unwrap(), ended: Mutex::default() };
    run(&job, &planned(&job, &machine), &collect)
}
