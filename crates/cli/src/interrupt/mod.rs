//! Signals that end a command: Ctrl-C (SIGINT), SIGTERM and SIGHUP, in every command and at every moment.
//!
//! A run that can stop by itself ([`Interrupt::listen`]) is asked to at the first signal, so that what is half written is
//! taken back; the second ends the process. Everything else ends at the first. Either way there is one message, the
//! terminal is as it was, and the exit code is 128 and the signal's number.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use elsewhere::start;
#[cfg(unix)]
pub use unix::{has_come, listen_for_suspension, start};

use crate::exit_code::Interrupted;
use cipherloom::{Event, IfExists, Observer};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

/// The first signal that came, or 0.
static RAISED: AtomicI32 = AtomicI32::new(0);

/// Whether a run is under way that stops by itself.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// What is said of the work when a signal ends the process at once.
static DONE: Mutex<&str> = Mutex::new("");

/// From now on, what a signal that ends the process at once leaves behind, in words.
pub fn at_once(done: &'static str) {
    *DONE.lock().unwrap_or_else(PoisonError::into_inner) = done;
}

/// What was done by a stopped run that only reads.
pub const NOT_READ: &str = "the rest was not read";

/// What was done by a stopped run that writes, and how to resume it. `made_key`: whether it began with making its key.
pub fn kept(if_exists: IfExists, made_key: bool) -> &'static str {
    match (if_exists, made_key) {
        (IfExists::Fail, false) => "completed outputs were kept; to resume, run again with --if-exists skip",
        (IfExists::Fail, true) => {
            "completed outputs were kept; to resume, run again with --key FILE --if-exists skip in place of --new-key"
        }
        // With `skip` the outputs that were there before would not be replaced.
        (IfExists::Overwrite, true) => {
            "completed outputs were kept; to resume, run again with --key FILE in place of --new-key"
        }
        (IfExists::Overwrite | IfExists::Skip, _) => {
            "completed outputs were kept; to resume, run the same command again"
        }
    }
}

/// A run that asks whether a signal has come, as long as this is there.
pub struct Interrupt(());

impl Interrupt {
    /// From now on, the first signal does not end the process.
    pub fn listen() -> Interrupt {
        IS_ASKED.store(true, Ordering::SeqCst);
        Interrupt(())
    }

    /// The same observer, who now also stops the run.
    pub fn watching<'o>(&'o self, observer: &'o dyn Observer) -> Watching<'o> {
        Watching { interrupt: self, observer }
    }

    /// An error if a signal has come, with what was done in words: [`kept`] or [`NOT_READ`] for a run.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn check(&self, done: &'static str) -> anyhow::Result<()> {
        match RAISED.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Interrupted { signal, done }.into()),
        }
    }

    /// Whether a signal has come.
    pub fn is_raised(&self) -> bool {
        RAISED.load(Ordering::Relaxed) != 0
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        IS_ASKED.store(false, Ordering::SeqCst);
    }
}

/// An observer who stops the run when a signal has come.
pub struct Watching<'o> {
    interrupt: &'o Interrupt,
    observer: &'o dyn Observer,
}

impl Observer for Watching<'_> {
    fn advanced(&self, bytes: u64) {
        self.observer.advanced(bytes);
    }

    fn entry_ended(&self) {
        self.observer.entry_ended();
    }

    fn wants_every_event(&self) -> bool {
        self.observer.wants_every_event()
    }

    fn ended(&self, event: &Event<'_>) {
        self.observer.ended(event);
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_raised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repeated_command_does_what_the_stopped_one_would_have_done() {
        for (if_exists, made_key, how) in [
            (IfExists::Fail, false, "run again with --if-exists skip"),
            (IfExists::Fail, true, "run again with --key FILE --if-exists skip in place of --new-key"),
            (IfExists::Skip, false, "run the same command again"),
            (IfExists::Overwrite, false, "run the same command again"),
            (IfExists::Overwrite, true, "run again with --key FILE in place of --new-key"),
        ] {
            assert_eq!(kept(if_exists, made_key), format!("completed outputs were kept; to resume, {how}"));
        }
    }
}
