//! Debian packages that a chore needs: installed by apt-get when this process may, asked for when it may not.

use crate::chore::{Program, is_installed};
use crate::place;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::path::Path;

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

/// Fetches packages and unpacks them below `folder`, without installing them: for what is only looked at.
///
/// # Errors
/// If a package cannot be fetched or unpacked, or the system is not Debian's.
pub(crate) fn unpack(packages: &[&str], folder: &Path) -> Result<()> {
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
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let _alone = alone()?;
    let fetch = || Program::new("apt-get").folder(folder).args(["-qq", "download"]).args(packages);
    if fetch().run().is_err() {
        // The list of packages may be missing or old.
        Program::new("apt-get").args(["-qq", "update"]).run()?;
        fetch().run()?;
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
    let _alone = alone()?;
    let apt = || Program::new("apt-get").environment("DEBIAN_FRONTEND", "noninteractive");
    apt().args(["-qq", "update"]).run()?;
    apt().args(["-qq", "install", "--yes", "--no-install-recommends"]).args(missing).run()
}

/// Waits until no other stage uses apt, which fails where two of it run. Until the file is closed, others wait.
fn alone() -> Result<File> {
    let path = place::target().join("debian.lock");
    let lock = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    lock.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(lock)
}

/// True if this process may install packages and mount file systems.
pub(crate) fn is_root() -> bool {
    #[cfg(unix)]
    return nix::unistd::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}
