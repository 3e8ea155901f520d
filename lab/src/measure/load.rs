//! How quiet the machine was: what other processes, and a hypervisor, took of its processors before and during a run.
//! A record of a busy machine says so.

use super::clock::processor_nanoseconds;
use crate::record::{Clock, Host};
use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A machine is called busy if other processes take more than this share of its processors.
const BUSY: f64 = 0.05;

/// The same for what a hypervisor gives to other guests: a run does not see it coming.
const STOLEN: f64 = 0.02;

/// How often the machine is looked at during a run.
const EVERY: Duration = Duration::from_millis(500);

/// Moments that a record keeps at most; of longer runs each holds a longer time.
const MOST_MOMENTS: usize = 240;

/// The same for the moment before the run, which has only some thirty ticks a processor to count.
const BUSY_BEFORE: f64 = 0.15;

/// Kernel ticks in a second, as `/proc/stat` counts on every common Linux.
const TICKS: f64 = 100.0;

/// How long the machine is watched before a run.
const WATCH: Duration = Duration::from_millis(300);

/// What else the machine did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// One, five and fifteen minutes, before the run.
    pub average_before: String,
    /// The same after it.
    pub average_after: String,
    /// Share of all processors that was busy just before the run.
    pub busy_before: f64,
    /// Share of all processors that other processes took during the run.
    pub others_during: f64,
    /// Share that the hypervisor gave to other guests during the run.
    pub stolen_during: f64,
    /// Whether that was too much for numbers to be trusted.
    pub is_busy: bool,
    /// The same over time, in the order of time. Older records do not have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<Moment>,
}

/// What else the machine did in a part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Moment {
    /// When it ended, in seconds since the run began.
    pub until: f64,
    /// Share of all processors that other processes took.
    pub others: f64,
    /// Share that the hypervisor gave to other guests.
    pub stolen: f64,
    /// Threads of the whole machine that ran or were ready to run at its end.
    pub runnable: u64,
}

impl Load {
    /// Why times of this run are hints and no results; `None` on a quiet machine.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let is_busy = self.is_busy || self.stolen_during > STOLEN || self.others_during > BUSY;
        let share = |share: f64| format!("{:.0}%", 100.0 * share);
        is_busy.then(|| {
            let figures = format!(
                "The machine was busy: other processes took {} of the processors during the run and the hypervisor {}",
                share(self.others_during),
                share(self.stolen_during)
            );
            let most = |of: fn(&Moment) -> f64| self.over_time.iter().map(of).fold(0.0, f64::max);
            if self.over_time.is_empty() {
                return format!("{figures}.");
            }
            let (others, stolen) = (share(most(|moment| moment.others)), share(most(|moment| moment.stolen)));
            format!("{figures}, at most {others} and {stolen} for a moment.")
        })
    }

    /// In a sentence.
    #[must_use]
    pub fn words(&self) -> String {
        let figures = format!(
            "other processes took {:.0}% of the processors during the run and the hypervisor {:.0}%; {:.0}% were busy before it",
            100.0 * self.others_during,
            100.0 * self.stolen_during,
            100.0 * self.busy_before
        );
        if self.is_busy { format!("BUSY MACHINE: {figures}") } else { format!("quiet machine: {figures}") }
    }
}

/// Watches the machine from just before a run to its end.
#[derive(Debug)]
pub struct LoadWatch {
    average_before: String,
    busy_before: f64,
    start: Reading,
    stop: Sender<()>,
    watcher: JoinHandle<Watched>,
}

/// What can be read at one time.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    ticks: Ticks,
    own: f64,
}

impl Reading {
    fn now() -> Reading {
        Reading { at: Instant::now(), ticks: Ticks::read(), own: own_seconds() }
    }

    /// Shares of all processors since an earlier time: that of others, and what was stolen.
    fn shares_since(&self, earlier: &Reading) -> (f64, f64) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let all = ((self.at - earlier.at).as_secs_f64() * cores).max(1e-3);
        let busy = (self.ticks.busy - earlier.ticks.busy) / TICKS;
        let others = ((busy - (self.own - earlier.own)) / all).clamp(0.0, 1.0);
        (others, ((self.ticks.stolen - earlier.ticks.stolen) / TICKS / all).clamp(0.0, 1.0))
    }
}

