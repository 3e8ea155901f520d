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
    install(&missing)
}

/// Makes sure that these packages are there, for what is not a program on the search path.
///
/// # Errors
/// If a package is missing and cannot be installed, or the system is not Debian's.
pub(crate) fn ensure_packages(wanted: &[&str]) -> Result<()> {
    let state =
        |package| Program::new("dpkg-query").args(["--show", "--showformat=${Status}", package]).output();
    let is_there = |package| state(package).is_ok_and(|state| state.ends_with(" installed"));
    let missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_there(package)).collect();
    install(&missing)
}

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    if !is_installed("apt-get") || !is_root() {
        bail!("missing packages: {}; install them with the system's package manager", missing.join(", "));
    }
    let apt = || Program::new("apt-get").environment("DEBIAN_FRONTEND", "noninteractive");
    apt().args(["-qq", "update"]).run()?;
    apt().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(missing).run()
}

/// True if this process may install packages and mount file systems.
pub(crate) fn is_root() -> bool {
    #[cfg(unix)]
    return nix::unistd::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}
