//! A Debian system as small as debootstrap makes it, without Rust, compilers, network or anything else of this machine: what
//! works there works on a user's.

use super::{copy, empty, file_name};
use crate::tools;
use anyhow::{Context, Result};
use cipherloom_peers::{Program, debian, place};
use std::fs;
use std::path::{Path, PathBuf};

/// Python for wheels, certificates for the image, readers of the manual and of completions.
const PACKAGES: &str = "--include=python3-venv,ca-certificates,man-db,zsh,fish";
const SUITE: &str = "bookworm";

/// Runs a script of `packaging/tests/` in a new copy of the system, as root and without a network. There, `/given/` has this file,
/// the tests and the README's sample tree.
pub(super) fn test(script: &str, file: &Path) -> Result<()> {
    let root = empty("root")?;
    let copy_all = || Program::new("cp").args(["--archive", "--reflink=auto"]);
    copy_all().arg("--no-target-directory").arg(base()?).arg(&root).run()?;
    let given = root.join("given");
    fs::create_dir(&given).with_context(|| format!("cannot create {}", given.display()))?;
    copy(file, &given.join(file_name(file)))?;
    copy_all().folder(place::root()).args(["samples", "packaging/tests"]).arg(&given).run()?;
    Program::new("env")
        .args(["-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"])
        .args(["LC_ALL=C.UTF-8", "unshare", "--mount", "--net", "--pid", "--fork", "--root"])
        .arg(&root)
        .args(["sh", "-euc", &format!("mount -t proc proc /proc; sh /given/tests/{script}")])
        .run()
}

/// The system that is copied; made once.
///
/// # Errors
/// If it cannot be made: that needs root and Debian's servers.
pub(super) fn base() -> Result<PathBuf> {
    let base = tools::folder().join(format!("{SUITE}-root"));
    if !base.exists() {
        debian::ensure(&[("debootstrap", "debootstrap"), ("unshare", "util-linux")])?;
        let unfinished = empty("debootstrap")?;
        Program::new("debootstrap").args(["--variant=minbase", PACKAGES, SUITE]).arg(&unfinished).run()?;
        fs::rename(&unfinished, &base).with_context(|| format!("cannot create {}", base.display()))?;
    }
    Ok(base)
}
