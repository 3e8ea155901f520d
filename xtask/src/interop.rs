//! `cargo xtask interop`: the command against other programs, both ways, and against a real system's troubles.
//!
//! Installs what it needs under the build folder: a Python environment with Tink and pyca, Go programs over tink-go,
//! a Java program over Tink, Debian packages where this process may. A peer that cannot be had is a failure.

use anyhow::Result;
use cipherloom_peers::{Program, age, debian, go_peer, java_peer, lcp, place, python_environment};
use std::path::{Path, PathBuf};

/// Programs that the stage drives, with the Debian package of each.
const PROGRAMS: [(&str, &str); 8] = [
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

/// Tests that take long take their full size where this variable is set.
pub(crate) const LONG: &str = "CIPHERLOOM_TEST_LONG";

#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// Take the tests in their full size
    #[arg(long)]
    pub(crate) long: bool,
    /// Passed on to pytest, for example -k tink
    #[arg(last = true, value_name = "PYTEST")]
    pub(crate) pytest: Vec<String>,
}

/// Builds the peers and runs the tests in `interop/` with this command.
pub(crate) fn run(command: &Path, options: &Options) -> Result<()> {
    debian::ensure(&PROGRAMS)?;
    debian::ensure_packages(&FILE_SYSTEMS)?;
    let python = python()?;
    let mut tests = Program::new(python);
    if options.long {
        tests = tests.environment(LONG, "1");
    }
    tests
        .folder(place::root().join("interop"))
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--durations=5"])
        // These have servers to themselves, and a stage.
        .arg("--ignore-glob=test_stores_*")
        .args(&options.pytest)
        .environment("CIPHERLOOM", command)
        .environment("PATH", place::first_on_path(&age()?)?)
        .environment("CIPHERLOOM_GO_PEER", go_peer()?)
        .environment("CIPHERLOOM_JAVA_PEER", java_peer()?)
        .environment("CIPHERLOOM_LCP_LICENSES", lcp::license_program()?)
        .environment("CIPHERLOOM_LCP_READER", lcp::reader()?)
        .environment("CIPHERLOOM_LCP_SERVER", lcp::server_module()?)
        .environment("CIPHERLOOM_LCPENCRYPT", lcp::lcpencrypt()?)
        .environment("CIPHERLOOM_EPUBCHECK", lcp::epubcheck()?)
        .environment("CIPHERLOOM_LCP_SAMPLES", std::env::join_paths(lcp::samples()?)?)
        .environment("PYTHONDONTWRITEBYTECODE", "1")
        .run()
}

/// The Python environment's interpreter; made and filled first if its requirements have changed.
pub(crate) fn python() -> Result<PathBuf> {
    let requirements = place::root().join("interop/requirements.txt");
    python_environment(&place::make_folder("interop")?.join("venv"), &requirements)
}
