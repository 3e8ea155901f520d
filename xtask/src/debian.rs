//! Debian packages that a chore needs: installed by apt-get when this process may, asked for when it may not.

use crate::chore::{Program, is_installed};
use anyhow::{Result, bail};

/// Makes sure that each program is there. `wanted` holds pairs of program and the package that brings it.
///
/// # Errors
/// If a program is missing and cannot be installed. Never passes over a missing program.
pub(crate) fn ensure(wanted: &[(&str, &str)]) -> Result<()> {
    let missing: Vec<&str> =
        wanted.iter().filter(|(program, _)| !is_installed(program)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_installed("apt-get") || !is_root() {
        bail!("missing packages: {}; install them with the system's package manager", missing.join(", "));
    }
    let apt = || Program::new("apt-get").environment("DEBIAN_FRONTEND", "noninteractive");
    apt().args(["-qq", "update"]).run()?;
    apt().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(&missing).run()
}

/// True if this process may install packages and mount file systems.
pub(crate) fn is_root() -> bool {
    #[cfg(unix)]
    return nix::unistd::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}
