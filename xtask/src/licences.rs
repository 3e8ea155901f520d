//! What the tests of LCP licences need of others: Readium's licence packages, its client, its test certificate.

use crate::chore::Program;
use crate::place;
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The licence server's module, in which a test certificate and samples lie.
const SERVER: &str = "github.com/readium/readium-lcp-server@v1.14.0";

fn folder(name: &str) -> Result<PathBuf> {
    let folder = place::target().join("interop").join(name);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The program over Readium's packages that makes and verifies licences.
///
/// # Errors
/// If it cannot be built.
pub(crate) fn go_peer() -> Result<PathBuf> {
    let built = folder("lcp")?.join("licences");
    Program::new("go")
        .folder(place::root().join("peers/lcp"))
        .args(["build", "-mod=mod", "-p", "1", "-o"])
        .arg(&built)
        .arg("./licences")
        .run()?;
    Ok(built)
}

/// The folder with Readium's client of LCP and the script that drives it.
///
/// # Errors
/// If npm cannot fetch it.
pub(crate) fn reader() -> Result<PathBuf> {
    let (source, folder) = (place::root().join("peers/lcp-reader"), folder("lcp-reader")?);
    let wanted = std::fs::read_to_string(source.join("package.json")).context("cannot read package.json")?;
    std::fs::copy(source.join("read.js"), folder.join("read.js")).context("cannot copy read.js")?;
    let installed = folder.join("installed.json");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(folder);
    }
    std::fs::write(folder.join("package.json"), &wanted).context("cannot write package.json")?;
    Program::new("npm")
        .folder(&folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
        .run()?;
    std::fs::write(&installed, wanted).context("cannot write installed.json")?;
    Ok(folder)
}

/// Where the licence server's module lies.
///
/// # Errors
/// If it cannot be fetched.
pub(crate) fn server_module() -> Result<PathBuf> {
    let said = Program::new("go").args(["mod", "download", "-json", SERVER]).output()?;
    let said: serde_json::Value = serde_json::from_str(&said).context("go said no JSON")?;
    said["Dir"].as_str().map(PathBuf::from).context("go named no folder")
}
