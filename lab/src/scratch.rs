//! The folder for files that are measured, in memory where there is such a place: the disk is a factor of its own.

use anyhow::Context as _;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The folders that were made.
static MADE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Makes one. It is removed when it is dropped, and when Ctrl-C or SIGTERM ends the process: files in memory would stay there.
///
/// # Errors
/// If it cannot be made, or the system does not let this process hear signals.
pub fn folder(wanted: Option<&Path>) -> anyhow::Result<tempfile::TempDir> {
    remove_at_signals()?;
    let memory = Path::new("/dev/shm");
    let parent = match wanted {
        Some(folder) => folder.to_owned(),
        None if memory.is_dir() => memory.to_owned(),
        None => std::env::temp_dir(),
    };
    // Under the lock, so that a signal finds what was made.
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::Builder::new()
        .prefix("cipherloom-lab-")
        .tempdir_in(&parent)
        .with_context(|| format!("cannot make a folder for scratch files in {}", parent.display()))?;
    made.push(folder.path().to_owned());
    Ok(folder)
}

fn remove_at_signals() -> anyhow::Result<()> {
    static LISTENS: OnceLock<()> = OnceLock::new();
    if LISTENS.set(()).is_err() {
        return Ok(());
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot listen for Ctrl-C")?;
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Most of them are gone already.
            for folder in MADE.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                // A thread that is still writing may add a file meanwhile.
                let _ = (0..10).find(|_| std::fs::remove_dir_all(folder).is_ok() || !folder.exists());
            }
            std::process::exit(128 + signal);
        }
    });
    Ok(())
}

/// A folder on a disk: beside other temporary files, or here; removed when dropped.
///
/// # Errors
/// If there is no disk, in words.
pub fn on_disk() -> Result<tempfile::TempDir, String> {
    const TMPFS: u64 = 0x0102_1994;
    let is_disk =
        |folder: &Path| rustix::fs::statfs(folder).is_ok_and(|system| system.f_type as u64 != TMPFS);
    let places = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from(".")];
    let Some(folder) = places.iter().find(|folder| is_disk(folder)) else {
        return Err(format!("{} is in memory; set TMPDIR to a folder on a disk", places[0].display()));
    };
    tempfile::Builder::new()
        .prefix("cipherloom-lab-")
        .tempdir_in(folder)
        .map_err(|error| format!("cannot make a folder in {}: {error}", folder.display()))
}
