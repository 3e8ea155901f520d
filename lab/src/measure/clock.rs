//! Clocks: wall time, processor time of this thread or of the whole process, and the processor's own clock rate.

use crate::record::{Clock, Sample};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

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

fn processor_nanoseconds(clock: Clock) -> u64 {
    nanoseconds(match clock {
        Clock::Thread => ClockId::ThreadCPUTime,
        Clock::Process => ClockId::ProcessCPUTime,
    })
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
}
