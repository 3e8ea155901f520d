//! Several threads for one piece of work. The thread that asks is one of them: a small run does not wait for another
//! to start.

use super::spread::Parent;

/// Does `work` on this thread and on as many others as make `threads` together; returns when all have ended. A system
/// that refuses another thread gets the work done by those that are there.
pub fn on_workers(threads: usize, work: &(dyn Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let parent = Parent::here();
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                parent.leave();
                work();
            });
        }
        work();
    });
}
