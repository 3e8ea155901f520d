//! The hunt for the anomalous delays: the shape at which they were published (10 files of 1 MB, 10 threads), under
//! everything that may bring them about.

use super::contestants::c_program;
use super::trees::Tree;
use super::{Parts, Setting};
use crate::experiments::{Context, Findings};
use crate::measure::{Contest, Contestant, Random};
use crate::record::{Level, Sample};
use crate::scratch;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const THREADS: usize = 10;

/// What a cgroup lets the program have: its buffers fit, the pages of its outputs do not.
const MEMORY_LIMIT: u64 = 28 << 20;

/// Bytes that the disturber writes before it forces them to the disk.
const DIRTY_BYTES: usize = 128 << 20;

/// The conditions by name, and what each is.
pub(super) const CONDITIONS: [(&str, &str); 7] = [
    ("quiet", "files in memory, nothing else running"),
    ("busy processors", "files in memory, two other busy threads on each processor"),
    ("huge pages", "files in memory, the allocator asking for huge pages"),
    ("disk", "files on the disk"),
    ("dirty pages", "files on the disk, while another thread writes 128 MB at a time and forces them out"),
    ("memory limit", "files on the disk, the program in a control group of 28 MiB"),
    (WORST, "files in memory, 100 of 512 KB to 4 MB, 10 and 20 threads"),
];

/// The cells that had most delays in the publication.
const WORST: &str = "worst published cells";

/// How long those in the way get to be in it before a run.
const SETTLE: Duration = Duration::from_millis(15);

pub(super) fn run(parts: &Parts, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let Some(program) = &parts.program else { return Ok(()) };
    let disk = match scratch::on_disk() {
        Ok(disk) => Some(disk),
        Err(reason) => {
            findings.notes.push(format!("the conditions on disk are left out: {reason}"));
            None
        }
    };
    let in_memory = Tree::even(&context.scratch, 10, 1 << 20)?;
    let on_disk = disk.as_ref().map(|disk| Tree::even(disk.path(), 10, 1 << 20)).transpose()?;
    let (mut entrants, mut limits) = (Vec::new(), Vec::new());
    for (condition, _) in CONDITIONS.into_iter().filter(|(condition, _)| *condition != WORST) {
        let is_on_disk = !matches!(condition, "quiet" | "busy processors" | "huge pages");
        let Some(tree) = (if is_on_disk { on_disk.as_ref() } else { Some(&in_memory) }) else { continue };
        let disturbers = match (condition, &disk) {
            ("busy processors", _) => Some(Rc::new(Disturbers::busy())),
            ("dirty pages", Some(disk)) => Some(Rc::new(Disturbers::dirty(disk.path()))),
            _ => None,
        };
        let mut refused = None;
        let mut of_it = Vec::new();
        for setting in settings() {
            // glibc 2.35 and later; others pass over what they do not know.
            let tunable = (condition == "huge pages").then_some(("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1"));
            let (mut entrant, id) = c_program(program, "conditions", tree, setting, "conditions", tunable)?;
            entrant.factors.insert("condition".to_owned(), Level::from(condition));
            if condition == "memory limit" {
                match MemoryLimit::of(id, MEMORY_LIMIT) {
                    Ok(limit) => limits.push(limit),
                    Err(reason) => refused = Some(reason),
                }
            }
            if let Some(disturbers) = &disturbers {
                let contestant =
                    Box::new(Disturbed { disturbers: Rc::clone(disturbers), inner: entrant.contestant });
                entrant.contestant = contestant;
            }
            of_it.push(entrant);
        }
        match refused {
            Some(reason) => findings.notes.push(format!("the memory limit is left out: {reason}")),
            None => entrants.extend(of_it),
        }
    }
    // One contest: what a moment of the host does meets every condition alike.
    let contest = Contest { warm_ups: 0, rounds: context.by_extent(3, 80), seed: context.seed };
    context.hold(contest, "looking for delays, conditions in random order", entrants, findings);
    drop(limits);
    worst_cells(program, context, findings)
}

/// The cells in which the publication had most of its delays: 100 files of 512 KB to 4 MB, 10 and 20 threads, 100 runs.
fn worst_cells(program: &Path, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let sizes: &[usize] = context.by_extent(&[512 << 10], &[512 << 10, 1 << 20, 2 << 20, 4 << 20]);
    let trees: Vec<Tree> = sizes
        .iter()
        .map(|&bytes| Tree::even(&context.scratch, context.by_extent(20, 100), bytes))
        .collect::<anyhow::Result<_>>()?;
    let mut entrants = Vec::new();
    for tree in &trees {
        for threads in [10, 20] {
            for setting in [Setting::PUBLISHED, Setting::OLDER] {
                for wait in ["park", "spin"] {
                    let setting = Setting { wait, ..setting }.with_threads(threads);
                    let (mut entrant, _) =
                        c_program(program, "conditions", tree, setting, "conditions", None)?;
                    entrant.factors.insert("condition".to_owned(), Level::from(WORST));
                    entrants.push(entrant);
                }
            }
        }
    }
    let contest = Contest { warm_ups: 0, rounds: context.by_extent(3, 100), seed: context.seed };
    context.hold(contest, "looking for delays: the worst published cells", entrants, findings);
    Ok(())
}

