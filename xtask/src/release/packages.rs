//! The command for package managers: the Debian package (`package.metadata.deb` in crates/cli/Cargo.toml), the container image
//! (`packaging/image.py`), and the manifests of other managers (templates in `packaging/`, filled by `packaging/fill.py`).

use super::{Release, artifacts, clean_root, file_ending, python, work};
use crate::tools;
use anyhow::Result;
use cipherloom_peers::{Program, debian, place};

const CARGO_DEB: &str = "3.8.0";
const ACTIONLINT: &str = "v1.7.12";

/// Makes the Debian package, installs it in the clean system, uses it, and removes it.
pub(super) fn debian(release: &Release) -> Result<()> {
    // The system's xz: cargo-deb's own is not optimised (`tools::cargo`).
    debian::ensure(&[("xz", "xz-utils")])?;
    Program::new(tools::cargo("cargo-deb", CARGO_DEB, &[])?)
        .folder(release.tree())
        .args(["deb", "--no-build", "--no-strip", "--compress-system", "--package", "cipherloom-cli"])
        .args(["--target", &release.target, "--output"])
        .arg(artifacts())
        .environment("SOURCE_DATE_EPOCH", &release.time)
        .run()?;
    clean_root::test("debian.sh", &file_ending(&artifacts(), ".deb")?)
}

/// Makes the image, has umoci (a reader of other origin) unpack it, and crun run the README's demonstration in it.
pub(super) fn image(release: &Release) -> Result<()> {
    debian::ensure(&[("umoci", "umoci"), ("crun", "crun")])?;
    // The image's names of architectures are Go's.
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let image = artifacts().join(format!("{}-oci-{architecture}.tar", release.name()));
    let write = python("packaging/image.py").arg(release.staged());
    let write = write.arg(clean_root::base()?.join("etc/ssl/certs/ca-certificates.crt"));
    write.args([release.version, architecture, &release.time]).arg(&image).run()?;
    let test = python("packaging/tests/image.py").arg(&image).args([release.version, "samples"]);
    test.arg(work("image")).run()
}

/// Fills the templates and has each tool's own parser read the result; actionlint reads the workflows that release.
pub(super) fn manifests(release: &Release) -> Result<()> {
    let actionlint = tools::go("actionlint", "github.com/rhysd/actionlint/cmd/actionlint", ACTIONLINT)?;
    Program::new(actionlint).folder(place::root()).run()?;
    debian::ensure(&[("ruby", "ruby"), ("nix-instantiate", "nix-bin")])?;
    python("packaging/fill.py").arg(artifacts()).arg(release.version).run()?;
    let test = Program::new("bash").arg(place::root().join("packaging/tests/manifests.sh"));
    test.folder(artifacts().join("manifests")).run()
}
