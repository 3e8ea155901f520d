//! What a person sees while a run goes on: one line on the terminal with bytes, files, rate and time left. Nothing is
//! drawn before a quarter of a second has passed, so that short runs stay quiet and quick.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

const QUIET_FIRST: Duration = Duration::from_millis(250);
const REDRAW: Duration = Duration::from_millis(100);

/// How far a run has come. The workers only add to these.
#[derive(Debug, Default)]
pub struct Counters {
    pub bytes: AtomicU64,
    pub files: AtomicU64,
}

/// A line on the terminal, drawn from a thread of its own until [`Progress::finish`].
pub struct Progress {
    end: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Starts drawing if standard error is a terminal.
    pub fn start(counters: &'static Counters, total_bytes: u64, total_files: u64) -> Option<Progress> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let (end, ended) = sync_channel(1);
        let thread = std::thread::spawn(move || draw(counters, total_bytes, total_files, &ended));
        Some(Progress { end, thread })
    }

    /// Removes the line.
    pub fn finish(self) {
        let _ = self.end.send(());
        let _ = self.thread.join();
    }
}

fn draw(counters: &Counters, total_bytes: u64, total_files: u64, ended: &Receiver<()>) {
    if ended.recv_timeout(QUIET_FIRST) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(total_bytes), ProgressDrawTarget::stderr());
    let template =
        "{bar:24.cyan/dim} {percent:>3} %  {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    loop {
        bar.set_position(counters.bytes.load(Ordering::Relaxed).min(total_bytes));
        bar.set_message(format!("{}/{total_files} files", counters.files.load(Ordering::Relaxed)));
        if ended.recv_timeout(REDRAW) != Err(RecvTimeoutError::Timeout) {
            return bar.finish_and_clear();
        }
    }
}
