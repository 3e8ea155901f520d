//! The progress of a run: one line on the terminal with bytes, files, rate and time left. Nothing is drawn in the first
//! quarter of a second, so that short runs stay quiet and quick.

use crate::{interrupt, output};
use cipherloom::Observer;
use cipherloom::internal::engine::{Counter, lock};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

/// The line that is drawn. Whoever asks something at the terminal holds it.
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Uses the terminal for a message or question, one at a time; meanwhile no line is drawn.
pub fn pause<T>(ask: impl FnOnce() -> T) -> T {
    match &*lock(&LINE) {
        Some(bar) => bar.suspend(ask),
        None => ask(),
    }
}

const QUIET_FIRST: Duration = Duration::from_millis(250);
const REDRAW: Duration = Duration::from_millis(100);

/// `wide_msg` is cut off where the terminal ends: a line that wraps could not be drawn over.
const TEMPLATE: &str = "{percent:>3} %  {wide_msg}";

/// For a run of unknown length.
const ENDLESS: &str = "{spinner} {wide_msg}";

/// Files and bytes found so far (0 bytes if unknown), and whether these are all.
pub type Found<'f> = dyn Fn() -> (u64, u64, bool) + Sync + 'f;

/// Counters of what a run has processed; workers add to them.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes and files.
    done: Counter<2>,
    /// The line on the terminal, once it is drawn.
    bar: OnceLock<ProgressBar>,
}

/// Counts, and stops a run when a signal has come.
impl Observer for Progress {
    fn advanced(&self, bytes: u64) {
        self.done.add([bytes, 0]);
    }

    fn entry_ended(&self) {
        self.done.add([0, 1]);
    }

    fn is_stopped(&self) -> bool {
        interrupt::is_raised()
    }

    fn on_stop(&self, wake: Weak<dyn Fn() + Send + Sync>) {
        interrupt::wake_at_signal(wake);
    }
}

impl Progress {
    /// Removes the line while `write` writes something else to the terminal.
    pub fn aside(&self, write: impl FnOnce()) {
        match self.bar.get() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Does `work`; meanwhile, if standard error is a terminal, draws the line from a thread of its own, and removes it at the
    /// end. `found` gives the files and bytes found so far (0 bytes if unknown), and whether these are all.
    pub fn show<T>(&self, found: &Found<'_>, work: impl FnOnce() -> T) -> T {
        if !std::io::stderr().is_terminal() {
            return work();
        }
        std::thread::scope(|scope| {
            // Dropping the sender ends the drawing, also when the work panics.
            let (_end, ended) = channel::<()>();
            // If no thread can be started, the work runs without the line.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || self.draw(found, &ended));
            work()
        })
    }

    fn draw(&self, found: &Found<'_>, ended: &Receiver<()>) {
        let start = Instant::now();
        let goes_on = |wait| ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
        if !goes_on(QUIET_FIRST) {
            return;
        }
        let is_endless = found().1 == 0;
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::with_draw_target(Some(found().1), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template(if is_endless { ENDLESS } else { TEMPLATE });
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        *lock(&LINE) = Some(bar.clone());
        let mut pace = Pace::default();
        loop {
            let (total_files, total_bytes, is_all) = found();
            let [bytes, files] = self.done.sums();
            let elapsed = start.elapsed().as_secs_f64();
            let line = if is_endless {
                format!("{}  {}/s", output::size(bytes), output::size((bytes as f64 / elapsed) as u64))
            } else {
                let bytes = bytes.min(total_bytes);
                pace.learn(elapsed, files, bytes);
                let left = match is_all {
                    true => pace.left(total_files.saturating_sub(files), total_bytes - bytes),
                    false => Left::Listing,
                };
                bar.set_length(total_bytes);
                bar.set_position(bytes);
                figures(bytes, total_bytes, files, total_files, elapsed, left)
            };
            bar.set_message(line);
            bar.tick();
            if !goes_on(REDRAW) {
                *lock(&LINE) = None;
                return bar.finish_and_clear();
            }
        }
    }
}

/// How long the rest takes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Left {
    Seconds(f64),
    Unknown,
    Listing,
}

/// The cost of a file and of a byte, estimated from the run so far: the least squares of `seconds = a files + b bytes` over
/// the steps between redraws, the latest counting most. A tree often begins with its large files and ends with its small
/// ones, whose cost does not depend on bytes.
#[derive(Debug, Default)]
struct Pace {
    last: (f64, f64, f64),
    files_files: f64,
    files_bytes: f64,
    bytes_bytes: f64,
    files_seconds: f64,
    bytes_seconds: f64,
}

impl Pace {
    /// The weight that a step keeps with each later one: a half after seven seconds.
    const MEMORY: f64 = 0.99;

    fn learn(&mut self, elapsed: f64, files: u64, bytes: u64) {
        let now = (elapsed, files as f64, bytes as f64);
        let (seconds, files, bytes) = (now.0 - self.last.0, now.1 - self.last.1, now.2 - self.last.2);
        self.last = now;
        for (sum, product) in [
            (&mut self.files_files, files * files),
            (&mut self.files_bytes, files * bytes),
            (&mut self.bytes_bytes, bytes * bytes),
            (&mut self.files_seconds, files * seconds),
            (&mut self.bytes_seconds, bytes * seconds),
        ] {
            *sum = *sum * Self::MEMORY + product;
        }
    }