/// A contestant in whose turns somebody is in the way.
struct Disturbed<'a> {
    disturbers: Rc<Disturbers>,
    inner: Box<dyn Contestant + 'a>,
}

impl Contestant for Disturbed<'_> {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        self.inner.result()
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        self.disturbers.disturb(true);
        std::thread::sleep(SETTLE);
        let sample = self.inner.turn();
        self.disturbers.disturb(false);
        sample
    }
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

/// Threads that are in the way when they are told to be, and otherwise sleep.
#[derive(Default)]
struct Disturbers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    is_active: AtomicBool,
    has_ended: AtomicBool,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Shared {
    /// Sleeps until there is somebody to disturb; gives whether there ever will be.
    fn await_work(&self) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let is_idle =
            |(): &mut ()| !self.is_active.load(Ordering::Relaxed) && !self.has_ended.load(Ordering::Relaxed);
        drop(self.changed.wait_while(guard, is_idle).unwrap_or_else(PoisonError::into_inner));
        !self.has_ended.load(Ordering::Relaxed)
    }

    fn set(&self, what: &AtomicBool, value: bool) {
        let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        what.store(value, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

impl Disturbers {
    /// From now on, or until told again.
    fn disturb(&self, is_active: bool) {
        self.shared.set(&self.shared.is_active, is_active);
    }

    fn add(&mut self, mut work: impl FnMut(&Shared) -> bool + Send + 'static) {
        let shared = Arc::clone(&self.shared);
        self.threads.push(std::thread::spawn(move || {
            while shared.await_work() {
                if !work(&shared) {
                    return;
                }
            }
        }));
    }

    /// Two on each processor, always busy.
    fn busy() -> Disturbers {
        let mut disturbers = Disturbers::default();
        for _ in 0..2 * std::thread::available_parallelism().map_or(1, usize::from) {
            disturbers.add(|_| {
                std::hint::black_box(
                    (0..10_000_u64).fold(1, |sum, number| std::hint::black_box(sum ^ number)),
                );
                true
            });
        }
        disturbers
    }

    /// One that keeps the disk's queue full.
    fn dirty(folder: &Path) -> Disturbers {
        let mut disturbers = Disturbers::default();
        let (path, chunk) = (folder.join("dirty"), Random::bytes(1, 1 << 20));
        // A disk that refuses is a disk without dirty pages: there is nothing to tell and nothing to mend.
        let Ok(mut file) = File::create(&path) else { return disturbers };
        disturbers.add(move |shared| {
            let written = (0..DIRTY_BYTES / chunk.len())
                .take_while(|_| shared.is_active.load(Ordering::Relaxed))
                .try_for_each(|_| file.write_all(&chunk));
            written.and_then(|()| file.sync_data()).and_then(|()| file.rewind()).is_ok()
        });
        disturbers
    }
}

impl Drop for Disturbers {
    fn drop(&mut self) {
        self.shared.set(&self.shared.has_ended, true);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A control group for one process, with a limit on its memory; removed when dropped.
struct MemoryLimit(PathBuf);

impl MemoryLimit {
    /// In whichever version of control groups the system has mounted.
    fn of(process: u32, bytes: u64) -> Result<MemoryLimit, String> {
        let versions = [
            ("/sys/fs/cgroup", "memory.max"),
            ("/sys/fs/cgroup/unified", "memory.max"),
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        ];
        let mut reason = "no control groups are mounted".to_owned();
        for (root, limit) in versions {
            let group = MemoryLimit(Path::new(root).join(format!("cipherloom-lab-{process}")));
            let hold = || {
                set(&group.0.join(limit), bytes)
                    .and_then(|()| set(&group.0.join("cgroup.procs"), process.into()))
            };
            match fs::create_dir(&group.0).and_then(|()| hold()) {
                Ok(()) => return Ok(group),
                Err(error) => {
                    reason = format!("{}: {error} (root may be needed)", group.0.join(limit).display())
                }
            }
        }
        Err(reason)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn disturbers_work_only_while_they_are_told_to_and_end_when_dropped() {
        let mut disturbers = Disturbers::default();
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        disturbers.add(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            true
        });
        std::thread::sleep(SETTLE);
        assert_eq!(turns.load(Ordering::Relaxed), 0, "it sleeps until it is told");
        disturbers.disturb(true);
        while turns.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        disturbers.disturb(false);
        drop(disturbers);
        assert_eq!(Arc::strong_count(&turns), 1, "its thread has ended");
    }
}
