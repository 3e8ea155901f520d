//! Systems without POSIX signals: Ctrl-C alone, and no message from within the handler.

use super::{IS_ASKED, RAISED, wake_runs};
use crate::exit_code::ExitCode;
use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level;
use std::sync::atomic::Ordering;

/// From now on signals are handled.
///
/// # Errors
/// If the system refuses.
pub fn start() -> anyhow::Result<()> {
    let mut signals = Vec::new();
    for signal in [SIGINT, SIGTERM] {
        let raised = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        signal_hook::flag::register(signal, raised.clone()).context("cannot listen for Ctrl-C")?;
        signals.push((signal, raised));
    }
    let watch = move || loop {
        std::thread::sleep(std::time::Duration::from_millis(50));
        for (signal, raised) in &signals {
            if raised.swap(false, Ordering::SeqCst) {
                let is_first =
                    RAISED.compare_exchange(0, *signal, Ordering::SeqCst, Ordering::SeqCst).is_ok();
                if !(is_first && IS_ASKED.load(Ordering::SeqCst)) {
                    low_level::exit(ExitCode::of_signal(*signal) as i32);
                }
                wake_runs();
            }
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(watch).context("cannot listen for Ctrl-C")?;
    Ok(())
}
