//! Runs over publications in a folder of their own, and what came of them.

use cipherloom::{
    machine::{Calibration, Machine},
    report::Unobserved,
};
use cipherloom_lcp::protect::{Event, Job, Plan, Publication, run};
use cipherloom_lcp::{Error, KeyFile, KeyRecord, Outcome, Report};
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
    pub summary: Report,
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

/// Runs a job; how each source below `folder` ended, by its name.
fn run_in(folder: &Path, job: &Job, plan: &Plan) -> Result<(Report, HashMap<String, Ended>), Error> {
    let all = Mutex::new(HashMap::new());
    let summary = run(job, plan, &Unobserved, &|event: Event<'_>| {
        let name = event.source.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
        let ended = match event.outcome {
            Outcome::Done(_) => Ended::Done(event.output.unwrap().to_owned()),
            Outcome::Skipped => Ended::Skipped,
            Outcome::Failed(error) => Ended::Failed(error.to_string()),
        };
        assert!(all.lock().unwrap().insert(name, ended).is_none(), "reported twice");
    })?;
    Ok((summary, all.into_inner().unwrap()))
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
        sources.push(Publication { path, size: content.len() as u64, folder: PathBuf::new(), root: None });
    }
    let key_file = folder.path().join("keys.json");
    let mut job = Job::new(sources, out.unwrap_or(new_out.path()), &key_file);
    change(&mut job);
    let (summary, ended) = run_in(folder.path(), &job, &planned(&job)).unwrap();
    assert_eq!(ended.len(), books.len(), "every book is told once");
    Run { folder, out: new_out, ended, summary, key_file }
}

fn planned(job: &Job) -> Plan {
    Plan::new(job, &Machine::detect(Calibration::default()), Some(threads()))
}

/// A run over one book that may not even start.
#[allow(dead_code, reason = "each test looks at its own part")]
pub fn try_protect(book: &Path, key_file: &Path, out: &Path) -> Result<Report, Error> {
    let size = fs::metadata(book).unwrap().len();
    let source = Publication { path: book.to_owned(), size, folder: PathBuf::new(), root: None };
    let job = Job::new(vec![source], out, key_file);
    run_in(book.parent().unwrap(), &job, &planned(&job)).map(|(report, _)| report)
}
