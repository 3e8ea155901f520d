//! What the command is made of: a bill of materials (CycloneDX), compared with what cargo-auditable recorded in the command, and the
//! licenses of all crates that are linked.

use super::{Release, artifacts, copy, python};
use crate::tools;
use anyhow::Result;
use cipherloom_peers::Program;

/// The file of others' licenses.
pub(super) const LICENSES: &str = "LICENSE-THIRD-PARTY";

const CYCLONEDX: &str = "0.5.9";

/// Makes the bill of materials and checks it.
pub(super) fn run(release: &Release) -> Result<()> {
    let tree = release.tree();
    Program::new(tools::cargo("cargo-cyclonedx", CYCLONEDX, &[])?)
        .folder(&tree)
        .args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5", "--features", "stores"])
        .args(["--target", &release.target, "--override-filename", "bill", "--manifest-path"])
        .arg("crates/cli/Cargo.toml")
        .environment("SOURCE_DATE_EPOCH", &release.time)
        .run()?;
    let bill = tree.join("crates/cli/bill.json");
    python("packaging/tests/bill.py").arg(&bill).arg(release.staged().join("cipherloom")).run()?;
    copy(&bill, &artifacts().join(format!("{}.cdx.json", release.platform_name())))
}

/// The licenses of all crates that the package of this manifest links.
pub(super) fn licenses(release: &Release, manifest: &[&str]) -> Result<String> {
    python("packaging/licenses.py").folder(release.tree()).arg(&release.target).args(manifest).output()
}