/// What a run's watcher saw.
#[derive(Debug, Default)]
struct Watched {
    moments: Vec<Moment>,
    /// Seconds of processors that others took, and that were stolen, each by the number of processors.
    others: f64,
    stolen: f64,
}

/// Looks at the machine again and again until it is told to stop. What others took is summed moment by moment: the time of a
/// browser's processes is lost when they end, since nobody waits for them.
fn watch(start: Reading, stopped: &Receiver<()>) -> Watched {
    let (mut watched, mut before, mut is_running) = (Watched::default(), start, true);
    while is_running {
        is_running = stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout);
        let now = Reading::now();
        let (others, stolen) = now.shares_since(&before);
        let seconds = (now.at - before.at).as_secs_f64();
        watched.others += others * seconds;
        watched.stolen += stolen * seconds;
        let until = (now.at - start.at).as_secs_f64();
        watched.moments.push(Moment { until, others, stolen, runnable: runnable() });
        before = now;
    }
    while watched.moments.len() > MOST_MOMENTS {
        watched.moments = watched.moments.chunks(2).map(join).collect();
    }
    watched
}

/// Two moments as one; a last one may be alone.
fn join(pair: &[Moment]) -> Moment {
    let [first, .., last] = pair else { return pair.first().copied().unwrap_or_default() };
    Moment {
        until: last.until,
        others: (first.others + last.others) / 2.0,
        stolen: (first.stolen + last.stolen) / 2.0,
        runnable: first.runnable.max(last.runnable),
    }
}

impl LoadWatch {
    /// Watches for a moment, and then goes on watching.
    #[must_use]
    pub fn start() -> LoadWatch {
        let (average_before, before) = (load_average(), Ticks::read());
        std::thread::sleep(WATCH);
        let ticks = Ticks::read();
        let busy_before = (ticks.busy - before.busy) / (ticks.all - before.all).max(1.0);
        let start = Reading::now();
        let (stop, stopped) = mpsc::channel();
        let watcher = std::thread::spawn(move || watch(start, &stopped));
        LoadWatch { average_before, busy_before, start, stop, watcher }
    }

    /// Ends it.
    ///
    /// # Panics
    /// If the watcher panicked.
    #[must_use]
    pub fn stop(self) -> Load {
        drop(self.stop);
        let watched = self.watcher.join().expect("the watcher reads files that may be missing");
        let seconds = self.start.at.elapsed().as_secs_f64();
        let (others_during, stolen_during) = (watched.others / seconds, watched.stolen / seconds);
        Load {
            average_before: self.average_before,
            average_after: load_average(),
            busy_before: self.busy_before,
            others_during,
            stolen_during,
            is_busy: self.busy_before > BUSY_BEFORE || others_during > BUSY || stolen_during > STOLEN,
            over_time: watched.moments,
        }
    }
}

/// Processor ticks of the whole machine since it started.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ticks {
    busy: f64,
    stolen: f64,
    all: f64,
}

