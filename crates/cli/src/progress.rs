//! What a person sees while a run goes on: one line on the terminal with bytes, files, rate and time left. Nothing is
//! drawn before a quarter of a second has passed, so that short runs stay quiet and quick.

use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const QUIET_FIRST: Duration = Duration::from_millis(250);
const REDRAW: Duration = Duration::from_millis(100);

const TEMPLATE: &str = "{bar:16.cyan/dim} {percent:>3} %  {msg}";

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
        self.shown_while_listed(&|| (total_files, total_bytes, true), work)
    }

    /// The same where totals grow: `found` gives files and bytes found so far, and whether these are all.
    pub fn shown_while_listed<T>(
        &self,
        found: &(dyn Fn() -> (u64, u64, bool) + Sync),
        work: impl FnOnce() -> T,
    ) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        std::thread::scope(|scope| {
            // Dropping the sender ends the drawing, also when the work panics.
            let (_end, ended) = channel::<()>();
            // Without a thread there is no line, and the work goes on.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || self.draw(found, &ended));
            work()
        })
    }

    fn draw(&self, found: &dyn Fn() -> (u64, u64, bool), ended: &Receiver<()>) {
        let start = Instant::now();
        let goes_on = |wait| ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        if !goes_on(QUIET_FIRST) {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(found().1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(TEMPLATE);
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        loop {
            let (total_files, total_bytes, is_all) = found();
            let bytes = self.bytes.load(Ordering::Relaxed).min(total_bytes);
            let files = self.files.load(Ordering::Relaxed);
            let mut line = figures(bytes, total_bytes, files, total_files, start.elapsed());
            if !is_all {
                // How much is left nobody knows yet.
                let known = line.rfind("/s").map_or(line.len(), |end| end + 2);
                line.truncate(known);
                line.push_str("  listing");
            }
            bar.set_length(total_bytes);
            bar.set_message(line);
            bar.set_position(bytes);
            if !goes_on(REDRAW) {
                return bar.finish_and_clear();
            }
        }
    }
}

/// The line's words. The rate is the run's so far: entries differ too much for a moment's rate to tell the time left.
fn figures(bytes: u64, total_bytes: u64, files: u64, total_files: u64, elapsed: Duration) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64();
    let left = match ((total_bytes - bytes) as f64 / rate).ceil() {
        seconds if seconds < 100.0 => format!("  {seconds} s left"),
        seconds if seconds.is_finite() => format!("  {} min left", (seconds / 60.0).ceil()),
        _ => String::new(),
    };
    format!(
        "{} of {}  {files}/{}  {}/s{left}",
        output::size(bytes),
        output::size(total_bytes),
        output::count(total_files, "file"),
        output::size(rate as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_well_at_every_moment() {
        let second = Duration::from_secs(1);
        assert_eq!(figures(0, 1 << 30, 0, 1, second), "0 B of 1.0 GiB  0/1 file  0 B/s");
        assert_eq!(figures(0, 0, 3, 9, second), "0 B of 0 B  3/9 files  0 B/s");
        let line = figures(1 << 20, 3 << 20, 1, 9, second);
        assert_eq!(line, "1.0 MiB of 3.0 MiB  1/9 files  1.0 MiB/s  2 s left");
        let line = figures(1 << 20, 1 << 30, 1, 9, second);
        assert_eq!(line, "1.0 MiB of 1.0 GiB  1/9 files  1.0 MiB/s  18 min left");
    }
}