    /// The time for so many more files and bytes.
    fn left(&self, files: u64, bytes: u64) -> Left {
        let (files, bytes) = (files as f64, bytes as f64);
        let determinant = self.files_files * self.bytes_bytes - self.files_bytes * self.files_bytes;
        let a = (self.files_seconds * self.bytes_bytes - self.bytes_seconds * self.files_bytes) / determinant;
        let b = (self.bytes_seconds * self.files_files - self.files_seconds * self.files_bytes) / determinant;
        // Steps that are all alike do not separate the two costs; then the slower estimate counts.
        let is_known = determinant > 1e-6 * self.files_files * self.bytes_bytes && a >= 0.0 && b >= 0.0;
        let seconds = if is_known {
            a * files + b * bytes
        } else {
            let alone = |left: f64, seconds: f64, squares: f64| {
                if squares == 0.0 { 0.0 } else { left * seconds / squares }
            };
            let by_files = alone(files, self.files_seconds, self.files_files);
            by_files.max(alone(bytes, self.bytes_seconds, self.bytes_bytes))
        };
        if seconds > 0.0 { Left::Seconds(seconds) } else { Left::Unknown }
    }
}

/// The line, the most important figures first: a narrow terminal cuts off the rest.
fn figures(bytes: u64, total_bytes: u64, files: u64, total_files: u64, elapsed: f64, left: Left) -> String {
    let left = match left {
        Left::Seconds(seconds) if seconds < 100.0 => format!("  {} s left", seconds.ceil()),
        Left::Seconds(seconds) if seconds < 6000.0 => format!("  {} min left", (seconds / 60.0).ceil()),
        Left::Seconds(seconds) => format!("  {} h left", (seconds / 3600.0).ceil()),
        Left::Unknown => String::new(),
        Left::Listing => "  listing".to_owned(),
    };
    format!(
        "{}/{}  {files}/{}{left}  {}/s",
        output::size(bytes),
        output::size(total_bytes),
        output::count(total_files, "file"),
        output::size((bytes as f64 / elapsed) as u64),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_reads_well_at_every_moment() {
        let line = figures(0, 1 << 30, 0, 1, 1.0, Left::Unknown);
        assert_eq!(line, "0 B/1.0 GiB  0/1 file  0 B/s");
        let line = figures(1 << 20, 3 << 20, 1, 9, 1.0, Left::Seconds(1.5));
        assert_eq!(line, "1.0 MiB/3.0 MiB  1/9 files  2 s left  1.0 MiB/s");
        let line = figures(1 << 20, 1 << 30, 1, 9, 1.0, Left::Seconds(1070.0));
        assert_eq!(line, "1.0 MiB/1.0 GiB  1/9 files  18 min left  1.0 MiB/s");
        let line = figures(1 << 20, 1 << 30, 1, 9, 1.0, Left::Listing);
        assert_eq!(line, "1.0 MiB/1.0 GiB  1/9 files  listing  1.0 MiB/s");
    }

    #[test]
    fn a_line_fits_into_eighty_columns() {
        let gib = 1 << 30;
        let line = figures(1023 * gib, 1023 * gib, 999_999, 1_000_000, 1e3, Left::Seconds(5999.0));
        // The percentage takes 7.
        assert!(7 + line.len() <= 80, "{}: {line}", line.len());
    }

    /// Steps of a tenth of a second, in which so many files and bytes pass.
    fn pace(steps: impl IntoIterator<Item = (u64, u64)>) -> Pace {
        let mut pace = Pace::default();
        let (mut elapsed, mut files, mut bytes) = (0.0, 0, 0);
        for (more_files, more_bytes) in steps {
            elapsed += 0.1;
            files += more_files;
            bytes += more_bytes;
            pace.learn(elapsed, files, bytes);
        }
        pace
    }

    fn seconds(left: Left) -> f64 {
        if let Left::Seconds(seconds) = left { seconds } else { panic!("{left:?}") }
    }

    #[test]
    fn small_files_are_not_forgotten_for_their_few_bytes() {
        // 2 ms a file and 1 ns a byte: at first large files, then the first of 27,000 small ones.
        let large = std::iter::repeat_n((0, 100_000_000), 50);
        let pace = pace(large.chain(std::iter::repeat_n((50, 50_000), 5)));
        let left = seconds(pace.left(27_000, 27_000_000));
        assert!((50.0..60.0).contains(&left), "{left}");
    }

    #[test]
    fn a_large_file_is_not_forgotten_for_being_one() {
        let pace = pace((0..50).map(|step| (40 + step % 7, 40_000 * (1 + step % 3))));
        let left = seconds(pace.left(1, 10_000_000_000));
        assert!(left > 60.0, "{left}");
    }

    #[test]
    fn the_first_moment_promises_nothing() {
        assert_eq!(pace([(0, 0)]).left(9, 9), Left::Unknown);
    }
}
