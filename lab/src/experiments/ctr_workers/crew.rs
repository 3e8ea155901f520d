//! A crew of workers with private memories: each has a tile, into which a piece of its part is copied, encrypted there,
//! and copied out, as accelerator cores with a small local store do it. The host starts all, is itself the first of them (so
//! that there are no more threads than workers), and waits for all. Each stays on a core of its own.
//!
//! ```text
//! host    |start|copy in|compute|copy out|copy in|compute|copy out| ... |wait for all|
//! worker    ..|copy in|compute|copy out|copy in|compute|copy out| ... |
//! ```

use super::setting::{Setting, Wait};
use crate::measure::Pinned;
use cipherloom_kernels::Aes;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nanoseconds that one worker spent in a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Phases {
    pub(super) copy_in: u64,
    pub(super) compute: u64,
    pub(super) copy_out: u64,
}

impl Phases {
    pub(super) fn busy(self) -> u64 {
        self.copy_in + self.compute + self.copy_out
    }
}

/// What the host and the workers share.
struct Shared {
    aes: Aes,
    iv: [u8; 16],
    input: Vec<u8>,
    setting: Setting,
    /// Runs that were started, and workers that have ended theirs, since the beginning.
    started: AtomicUsize,
    done: AtomicUsize,
    /// For those that park; how many do, or are about to.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
    /// Each worker's output and times; locked by the worker in a run, by the host between runs.
    parts: Vec<Mutex<Part>>,
    /// Arrivals at meetings, meetings at which all were, and when the last one was, in nanoseconds since `hired`.
    arrived: AtomicUsize,
    met: AtomicUsize,
    met_at: AtomicU64,
    hired: Instant,
}

/// One worker's part of the message.
struct Part {
    first: usize,
    output: Vec<u8>,
    phases: Phases,
}

/// The number of the run at which workers go home.
const END: usize = usize::MAX / 2;

/// Threads that live as long as this value.
pub(super) struct Crew {
    shared: Arc<Shared>,
    /// The host's private memory.
    tile: Vec<u8>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    /// Hires the workers. The input is cut into equal parts of whole blocks, one each.
    pub(super) fn new(aes: Aes, iv: [u8; 16], input: Vec<u8>, setting: Setting) -> Crew {
        let part_len = input.len().div_ceil(setting.workers).next_multiple_of(16);
        let part = |worker: usize| {
            let first = (worker * part_len).min(input.len());
            let end = (first + part_len).min(input.len());
            Mutex::new(Part { first, output: vec![0; end - first], phases: Phases::default() })
        };
        let shared = Arc::new(Shared {
            parts: (0..setting.workers).map(part).collect(),
            aes,
            iv,
            input,
            setting,
            started: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            met_at: AtomicU64::new(0),
            hired: Instant::now(),
        });
        // Who has no tile or a second one would miss the others at their meetings.
        let has_one_tile = |part: &Mutex<Part>| (1..=setting.tile).contains(&locked(part).output.len());
        assert!(!setting.meets || shared.parts.iter().all(has_one_tile), "{setting:?}");
        let hire = |worker| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(worker))
        };
        Crew { threads: (1..setting.workers).map(hire).collect(), tile: vec![0; setting.tile], shared }
    }

    /// One run: starts all workers, does the first part, and waits for all. Gives each worker's times.
    pub(super) fn run(&mut self) -> Vec<Phases> {
        let run = self.shared.started.load(Ordering::SeqCst) + 1;
        self.shared.raise(&self.shared.started, run);
        self.shared.encrypt(&mut locked(&self.shared.parts[0]), &mut self.tile);
        self.shared.wait(&self.shared.done, run * self.threads.len());
        self.shared.parts.iter().map(|part| locked(part).phases).collect()
    }

    /// The whole output of the last run.
    pub(super) fn output(&self) -> Vec<u8> {
        self.shared.parts.iter().flat_map(|part| locked(part).output.clone()).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.shared.raise(&self.shared.started, END);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A worker that panicked has told so; its part is read as it is.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn work(&self, worker: usize) {
        let _core = Pinned::to(worker);
        let mut tile = vec![0; self.setting.tile];
        for run in 1.. {
            self.wait(&self.started, run);
            if self.started.load(Ordering::SeqCst) >= END {
                return;
            }
            self.encrypt(&mut locked(&self.parts[worker]), &mut tile);
            self.add_done();
        }
    }

    /// One part, tile by tile.
    fn encrypt(&self, part: &mut Part, tile: &mut [u8]) {
        let mut phases = Phases::default();
        let mut at = part.first;
        for target in part.output.chunks_mut(self.setting.tile) {
            let piece = &mut tile[..target.len()];
            let begin = Instant::now();
            if self.setting.copies {
                piece.copy_from_slice(&self.input[at..at + piece.len()]);
            }
            let meeting = self.meet();
            let copied = Instant::now();
            for (index, chunk) in piece.chunks_mut(self.setting.chunk).enumerate() {
                let block = (at + index * self.setting.chunk) / 16;
                self.aes.ctr_xor(&self.iv, block as u128, chunk);
            }
            let computed = Instant::now();
            let end = self.meet();
            if self.setting.copies {
                target.copy_from_slice(piece);
            }
            phases.copy_in += nanoseconds(begin, copied);
            phases.compute += match meeting.zip(end) {
                // As published: from one meeting to the next.
                Some((begin, end)) => end - begin,
                None => nanoseconds(copied, computed),
            };
            phases.copy_out += nanoseconds(computed, Instant::now());
            at += target.len();
        }
        part.phases = phases;
    }

    /// Where workers meet: waits for all, and tells when the last one came, since others may notice it late.
    fn meet(&self) -> Option<u64> {
        let (workers, number) = (self.parts.len(), || self.arrived.fetch_add(1, Ordering::SeqCst));
        let number = self.setting.meets.then(number)?;
        let meeting = number / workers + 1;
        if number + 1 == meeting * workers {
            self.met_at.store(nanoseconds(self.hired, Instant::now()), Ordering::SeqCst);
            self.raise(&self.met, meeting);
        }
        self.wait(&self.met, meeting);
        // The next meeting waits for this worker too.
        Some(self.met_at.load(Ordering::SeqCst))
    }

    fn add_done(&self) {
        // The host reads the outputs only after it has seen the last worker's addition.
        self.done.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    fn raise(&self, number: &AtomicUsize, to: usize) {
        number.store(to, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        // Who goes to sleep counts himself first and looks then; who changes a number looks at the count afterwards. In
        // the one order that all see, one of the two notices the other.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            // Taken, so that nobody who has looked but does not sleep yet is missed.
            drop(locked(&self.lock));
            self.changed.notify_all();
        }
    }

    fn wait(&self, number: &AtomicUsize, least: usize) {
        let is_reached = || number.load(Ordering::SeqCst) >= least;
        if self.setting.wait == Wait::Spin {
            let begin = Instant::now();
            // Looks at the clock now and then; yields, since workers may outnumber processors.
            while begin.elapsed() < AWAKE {
                for _ in 0..200 {
                    if is_reached() {
                        return;
                    }
                    spin_loop();
                }
                std::thread::yield_now();
            }
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut guard = locked(&self.lock);
        while !is_reached() {
            guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        drop(guard);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How long one spins at most: longer than any wait inside a turn of several runs, so that nobody sleeps there; and short
/// against the turns of others, whom a crew at rest must not disturb.
const AWAKE: Duration = Duration::from_micros(300);

fn nanoseconds(from: Instant, to: Instant) -> u64 {
    u64::try_from((to - from).as_nanos()).unwrap_or(u64::MAX)
}
