//! How quiet the machine was: what other processes, and a hypervisor, took of its processors before and during a run.
//! A record of a busy machine says so.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};
use std::fs;
use std::time::{Duration, Instant};

/// A machine is called busy if others take more than this share of its processors.
const BUSY: f64 = 0.05;

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
}

impl Load {
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
    start: Instant,
    ticks: Ticks,
    own: f64,
}

impl LoadWatch {
    /// Watches for a moment, and then goes on watching.
    #[must_use]
    pub fn start() -> LoadWatch {
        let (average_before, before) = (average(), Ticks::read());
        std::thread::sleep(WATCH);
        let ticks = Ticks::read();
        let busy_before = (ticks.busy - before.busy) / (ticks.all - before.all).max(1.0);
        LoadWatch { average_before, busy_before, start: Instant::now(), ticks, own: own_seconds() }
    }

    /// Ends it.
    #[must_use]
    pub fn stop(self) -> Load {
        let now = Ticks::read();
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let all = (self.start.elapsed().as_secs_f64() * cores).max(1e-3);
        let busy = (now.busy - self.ticks.busy) / TICKS;
        let own = own_seconds() - self.own;
        let others_during = ((busy - own) / all).clamp(0.0, 1.0);
        let stolen_during = ((now.stolen - self.ticks.stolen) / TICKS / all).clamp(0.0, 1.0);
        Load {
            average_before: self.average_before,
            average_after: average(),
            busy_before: self.busy_before,
            others_during,
            stolen_during,
            is_busy: self.busy_before > BUSY_BEFORE || others_during.max(stolen_during) > BUSY,
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

/// Processor time of this process and of those of its children that have ended.
fn own_seconds() -> f64 {
    let of = |who| {
        let usage = getrusage(who).ok();
        usage.map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds())
    };
    (of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN)) as f64 / 1e6
}

fn average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_line_is_read() {
        let ticks = Ticks::parse("cpu  10 1 5 100 4 2 3 7 0 0\ncpu0 1 2\n");
        assert_eq!(ticks, Ticks { busy: 21.0, stolen: 7.0, all: 132.0 });
    }

    #[test]
    fn a_busy_machine_says_so() {
        let mut load = LoadWatch::start().stop();
        load.is_busy = true;
        assert!(load.words().starts_with("BUSY MACHINE"), "{}", load.words());
    }
}
