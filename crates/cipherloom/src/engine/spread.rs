//! Gets a new worker onto a CPU of its own at once.
//!
//! Linux often starts a thread on the CPU of its parent, where the two take turns until the next balancing: several
//! milliseconds, which is longer than a small tree takes (seen on a two-core machine: a thread that should have
//! halved a run of 4 ms gained nothing). A worker that finds itself there asks for any other CPU of its process, and
//! then takes the request back, so that the system stays free to move it.

/// Where a thread's parent ran when it started it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parent(#[cfg(target_os = "linux")] usize);

impl Parent {
    /// This thread, about to start another.
    pub(super) fn here() -> Parent {
        Parent(
            #[cfg(target_os = "linux")]
            rustix::thread::sched_getcpu(),
        )
    }

    /// Called by the new thread. Where the system refuses, it stays where it is.
    #[cfg(target_os = "linux")]
    pub(super) fn leave(self) {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
        if sched_getcpu() != self.0 || self.0 >= CpuSet::MAX_CPU {
            return;
        }
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut others = allowed;
        others.unset(self.0);
        if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }

    /// Other systems place threads by themselves, or have no such request.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn leave(self) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn the_choice_of_cpus_is_as_before() {
        let before = sched_getaffinity(None).unwrap();
        let parent = Parent::here();
        let after = std::thread::spawn(move || {
            parent.leave();
            sched_getaffinity(None).unwrap()
        });
        assert_eq!(after.join().unwrap(), before);
    }
}
