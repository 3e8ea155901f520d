//! The thread that takes signals on Unix. A handler may do next to nothing; a thread may print, restore the terminal and
//! end the process.

use super::{DONE, IS_ASKED, RAISED, wake_runs};
use crate::exit_code::{ExitCode, interrupted};
use crate::{output, terminal};
use anyhow::Context;
use cipherloom::internal::engine::lock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A message that standard error does not take by then is given up: the process is to end.
const PATIENCE: Duration = Duration::from_millis(300);

static HANDLE: OnceLock<Handle> = OnceLock::new();

/// Reaches its end when a signal arrives, so that a blocking call can wait for it too.
static WAKE: OnceLock<PipeReader> = OnceLock::new();

/// From now on signals are handled. One that was ignored when the process began stays ignored: `nohup` and shells'
/// background jobs rely on that.
///
/// # Errors
/// If the system refuses.
pub fn start() -> anyhow::Result<()> {
    let listen = || -> io::Result<()> {
        let (reader, writer) = io::pipe()?;
        let _ = WAKE.set(reader);
        let (ready, is_ready) = channel();
        std::thread::Builder::new().name("signals".into()).stack_size(256 << 10).spawn(move || {
            let signals = Signals::new(heard());
            let taken = signals.as_ref().map(Signals::handle);
            let is_heard = taken.is_ok();
            let _ = ready.send(taken.map_err(|error| io::Error::new(error.kind(), error.to_string())));
            if is_heard && let Ok(signals) = signals {
                take(signals, writer);
            }
        })?;
        let handle = is_ready.recv().map_err(io::Error::other)??;
        let _ = HANDLE.set(handle);
        Ok(())
    };
    listen().context("cannot listen for signals")
}

/// From now on this process stops at Ctrl-Z by [`terminal::suspend`].
///
/// # Errors
/// If the system refuses.
pub fn listen_for_suspension() -> io::Result<()> {
    if ignored() & bit(SIGTSTP) != 0 {
        return Ok(());
    }
    HANDLE.get().map_or(Ok(()), |handle| handle.add_signal(SIGTSTP))
}

/// A descriptor that is at its end (readable, hung up) as soon as a signal has arrived.
pub fn has_come() -> Option<BorrowedFd<'static>> {
    WAKE.get().map(AsFd::as_fd)
}

/// The signals that were not ignored when the process began.
fn heard() -> Vec<i32> {
    let ignored = ignored();
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| ignored & bit(*signal) == 0).collect()
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// The signals that this process ignores, a bit for each. If this is unknown, SIGHUP counts as ignored.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(bit(SIGHUP))
}

fn take(mut signals: Signals, wake: PipeWriter) {
    let mut wake = Some(wake);
    for signal in signals.forever() {
        if signal == SIGTSTP {
            terminal::suspend();
            continue;
        }
        if signal == SIGQUIT {
            // Ends the process as it does by itself, but for the terminal's echo.
            terminal::restore();
            let _ = signal_hook::low_level::emulate_default_handler(SIGQUIT);
        }
        let is_first = RAISED.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let is_asked = IS_ASKED.load(Ordering::SeqCst);
        match (is_asked, is_first) {
            (true, true) => {
                wake = None;
                wake_runs();
            }
            (true, false) => end(signal, "at once: temporary files (.cipherloom-…) may remain"),
            (false, _) => end(signal, *lock(&DONE)),
        }
    }
    drop(wake);
}

/// Ends the process with one message.
fn end(signal: i32, done: &'static str) -> ! {
    let was_asking = terminal::restore();
    let (told, is_told) = channel();
    // On a thread of its own: another one may hold the lock of standard error while it blocks.
    let tell = move || {
        if was_asking {
            output::print_line("");
        }
        output::print_line(format_args!("cipherloom: {}", interrupted(signal, done, "")));
        let _ = told.send(());
    };
    if std::thread::Builder::new().spawn(tell).is_ok() {
        let _ = is_told.recv_timeout(PATIENCE);
    }
    low_level::exit(ExitCode::of_signal(signal) as i32)
}
