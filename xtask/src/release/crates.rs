//! The crates: packed with the licenses, and each built from what was packed. Only `publish`, which must be named, sends them to
//! crates.io.

use super::{Release, copy, files, work};
use anyhow::{Context, Result};
use cipherloom_peers::{Program, place};
use std::fs;

/// Packs and builds every crate that is published.
pub(super) fn run(release: &Release) -> Result<()> {
    cargo(release, &["--dry-run"])
}

/// Does the same, and then sends them, with the token that cargo finds.
pub(super) fn publish(release: &Release) -> Result<()> {
    cargo(release, &[])
}

fn cargo(release: &Release, more: &[&str]) -> Result<()> {
    let tree = release.tree();
    let crates = fs::read_dir(tree.join("crates")).context("cannot list the crates")?;
    for folder in crates {
        copy_licenses(&folder?.path())?;
    }
    Program::cargo()
        .folder(tree)
        .args(["publish", "--workspace", "--locked"])
        .args(more)
        .environment("CARGO_TARGET_DIR", work("crates-target"))
        .run()
}

/// Puts the licenses' texts, which the repository has once, into a folder that is packed alone.
pub(super) fn copy_licenses(folder: &std::path::Path) -> Result<()> {
    let texts =
        files(&place::root())?.into_iter().filter(|file| super::file_name(file).starts_with("LICENSE-"));
    texts.into_iter().try_for_each(|file| copy(&file, &folder.join(super::file_name(&file))))
}