impl Ticks {
    fn read() -> Ticks {
        Ticks::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// The first line: user, nice, system, idle, iowait, irq, softirq, steal, …
    fn parse(text: &str) -> Ticks {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        let tick = |index: usize| ticks.get(index).copied().unwrap_or(0.0);
        let busy = tick(0) + tick(1) + tick(2) + tick(5) + tick(6);
        Ticks { busy, stolen: tick(7), all: busy + tick(3) + tick(4) + tick(7) }
    }
}

/// Processor time of this process and of all that it started, whether they have ended or not.
fn own_seconds() -> f64 {
    let ended = [Clock::Process, Clock::Children].map(processor_nanoseconds).iter().sum::<u64>() as f64 / 1e9;
    ended + living_descendants().iter().map(|process| ticks_of(process)).sum::<f64>() / TICKS
}

/// The numbers of this process's children, of theirs, and so on, as far as the kernel lists them: a browser computes in
/// grandchildren.
fn living_descendants() -> Vec<String> {
    let mut found = children_of("self");
    let mut next = 0;
    while next < found.len() {
        let more = children_of(&found[next]);
        found.extend(more);
        next += 1;
    }
    found
}

fn children_of(process: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Processor ticks of a process and of its children that have ended: `utime`, `stime`, `cutime` and `cstime`, which follow its
/// name in brackets (proc_pid_stat(5)).
fn ticks_of(process: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    fields.split_whitespace().skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum()
}

/// Threads of the whole machine that run or are ready to.
fn runnable() -> u64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let field = text.split(' ').nth(3).and_then(|word| word.split('/').next());
    field.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Watches the host during one turn.
#[derive(Debug)]
pub struct HostWatch {
    stolen: f64,
    throttled_us: u64,
}

impl HostWatch {
    /// Begins.
    #[must_use]
    pub fn start() -> HostWatch {
        HostWatch { stolen: Ticks::read().stolen, throttled_us: throttled_microseconds() }
    }

    /// Ends.
    #[must_use]
    pub fn stop(self) -> Host {
        Host {
            stolen_ms: (1000.0 * (Ticks::read().stolen - self.stolen) / TICKS) as u64,
            runnable: runnable(),
            throttled_us: throttled_microseconds().saturating_sub(self.throttled_us),
        }
    }
}

/// How long the processes of this one's control group had to wait because their share was used up; 0 where no limit is set.
fn throttled_microseconds() -> u64 {
    let [second, first] = ["/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"];
    let text = fs::read_to_string(second).or_else(|_| fs::read_to_string(first)).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    value("throttled_usec ").or_else(|| Some(value("throttled_time ")? / 1000)).unwrap_or(0)
}

/// The system's load averages over one, five and fifteen minutes, as it says them.
#[must_use]
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, BufRead as _};
    use std::process::Command;

    #[test]
    fn the_kernel_s_line_is_read() {
        let ticks = Ticks::parse("cpu  10 1 5 100 4 2 3 7 0 0\ncpu0 1 2\n");
        assert_eq!(ticks, Ticks { busy: 21.0, stolen: 7.0, all: 132.0 });
    }

    #[test]
    fn a_busy_machine_says_so() {
        let mut load = LoadWatch::start().stop();
        (load.is_busy, load.stolen_during, load.others_during) = (false, 0.01, 0.04);
        assert_eq!(load.warning(), None);
        load.stolen_during = 0.17;
        let told = load.warning().unwrap();
        assert!(told.contains("the hypervisor 17%"), "{told}");
        load.is_busy = true;
        assert!(load.words().starts_with("BUSY MACHINE"), "{}", load.words());
    }

    #[test]
    fn the_load_is_kept_over_time_and_what_a_child_starts_is_counted() {
        let watch = LoadWatch::start();
        let script = "(while :; do :; done) & echo $!; wait";
        let mut child =
            Command::new("sh").args(["-c", script]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut number = String::new();
        io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut number).unwrap();
        // Until the grandchild has run for a while by the kernel's own count.
        while ticks_of(number.trim()) < 20.0 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (own, ended) = (own_seconds(), processor_nanoseconds(Clock::Children) as f64 / 1e9);
        let mine = processor_nanoseconds(Clock::Process) as f64 / 1e9;
        assert!(Command::new("kill").arg(number.trim()).status().unwrap().success());
        child.wait().unwrap();
        assert!(own > mine + ended, "{own} s with the grandchild, {mine} + {ended} s without");
        std::thread::sleep(4 * EVERY);
        let load = watch.stop();
        assert!(!load.over_time.is_empty() && load.over_time.is_sorted_by_key(|moment| moment.until));
        // The share of the run is that of its moments.
        let mut from = 0.0;
        let of_others =
            |moment: &Moment| (moment.until - std::mem::replace(&mut from, moment.until)) * moment.others;
        let others: f64 = load.over_time.iter().map(of_others).sum();
        let all = load.over_time.last().map_or(1.0, |moment| moment.until);
        assert!((others / all - load.others_during).abs() < 0.05, "{load:?}");
    }

    #[test]
    fn a_long_run_keeps_its_longest_queue() {
        let moment = |until: f64, runnable| Moment { until, others: 0.2, stolen: 0.1, runnable };
        let joined = join(&[moment(1.0, 9), moment(2.0, 1)]);
        assert_eq!((joined.until, joined.runnable), (2.0, 9));
        assert_eq!(join(&[moment(3.0, 4)]), moment(3.0, 4));
    }
}
