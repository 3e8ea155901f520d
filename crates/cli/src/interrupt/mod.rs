//! Signals that end a command: Ctrl-C (SIGINT), SIGTERM and SIGHUP, in every command and at every moment.
//!
//! A run that can stop by itself ([`Interrupt::listen`]) stops at the first signal and removes its incomplete outputs; a
//! second signal ends the process. Any other command ends at the first signal. In both cases the command prints one
//! message, restores the terminal, and exits with 128 plus the signal's number.

#[cfg(not(unix))]
mod elsewhere;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub use elsewhere::start;
#[cfg(unix)]
pub use unix::{has_come, listen_for_suspension, start};

use crate::exit_code::interrupted;
use cipherloom::IfExists;
use cipherloom::internal::engine::lock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, Weak};

/// The first signal that came, or 0.
static RAISED: AtomicI32 = AtomicI32::new(0);

/// The functions to call at the first signal.
static WAKES: Mutex<Vec<Weak<Wake>>> = Mutex::new(Vec::new());

type Wake = dyn Fn() + Send + Sync;

/// Whether a run is under way that stops by itself.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// What the message says was done, if a signal ends the process at once.
static DONE: Mutex<&str> = Mutex::new("");

/// Sets what the message says was done, if a signal ends the process at once from now on.
pub fn set_done(done: &'static str) {
    *lock(&DONE) = done;
}

/// What a stopped run that only reads has done.
pub const NOT_READ: &str = "the rest was not read";

/// What a stopped run that writes has done.
pub const KEPT: &str = "completed outputs were kept";

/// How to resume a stopped run that writes. `made_key`: whether it began with making its key.
pub fn resume_hint(if_exists: IfExists, made_key: bool) -> &'static str {
    match (if_exists, made_key) {
        (IfExists::Fail, false) => "to resume, run again with --if-exists skip",
        (IfExists::Fail, true) => {
            "to resume, run again with --key FILE --if-exists skip in place of --new-key"
        }
        // With `skip` the outputs that were there before would not be replaced.
        (IfExists::Overwrite, true) => "to resume, run again with --key FILE in place of --new-key",
        (IfExists::Overwrite | IfExists::Skip, _) => "to resume, run the same command again",
    }
}

/// Wakes the runs that wait.
fn wake_runs() {
    let wakes = std::mem::take(&mut *lock(&WAKES));
    wakes.iter().filter_map(Weak::upgrade).for_each(|wake| wake());
}

/// A run that stops by itself when a signal has come, while this value lives.
pub struct Interrupt(());

impl Interrupt {
    /// From now on, the first signal does not end the process.
    pub fn listen() -> Interrupt {
        IS_ASKED.store(true, Ordering::SeqCst);
        Interrupt(())
    }

    /// Checks whether a signal has come. `done`: what the run has done by then, such as [`KEPT`]; `hint`: what the user can
    /// do, or "".
    ///
    /// # Errors
    /// The error that ends the command, if one has.
    pub fn check(&self, done: &str, hint: &'static str) -> anyhow::Result<()> {
        match RAISED.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(interrupted(signal, done, hint)),
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        IS_ASKED.store(false, Ordering::SeqCst);
    }
}

/// Whether a signal has come.
pub fn is_raised() -> bool {
    RAISED.load(Ordering::SeqCst) != 0
}

/// Calls `wake` when the first signal comes, or now if one has come.
pub fn wake_at_signal(wake: Weak<Wake>) {
    lock(&WAKES).push(wake);
    if is_raised() {
        wake_runs();
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
            assert_eq!(resume_hint(if_exists, made_key), format!("to resume, {how}"));
        }
    }
}
