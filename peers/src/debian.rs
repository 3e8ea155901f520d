//! Debian packages that a chore or a bench needs: installed by apt-get when this process may, asked for when it may not.

use crate::{Program, is_installed, place};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// Makes sure that each program is there. `wanted` holds pairs of program and the package that brings it.
///
/// # Errors
/// If a program is missing and cannot be installed. Never passes over a missing program.
pub fn ensure(wanted: &[(&str, &str)]) -> Result<()> {
    let _lock = lock()?;
    let missing: Vec<&str> =
        wanted.iter().filter(|(program, _)| !is_installed(program)).map(|(_, package)| *package).collect();
    install(&missing)
}

/// Makes sure that these packages are there, for what is not a program on the search path.
///
/// # Errors
/// If a package is missing and cannot be installed, or the system is not Debian's.
pub fn ensure_packages(wanted: &[&str]) -> Result<()> {
    let _lock = lock()?;
    let state =
        |package| Program::new("dpkg-query").args(["--show", "--showformat=${Status}", package]).output();
    let is_there = |package| state(package).is_ok_and(|state| state.ends_with(" installed"));
    let missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_there(package)).collect();
    install(&missing)
}

/// Makes sure that C programs over OpenSSL can be compiled.
///
/// # Errors
/// As [`ensure_packages`].
pub fn ensure_c_compiler() -> Result<()> {
    ensure_packages(&["gcc", "libc6-dev", "libssl-dev"])
}

/// Fetches packages and unpacks them below `folder`, without installing them: for what is only looked at.
///
/// # Errors
/// If a package cannot be fetched or unpacked, or the system is not Debian's.
pub fn unpack(packages: &[&str], folder: &Path) -> Result<()> {
    let is_done = folder.join("unpacked");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&is_done).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    if !is_installed("apt-get") {
        bail!(
            "these come from Debian's packages {}, and there is no apt-get to fetch them",
            packages.join(", ")
        );
    }
    let _lock = lock()?;
    let download = Program::new("apt-get").folder(folder).args(["-qq", "download"]).args(packages);
    if download.run().is_err() {
        // The list of packages may be missing or old.
        Program::new("apt-get").args(["-qq", "update"]).fetch()?;
        download.fetch()?;
    }
    for file in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = file.with_context(|| format!("cannot list {}", folder.display()))?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            Program::new("dpkg-deb").arg("--extract").arg(&path).arg(folder.join("files")).run()?;
        }
    }
    std::fs::write(&is_done, wanted).with_context(|| format!("cannot write {}", is_done.display()))
}

fn install(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    if !is_installed("apt-get") || !is_root() {
        bail!("missing packages: {}; install them with the system's package manager", missing.join(", "));
    }
    let apt = || Program::new("apt-get").environment("DEBIAN_FRONTEND", "noninteractive");
    apt().args(["-qq", "update"]).fetch()?;
    apt().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(missing).fetch()
}

/// Keeps other processes of the chores from apt, which fails if it runs twice at a time. Also held while looking for packages:
/// the program of a package that is just being installed may exist before it works.
fn lock() -> Result<std::fs::File> {
    place::lock("debian.lock")
}

fn is_root() -> bool {
    #[cfg(unix)]
    return nix::unistd::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}
