//! `cargo xtask interop`: the release build against other programs, both ways, and against a real system's troubles.
//!
//! Installs what it needs under the build folder: a Python environment with Tink and pyca, Go programs over tink-go,
//! a Java program over Tink, Debian packages where this process may. A peer that cannot be had is a failure.

use crate::chore::Program;
use crate::{debian, lcp, licences, place};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Programs that the stage drives, with the Debian package of each.
const PROGRAMS: [(&str, &str); 9] = [
    ("age", "age"),
    ("openssl", "openssl"),
    ("mvn", "maven"),
    ("npm", "npm"),
    ("setpriv", "util-linux"),
    ("mkfs.exfat", "exfatprogs"),
    ("mount.exfat-fuse", "exfat-fuse"),
    ("strace", "strace"),
    ("unzip", "unzip"),
];

/// For `test_filesystems.py`, which mounts file systems of its own (and so needs `/dev/fuse`).
const FILE_SYSTEMS: [&str; 5] = ["fuse3", "libfuse3-dev", "openssh-sftp-server", "pkgconf", "sshfs"];

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Passed on to pytest, for example -k tink
    #[arg(last = true, value_name = "PYTEST")]
    pytest: Vec<String>,
}

/// Builds the peers and runs the tests in `interop/`.
///
/// # Errors
/// If a peer cannot be had, or a test fails.
pub(crate) fn run(options: &Options) -> Result<()> {
    debian::ensure(&PROGRAMS)?;
    debian::ensure_packages(&FILE_SYSTEMS)?;
    let python = python()?;
    let command = place::release_build()?;
    Program::new(python)
        .folder(place::root().join("interop"))
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
        // These have servers to themselves, and a stage.
        .arg("--ignore-glob=test_stores_*")
        .args(&options.pytest)
        .environment("CIPHERLOOM", command)
        .environment("CIPHERLOOM_GO_PEER", go_peer()?)
        .environment("CIPHERLOOM_JAVA_PEER", java_peer()?)
        .environment("CIPHERLOOM_LCP_LICENCES", licences::go_peer()?)
        .environment("CIPHERLOOM_LCP_READER", licences::reader()?)
        .environment("CIPHERLOOM_LCP_SERVER", licences::server_module()?)
        .environment("CIPHERLOOM_LCPENCRYPT", lcp::lcpencrypt()?)
        .environment("CIPHERLOOM_EPUBCHECK", lcp::epubcheck()?)
        .environment("CIPHERLOOM_LCP_SAMPLES", std::env::join_paths(lcp::samples()?)?)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

fn folder() -> Result<PathBuf> {
    let folder = place::target().join("interop");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The Python environment's interpreter; made and filled first if its requirements have changed.
///
/// # Errors
/// If the environment cannot be made.
pub(crate) fn python() -> Result<PathBuf> {
    environment(&folder()?.join("venv"), &place::root().join("interop/requirements.txt"))
}

/// The interpreter of a Python environment at `environment` with these requirements; made anew if their file changed.
///
/// # Errors
/// If the environment cannot be made.
pub(crate) fn environment(environment: &Path, wanted: &Path) -> Result<PathBuf> {
    let wanted_text =
        std::fs::read_to_string(wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let interpreter = environment.join("bin/python");
    let installed = environment.join("installed.txt");
    if interpreter.exists() && std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted_text) {
        return Ok(interpreter);
    }
    Program::new("python3").args(["-m", "venv", "--clear"]).arg(environment).run()?;
    Program::new(&interpreter)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(wanted)
        .run()?;
    std::fs::write(&installed, wanted_text)
        .with_context(|| format!("cannot write {}", installed.display()))?;
    Ok(interpreter)
}

/// The Go program over tink-go, built.
pub(crate) fn go_peer() -> Result<PathBuf> {
    let built = folder()?.join("go-peer");
    Program::new("go")
        .folder(place::root().join("peers/go"))
        .args(["build", "-o"])
        .arg(&built)
        .arg(".")
        .run()?;
    Ok(built)
}

/// The folder with the Java program over Tink and the libraries it needs, built by Maven.
fn java_peer() -> Result<PathBuf> {
    let built = folder()?.join("java");
    if !built.join("classes/Peer.class").exists() {
        Program::new("mvn")
            .folder(place::root().join("peers/java"))
            .args(["--quiet", "--batch-mode", "package"])
            .arg(format!("-Dfolder={}", built.display()))
            .run()?;
    }
    Ok(built)
}
