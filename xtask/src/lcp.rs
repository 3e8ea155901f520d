//! What the tests and the bench of Readium LCP need of others: lcpencrypt, epubcheck, and real publications.

use crate::chore::Program;
use crate::{debian, place};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Debian packages that hold EPUBs.
const BOOKS: [&str; 4] =
    ["debian-policy", "developers-reference", "live-manual-epub", "ubuntu-packaging-guide-epub"];

/// Go modules with sample publications, at the versions that were looked at.
const MODULES: [&str; 2] =
    ["github.com/readium/readium-lcp-server@v1.14.0", "github.com/readium/go-toolkit@v0.13.0"];

fn folder() -> Result<PathBuf> {
    let folder = place::target().join("interop/lcp");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// Readium's command, built from its module (about a minute of processor time, once).
///
/// # Errors
/// If it cannot be built.
pub(crate) fn lcpencrypt() -> Result<PathBuf> {
    let built = folder()?.join("lcpencrypt");
    Program::new("go")
        .folder(place::root().join("peers/lcp"))
        .args(["build", "-mod=mod", "-p", "1", "-o"])
        .arg(&built)
        .arg("github.com/readium/readium-lcp-server/lcpencrypt")
        .run()?;
    Ok(built)
}

/// The folder with epubcheck and the libraries it needs.
///
/// # Errors
/// If Maven cannot fetch them.
pub(crate) fn epubcheck() -> Result<PathBuf> {
    let libraries = folder()?.join("epubcheck");
    if !libraries.join("epubcheck-5.3.0.jar").exists() {
        Program::new("mvn")
            .folder(place::root().join("peers/epubcheck"))
            .args(["--quiet", "--batch-mode", "dependency:copy-dependencies"])
            .arg(format!("-DoutputDirectory={}", libraries.display()))
            .run()?;
    }
    Ok(libraries)
}

/// Folders in which real publications lie.
///
/// # Errors
/// If they cannot be fetched.
pub(crate) fn samples() -> Result<Vec<PathBuf>> {
    let debian = folder()?.join("debian");
    debian::unpack(&BOOKS, &debian)?;
    let mut folders = vec![debian.join("files")];
    for module in MODULES {
        let said = Program::new("go").args(["mod", "download", "-json", module]).output()?;
        let said: serde_json::Value = serde_json::from_str(&said).context("go said no JSON")?;
        folders.push(said["Dir"].as_str().context("go named no folder")?.into());
    }
    Ok(folders)
}
