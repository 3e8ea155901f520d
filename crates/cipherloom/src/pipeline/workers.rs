//! Several threads for one piece of work. The thread that asks is one of them: a small run does not wait for another
//! to start.

use super::spread::Parent;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the calling thread looks up while it waits for the others.
const WAIT: Duration = Duration::from_millis(20);

/// Does `work` on this thread and on as many others as make `threads` together; returns when all have ended. A system
/// that refuses another thread gets the work done by those that are there.
pub fn on_workers(threads: usize, work: &(dyn Fn() + Sync)) {
    on_watched_workers(threads, work, &|| ());
}

/// As [`on_workers`]; this thread calls `watch` every 20 ms from when it has nothing more to do itself until the others
/// have ended.
pub fn on_watched_workers(threads: usize, work: &(dyn Fn() + Sync), watch: &dyn Fn()) {
    // Nothing is sent: the channel closes when the last worker has dropped its end.
    let (working, all_done) = channel::<()>();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let (parent, working) = (Parent::here(), working.clone());
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || {
                parent.leave();
                work();
                drop(working);
            });
        }
        drop(working);
        work();
        while all_done.recv_timeout(WAIT) == Err(RecvTimeoutError::Timeout) {
            watch();
        }
    });
}
