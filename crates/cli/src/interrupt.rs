//! Ctrl-C (SIGINT) and SIGTERM while a run is under way: the first asks it to stop, so that what is half written is taken
//! back; the second ends the process at once.

use crate::exit_code::Interrupted;
use anyhow::Context;
use cipherloom::{Event, Observer};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a signal has come.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on, signals are heard.
    ///
    /// # Errors
    /// If the system does not let this process handle them.
    pub fn listen() -> anyhow::Result<Interrupt> {
        let raised = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // Handlers act in this order: at the first signal the flag is not set yet.
            flag::register_conditional_shutdown(signal, Interrupted::CODE, Arc::clone(&raised))
                .and_then(|_| flag::register(signal, Arc::clone(&raised)))
                .context("cannot listen for Ctrl-C")?;
        }
        Ok(Interrupt(raised))
    }

    /// The same observer, who now also stops the run.
    pub fn watching<'o>(&'o self, observer: &'o dyn Observer) -> Watching<'o> {
        Watching { interrupt: self, observer }
    }

    /// An error if a signal has come during a run that `writes`.
    pub fn check_run(&self, writes: bool) -> anyhow::Result<()> {
        self.check(if writes {
            "what was complete stands; run again with --if-exists skip to go on"
        } else {
            "the rest was not looked at"
        })
    }

    /// An error if a signal has come, with what was done in words.
    pub fn check(&self, done: &'static str) -> anyhow::Result<()> {
        if self.is_raised() { Err(Interrupted(done).into()) } else { Ok(()) }
    }

    fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
