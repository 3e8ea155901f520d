//! One worker, one core. Linux often starts a thread on its parent's core, and two that spin for each other there wait
//! for time slices to end. Where the system does not let threads be pinned, it places them as it likes.

use super::Contestant;
use crate::record::Sample;

/// The calling thread stays on the core of this number (counted round among those that it may use) until this is dropped.
#[derive(Debug)]
pub struct Pinned(#[cfg(target_os = "linux")] Option<rustix::thread::CpuSet>);

impl Pinned {
    /// Pins the calling thread.
    #[must_use]
    #[cfg(target_os = "linux")]
    pub fn to(number: usize) -> Pinned {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let Ok(allowed) = sched_getaffinity(None) else { return Pinned(None) };
        let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
        let mut one = CpuSet::new();
        one.set(cores[number % cores.len()]);
        Pinned(sched_setaffinity(None, &one).is_ok().then_some(allowed))
    }

    /// Leaves the calling thread as it is.
    #[must_use]
    #[cfg(not(target_os = "linux"))]
    pub fn to(_number: usize) -> Pinned {
        Pinned()
    }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(allowed) = &self.0 {
            // It was allowed before.
            let _ = rustix::thread::sched_setaffinity(None, allowed);
        }
    }
}

/// A contestant whose turns run on the first core, with its other threads pinned elsewhere by itself.
pub struct OnFirstCore<C>(
    /// The contestant.
    pub C,
);

impl<C: Contestant> Contestant for OnFirstCore<C> {
    fn result(&mut self) -> anyhow::Result<Vec<u8>> {
        let _core = Pinned::to(0);
        self.0.result()
    }

    fn turn(&mut self) -> anyhow::Result<Sample> {
        let _core = Pinned::to(0);
        self.0.turn()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_pinned_thread_has_one_core_and_then_all_again() {
        let before = sched_getaffinity(None).unwrap();
        let pinned = Pinned::to(usize::MAX / 2);
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(pinned);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}
