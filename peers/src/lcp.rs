//! What the tests and the bench of Readium LCP need of others: lcpencrypt, license packages, a client, epubcheck, real
//! publications and a test certificate.

use crate::tools::{go_build, maven};
use crate::{Program, debian, place};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// Debian packages that hold EPUBs.
const BOOKS: [&str; 4] =
    ["debian-policy", "developers-reference", "live-manual-epub", "ubuntu-packaging-guide-epub"];

/// The license server's Go module, in which a test certificate and sample publications lie.
const SERVER: &str = "github.com/readium/readium-lcp-server@v1.14.0";

/// Another Go module with sample publications, at the version that was looked at.
const TOOLKIT: &str = "github.com/readium/go-toolkit@v0.13.0";

/// Readium's command, built from its module (about a minute of processor time, once).
///
/// # Errors
/// If it cannot be built.
pub fn lcpencrypt() -> Result<PathBuf> {
    built("github.com/readium/readium-lcp-server/lcpencrypt", "lcpencrypt")
}

/// The program over Readium's packages that makes and verifies licenses.
///
/// # Errors
/// If it cannot be built.
pub fn license_program() -> Result<PathBuf> {
    built("./licenses", "licenses")
}

fn built(package: &str, name: &str) -> Result<PathBuf> {
    let built = place::make_folder("interop/lcp")?.join(name);
    go_build("peers/lcp", &["-mod=mod", "-p", "1"], package, &built)
}

/// The folder with epubcheck and the libraries it needs.
///
/// # Errors
/// If Maven cannot fetch them.
pub fn epubcheck() -> Result<PathBuf> {
    let libraries = place::make_folder("interop/lcp")?.join("epubcheck");
    if !libraries.join("epubcheck-5.3.0.jar").exists() {
        let setting = format!("-DoutputDirectory={}", libraries.display());
        maven("peers/epubcheck", "dependency:copy-dependencies", &setting)?;
    }
    Ok(libraries)
}

/// Folders in which real publications lie.
///
/// # Errors
/// If they cannot be fetched.
pub fn samples() -> Result<Vec<PathBuf>> {
    let debian = place::make_folder("interop/lcp/debian")?;
    debian::unpack(&BOOKS, &debian)?;
    Ok(vec![debian.join("files"), module(SERVER)?, module(TOOLKIT)?])
}

/// Where the license server's module lies.
///
/// # Errors
/// If it cannot be fetched.
pub fn server_module() -> Result<PathBuf> {
    module(SERVER)
}

/// The folder of a Go module of this version, fetched if it is not there.
fn module(name: &str) -> Result<PathBuf> {
    let download = Program::new("go").args(["mod", "download", "-json", name]);
    let said = download.output().or_else(|_| download.output())?;
    let said: serde_json::Value = serde_json::from_str(&said).context("go said no JSON")?;
    said["Dir"].as_str().map(PathBuf::from).context("go named no folder")
}

/// The folder with Readium's client of LCP and the script that drives it.
///
/// # Errors
/// If npm cannot fetch it.
pub fn reader() -> Result<PathBuf> {
    let (source, folder) =
        (place::root().join("peers/lcp-reader"), place::make_folder("interop/lcp-reader")?);
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
        .fetch()?;
    std::fs::write(&installed, wanted).context("cannot write installed.json")?;
    Ok(folder)
}
