//! What a person sees while an experiment runs: one line on a terminal, or a line now and then in a log.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const TEMPLATE: &str = "{prefix} {bar:16.cyan/dim} {pos}/{len}  {elapsed} (about {eta} left)  {msg}";

/// Between two lines where there is no terminal.
const QUIET: Duration = Duration::from_secs(5);

/// How far an experiment has come.
#[derive(Debug)]
pub struct Progress {
    name: String,
    bar: Option<ProgressBar>,
    start: Instant,
    told: Instant,
    done: u64,
    total: u64,
    what: String,
}

impl Progress {
    /// Of this experiment, on standard error.
    #[must_use]
    pub fn new(name: &str) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.with_style(style).with_prefix(name.to_owned())
        });
        let now = Instant::now();
        Progress { name: name.to_owned(), bar, start: now, told: now, done: 0, total: 0, what: String::new() }
    }

    /// One that tells nothing, for tests.
    #[must_use]
    pub fn silent() -> Progress {
        let now = Instant::now();
        let far = now + Duration::from_secs(1 << 30);
        Progress {
            name: String::new(),
            bar: None,
            start: now,
            told: far,
            done: 0,
            total: 0,
            what: String::new(),
        }
    }

    /// So many more steps are to come.
    pub fn expect(&mut self, steps: usize) {
        self.total += steps as u64;
        if let Some(bar) = &self.bar {
            bar.set_length(self.total);
        }
    }

    /// What is being done now.
    pub fn say(&mut self, what: impl Into<String>) {
        self.what = what.into();
        if let Some(bar) = &self.bar {
            bar.set_message(self.what.clone());
        }
        self.tell();
    }

    /// One step is done.
    pub fn tick(&mut self) {
        self.done += 1;
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        self.tell();
    }

    /// The line for a log, if it is time for one.
    fn tell(&mut self) {
        if self.bar.is_none() && self.told.checked_add(QUIET).is_some_and(|next| Instant::now() >= next) {
            self.told = Instant::now();
            let seconds = self.start.elapsed().as_secs();
            eprintln!("{}: {}/{} after {seconds} s: {}", self.name, self.done, self.total, self.what);
        }
    }

    /// A line that stays, the bar out of its way.
    pub fn note(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{}: {line}", self.name)),
            None if !self.name.is_empty() => eprintln!("{}: {line}", self.name),
            None => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
