//! What a person sees while a run goes on: one line on the terminal with bytes, files, rate and time left. Nothing is
//! drawn before a quarter of a second has passed, so that short runs stay quiet and quick.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const QUIET_FIRST: Duration = Duration::from_millis(250);
const REDRAW: Duration = Duration::from_millis(100);

const TEMPLATE: &str =
    "{bar:24.cyan/dim} {percent:>3} %  {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";

/// How far a run has come. The workers only add to the counters.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    files: AtomicU64,
    /// The line on the terminal, once it is drawn.
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// So many more source bytes are through.
    pub fn count_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// One more entry has ended.
    pub fn count_file(&self) {
        self.files.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes something else to the terminal, the line out of its way.
    pub fn aside(&self, write: impl FnOnce()) {
        match self.bar.get() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Does `work`; meanwhile, if standard error is a terminal, draws the line from a thread of its own, and removes
    /// it at the end.
    pub fn shown_during<T>(&self, total_bytes: u64, total_files: u64, work: impl FnOnce() -> T) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        std::thread::scope(|scope| {
            // Dropping the sender ends the drawing, also when the work panics.
            let (_end, ended) = channel::<()>();
            scope.spawn(move || self.draw(total_bytes, total_files, &ended));
            work()
        })
    }

    fn draw(&self, total_bytes: u64, total_files: u64, ended: &Receiver<()>) {
        let goes_on = |wait| ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        if !goes_on(QUIET_FIRST) {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(total_bytes), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(TEMPLATE);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        loop {
            bar.set_position(self.bytes.load(Ordering::Relaxed).min(total_bytes));
            bar.set_message(format!("{}/{total_files} files", self.files.load(Ordering::Relaxed)));
            if !goes_on(REDRAW) {
                return bar.finish_and_clear();
            }
        }
    }
}
