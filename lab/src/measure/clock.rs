//! Clocks: wall time, processor time of this thread, of the whole process or of those it started, the date, and the processor's own clock rate.

use crate::record::{Clock, Sample};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Wall and processor time from one moment on.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch {
    clock: Clock,
    wall: u64,
    cpu: u64,
}

impl Stopwatch {
    /// Starts it.
    #[must_use]
    pub fn start(clock: Clock) -> Stopwatch {
        // The wall's moment last, so that reading the other clock is not timed.
        let cpu = processor_nanoseconds(clock);
        Stopwatch { clock, wall: nanoseconds(ClockId::Monotonic), cpu }
    }

    /// What has passed, for so many repeats of the work.
    #[must_use]
    pub fn stop(self, repeats: u64) -> Sample {
        let wall_ns = nanoseconds(ClockId::Monotonic) - self.wall;
        Sample { wall_ns, cpu_ns: processor_nanoseconds(self.clock) - self.cpu, repeats }
    }
}

pub(super) fn processor_nanoseconds(clock: Clock) -> u64 {
    match clock {
        Clock::Thread => nanoseconds(ClockId::ThreadCPUTime),
        Clock::Process => nanoseconds(ClockId::ProcessCPUTime),
        Clock::Children => {
            let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok();
            let time = usage.map_or(0, |usage| (usage.user_time() + usage.system_time()).num_microseconds());
            time as u64 * 1000
        }
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processor's clock rate under load, in GHz, from a chain of multiplications and additions of which each waits for
/// the one before: 4 cycles a step (3 for the 64-bit product, 1 for the sum) on every x86-64 core since 2011 and most of
/// ARM's. The fastest of several attempts counts.
#[must_use]
pub fn clock_gigahertz() -> f64 {
    const STEPS: u64 = 400_000;
    const CYCLES: f64 = 4.0;
    let attempt = || {
        let watch = Stopwatch::start(Clock::Thread);
        let mut state = black_box(3_u64);
        for _ in 0..STEPS {
            // A square plus an unknown: no compiler finds a shorter way.
            state = state.wrapping_mul(state).wrapping_add(STEPS | 1);
        }
        black_box(state);
        watch.stop(STEPS).cpu()
    };
    let step = (0..20).map(|_| attempt()).fold(f64::INFINITY, f64::min);
    CYCLES / step
}

/// The date and time of day (UTC, RFC 3339, to the second).
#[must_use]
pub fn now() -> String {
    rfc_3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs())
}

fn rfc_3339(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years of 365.2425 days that begin in March (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_and_repeats_divide_it() {
        let watch = Stopwatch::start(Clock::Thread);
        black_box((0..100_000_u64).fold(0, |sum, number| black_box(sum ^ number)));
        let sample = watch.stop(4);
        assert!(sample.wall_ns > 0 && sample.cpu_ns > 0);
        assert_eq!(sample.wall(), sample.wall_ns as f64 / 4.0);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(rfc_3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc_3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc_3339(1_795_304_575), "2026-11-21T23:42:55Z");
    }
}
