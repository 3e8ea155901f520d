//! A series: one variant, timed again and again, with its factors and the evidence that it computes what it should.

use super::Evidence;
use crate::measure::{Interval, Summary, ratio_by_round, ratio_of_medians, summarise};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The levels of a variant's factors, by the factor's name: `threads` is 4, `runtime` is `openmp`.
pub type Factors = BTreeMap<String, Level>;

/// A factor's level, or a parameter's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Level {
    /// A whole number: bytes, threads, words.
    Whole(u64),
    /// Another number.
    Number(f64),
    /// A name.
    Name(String),
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Whole(number) => number.fmt(out),
            Level::Number(number) => number.fmt(out),
            Level::Name(name) => name.fmt(out),
        }
    }
}

impl From<u64> for Level {
    fn from(number: u64) -> Level {
        Level::Whole(number)
    }
}

impl From<usize> for Level {
    fn from(number: usize) -> Level {
        Level::Whole(number as u64)
    }
}

impl From<f64> for Level {
    fn from(number: f64) -> Level {
        Level::Number(number)
    }
}

impl From<&str> for Level {
    fn from(name: &str) -> Level {
        Level::Name(name.to_owned())
    }
}

/// Whose processor time a series holds beside wall time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// The timed thread's.
    Thread,
    /// That of all threads of the process.
    Process,
    /// That of the processes that it started and that have ended.
    Children,
}

/// One turn: so many repeats of the work, timed together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Sample {
    /// Wall time of all repeats, in nanoseconds.
    pub wall_ns: u64,
    /// Processor time of all repeats, in nanoseconds.
    pub cpu_ns: u64,
    /// How often the work was done; at least 1.
    pub repeats: u64,
}

impl From<(u64, u64, u64)> for Sample {
    fn from((wall_ns, cpu_ns, repeats): (u64, u64, u64)) -> Sample {
        Sample { wall_ns, cpu_ns, repeats }
    }
}

impl From<Sample> for (u64, u64, u64) {
    fn from(sample: Sample) -> (u64, u64, u64) {
        (sample.wall_ns, sample.cpu_ns, sample.repeats)
    }
}

/// What the host did during a turn: to tell a delay that it caused from one that the program caused itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Host {
    /// Milliseconds, over all processors, that a hypervisor gave to other guests.
    pub stolen_ms: u64,
    /// Threads of the whole machine that ran or were ready to run when the turn ended.
    pub runnable: u64,
    /// Microseconds for which the control group's share of the processors was used up.
    pub throttled_us: u64,
}

impl From<(u64, u64, u64)> for Host {
    fn from((stolen_ms, runnable, throttled_us): (u64, u64, u64)) -> Host {
        Host { stolen_ms, runnable, throttled_us }
    }
}

impl From<Host> for (u64, u64, u64) {
    fn from(host: Host) -> (u64, u64, u64) {
        (host.stolen_ms, host.runnable, host.throttled_us)
    }
}

impl Sample {
    /// Wall nanoseconds of one repeat.
    #[must_use]
    pub fn wall(&self) -> f64 {
        self.wall_ns as f64 / self.repeats.max(1) as f64
    }

    /// Processor nanoseconds of one repeat.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        self.cpu_ns as f64 / self.repeats.max(1) as f64
    }
}

/// What one repeat does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// Bytes of input.
    pub bytes: u64,
    /// Operations: files, products, blocks; whatever the experiment counts.
    pub operations: u64,
}

/// One variant, timed again and again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The variant's name; with the factors it is unique in a record.
    pub variant: String,
    /// The levels of its factors.
    pub factors: Factors,
    /// What one repeat does.
    pub work: Work,
    /// Whose processor time the samples hold.
    pub clock: Clock,
    /// The contest in which it took its turns: series of one contest have the same rounds. Older records do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contest: Option<usize>,
    /// Every turn, in the order in which it was taken: one a round.
    pub samples: Vec<Sample>,
    /// What the host did during each turn, where that is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<Host>,
    check: Evidence,
    /// Of wall nanoseconds of one repeat.
    pub wall: Summary,
    /// Of processor nanoseconds of one repeat.
    pub cpu: Summary,
}

