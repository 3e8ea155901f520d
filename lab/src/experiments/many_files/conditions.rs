//! The hunt for the anomalous delays: the shape at which they were published (10 files of 1 MB, 10 threads), under
//! everything that may bring them about.

use super::contestants::c_program;
use super::trees::Tree;
use super::{Parts, Setting};
use crate::experiments::{Context, Findings};
use crate::measure::{Contest, Random};
use crate::record::Level;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

const THREADS: usize = 10;

/// What a cgroup lets the program have: its buffers fit, the pages of its outputs do not.
const MEMORY_LIMIT: u64 = 28 << 20;

/// Bytes that the disturber writes before it forces them to the disk.
const DIRTY_BYTES: usize = 128 << 20;

/// The conditions by name, and what each is.
pub(super) const CONDITIONS: [(&str, &str); 6] = [
    ("quiet", "files in memory, nothing else running"),
    ("busy processors", "files in memory, two other busy threads on each processor"),
    ("huge pages", "files in memory, the allocator asking for huge pages"),
    ("disk", "files on the disk"),
    ("dirty pages", "files on the disk, while another thread writes 128 MB at a time and forces them out"),
    ("memory limit", "files on the disk, the program in a control group of 28 MiB"),
];

pub(super) fn run(parts: &Parts, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let Some(program) = &parts.program else { return Ok(()) };
    let disk = match disk() {
        Ok(disk) => Some(disk),
        Err(reason) => {
            findings.notes.push(format!("the conditions on disk are left out: {reason}"));
            None
        }
    };
    let rounds = context.by_extent(4, 80);
    for (condition, _) in CONDITIONS {
        let is_on_disk = !matches!(condition, "quiet" | "busy processors" | "huge pages");
        let folder = match (&disk, is_on_disk) {
            (Some(disk), true) => disk.path(),
            (None, true) => continue,
            (_, false) => &context.scratch,
        };
        let tree = Tree::even(folder, 10, 1 << 20)?;
        let limit = match (condition == "memory limit").then(|| MemoryLimit::new(MEMORY_LIMIT)).transpose() {
            Ok(limit) => limit,
            Err(reason) => {
                findings.notes.push(format!("the memory limit is left out: {reason}"));
                continue;
            }
        };
        let mut entrants = Vec::new();
        for setting in settings() {
            // glibc 2.35 and later; others pass over what they do not know.
            let tunable = (condition == "huge pages").then_some(("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"));
            let (mut entrant, id) = c_program(program, "conditions", &tree, setting, "conditions", tunable)?;
            entrant.factors.insert("condition".to_owned(), Level::from(condition));
            if let Some(Err(reason)) = limit.as_ref().map(|limit| limit.hold(id)) {
                findings.notes.push(format!("the memory limit is left out: {reason}"));
                entrants.clear();
                break;
            }
            entrants.push(entrant);
        }
        let disturbers = match condition {
            "busy processors" => Disturbers::busy(),
            "dirty pages" => Disturbers::dirty(folder),
            _ => Disturbers::default(),
        };
        let contest = Contest { warm_ups: 0, rounds, seed: context.seed };
        context.hold(contest, &format!("looking for delays: {condition}"), entrants, findings);
        drop(disturbers);
    }
    Ok(())
}

/// The factors that may cause delays: who runs the threads, what is allocated, how idle threads wait.
fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for runtime in ["spawned", "openmp", "pool"] {
        for buffer in ["fixed", "whole"] {
            for wait in ["park", "spin"] {
                all.push(Setting { threads: THREADS, runtime, buffer, wait, ..Setting::PUBLISHED });
            }
        }
    }
    all
}

/// A folder on a disk: beside other temporary files, or here.
fn disk() -> Result<tempfile::TempDir, String> {
    const TMPFS: u64 = 0x0102_1994;
    let is_disk =
        |folder: &Path| rustix::fs::statfs(folder).is_ok_and(|system| system.f_type as u64 != TMPFS);
    let places = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from(".")];
    let Some(folder) = places.iter().find(|folder| is_disk(folder)) else {
        return Err(format!("{} is in memory; set TMPDIR to a folder on a disk", places[0].display()));
    };
    tempfile::Builder::new()
        .prefix("cipherloom-lab-")
        .tempdir_in(folder)
        .map_err(|error| format!("cannot make a folder in {}: {error}", folder.display()))
}

/// Threads that are in the way until dropped.
#[derive(Default)]
struct Disturbers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Disturbers {
    /// Two on each processor, always busy.
    fn busy() -> Disturbers {
        let mut disturbers = Disturbers::default();
        for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
            let stop = Arc::clone(&disturbers.stop);
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::black_box(
                        (0..10_000_u64).fold(1, |sum, number| std::hint::black_box(sum ^ number)),
                    );
                }
            };
            disturbers.threads.push(std::thread::spawn(work));
        }
        disturbers
    }

    /// One that keeps the disk's queue full.
    fn dirty(folder: &Path) -> Disturbers {
        let mut disturbers = Disturbers::default();
        let (stop, path) = (Arc::clone(&disturbers.stop), folder.join("dirty"));
        let work = move || {
            let chunk = Random::bytes(1, 1 << 20);
            // A disk that refuses is a disk without dirty pages: there is nothing to tell and nothing to mend.
            let Ok(mut file) = File::create(&path) else { return };
            while !stop.load(Ordering::Relaxed) {
                let written = (0..DIRTY_BYTES / chunk.len())
                    .take_while(|_| !stop.load(Ordering::Relaxed))
                    .try_for_each(|_| file.write_all(&chunk));
                if written.and_then(|()| file.sync_data()).and_then(|()| file.rewind()).is_err() {
                    return;
                }
            }
        };
        disturbers.threads.push(std::thread::spawn(work));
        disturbers
    }
}

impl Drop for Disturbers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A control group of our own with a limit on memory; removed when dropped.
struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// In whichever version of control groups the system has mounted.
    fn new(bytes: u64) -> Result<MemoryLimit, String> {
        let versions = [
            ("/sys/fs/cgroup", "memory.max"),
            ("/sys/fs/cgroup/unified", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ];
        let mut reason = "no control groups are mounted".to_owned();
        for (root, limit) in versions {
            let group = MemoryLimit(Path::new(root).join(format!("cipherloom-lab-{}", std::process::id())));
            match fs::create_dir(&group.0).and_then(|()| set(&group.0.join(limit), bytes)) {
                Ok(()) => return Ok(group),
                Err(error) => {
                    reason = format!("{}: {error} (root may be needed)", group.0.join(limit).display())
                }
            }
        }
        Err(reason)
    }

    /// Puts a process under the limit.
    fn hold(&self, process: u32) -> Result<(), String> {
        let path = self.0.join("cgroup.procs");
        set(&path, u64::from(process)).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Writes a number to a file that the system has made: where it has not, the folder is no control group.
fn set(path: &Path, number: u64) -> io::Result<()> {
    File::options().write(true).open(path)?.write_all(number.to_string().as_bytes())
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // Processes that have just been ended may still be leaving.
        for _ in 0..20 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