impl Series {
    /// A series of `samples`, which are those of the very work whose result is proven by `check`.
    ///
    /// # Panics
    /// If there is no sample.
    #[must_use]
    pub fn new(
        variant: &str,
        factors: Factors,
        work: Work,
        clock: Clock,
        samples: Vec<Sample>,
        check: Evidence,
    ) -> Series {
        let (wall, cpu) = summaries(&samples);
        let (variant, contest, host) = (variant.to_owned(), None, Vec::new());
        Series { variant, factors, work, clock, contest, samples, host, check, wall, cpu }
    }

    /// How many times as long as `base`, by wall time: round by round if they took turns, else by medians.
    #[must_use]
    pub fn times_as_long_as(&self, base: &Series) -> Interval {
        self.ratio_to(base, Series::walls)
    }

    /// The same by processor time.
    #[must_use]
    pub fn times_the_processor_time_of(&self, base: &Series) -> Interval {
        self.ratio_to(base, Series::cpus)
    }

    fn ratio_to(&self, base: &Series, of: fn(&Series) -> Vec<f64>) -> Interval {
        let ratio = if self.took_turns_with(base) { ratio_by_round } else { ratio_of_medians };
        ratio(&of(self), &of(base))
    }

    /// Whether sample i of both is of the same round.
    #[must_use]
    pub fn took_turns_with(&self, other: &Series) -> bool {
        self.contest == other.contest && self.samples.len() == other.samples.len()
    }

    /// How the result was checked.
    #[must_use]
    pub fn check(&self) -> &Evidence {
        &self.check
    }

    /// Wall nanoseconds of one repeat, for every turn.
    #[must_use]
    pub fn walls(&self) -> Vec<f64> {
        self.samples.iter().map(Sample::wall).collect()
    }

    /// Processor nanoseconds of one repeat, for every turn.
    #[must_use]
    pub fn cpus(&self) -> Vec<f64> {
        self.samples.iter().map(Sample::cpu).collect()
    }

    /// The level of a factor.
    #[must_use]
    pub fn factor(&self, name: &str) -> Option<&Level> {
        self.factors.get(name)
    }

    /// Bytes per nanosecond of wall time (which is GB/s), from the median.
    #[must_use]
    pub fn gigabytes_per_second(&self) -> f64 {
        self.work.bytes as f64 / self.wall.median.estimate
    }

    /// The variant with its factors in one line.
    #[must_use]
    pub fn label(&self) -> String {
        label(&self.variant, &self.factors)
    }

    /// Whether summaries and samples belong together: a damaged record's do not.
    pub(super) fn is_sound(&self) -> bool {
        let is_near = |left: f64, right: f64| (left - right).abs() <= 1e-6 * right.abs().max(1.0);
        if self.samples.is_empty() || self.samples.iter().any(|sample| sample.repeats == 0) {
            return false;
        }
        let (wall, cpu) = summaries(&self.samples);
        is_near(self.wall.median.estimate, wall.median.estimate)
            && is_near(self.cpu.median.estimate, cpu.median.estimate)
            && is_near(self.wall.max, wall.max)
            && (self.host.is_empty() || self.host.len() == self.samples.len())
    }

    /// Computes the summaries again from the samples: an older program's intervals were made in another way.
    pub(super) fn summarise(&mut self) {
        (self.wall, self.cpu) = summaries(&self.samples);
    }
}

fn summaries(samples: &[Sample]) -> (Summary, Summary) {
    let of = |value: fn(&Sample) -> f64| summarise(&samples.iter().map(value).collect::<Vec<_>>());
    (of(Sample::wall), of(Sample::cpu))
}

/// A variant with its factors in one line.
pub(crate) fn label(variant: &str, factors: &Factors) -> String {
    let factors: Vec<String> = factors.iter().map(|(name, level)| format!("{name}={level}")).collect();
    if factors.is_empty() { variant.to_owned() } else { format!("{variant} ({})", factors.join(", ")) }
}
