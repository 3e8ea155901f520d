//! `cargo xtask report`: makes the lab's page from the committed records and opens it in Chromium, on a phone's width and a
//! desk's, in light and dark. Screenshots go to `target/report/` for somebody to look at.
//!
//! Fails on what a reader would meet: an error in the browser's console, a request to a network, a page wider than
//! its window, an empty plot, an export that is not what it says; and if a library in `lab/report/vendor/` is not byte for
//! byte what npm has under its version.

use anyhow::{Context, Result, ensure};
use cipherloom_peers::{Program, debian, place};
use std::fs;
use std::path::Path;

const PROGRAMS: [(&str, &str); 3] = [("chromium", "chromium"), ("node", "nodejs"), ("npm", "npm")];

/// Files in `vendor/` with the place in `node_modules/` that they come from.
const VENDORED: [(&str, &str); 4] = [
    ("plot.umd.min.js", "@observablehq/plot/dist/plot.umd.min.js"),
    ("plot.LICENSE", "@observablehq/plot/LICENSE"),
    ("d3.min.js", "d3/dist/d3.min.js"),
    ("d3.LICENSE", "d3/LICENSE"),
];

/// Makes the page with this lab and has the browser look at it.
pub(crate) fn run(lab: &Path) -> Result<()> {
    debian::ensure(&PROGRAMS)?;
    let sources = place::root().join("lab/report");
    let folder = place::make_folder("report")?;
    install(&folder)?;
    let records = place::root().join("lab/records");
    let (measured, copied) = with_a_damaged_one(&records, &folder)?;
    let page = folder.join("report.html");
    Program::new(lab).arg("report").arg(&copied).arg("-o").arg(&page).run()?;
    fs::copy(sources.join("check.mjs"), folder.join("check.mjs")).context("cannot copy check.mjs")?;
    Program::new("node").folder(&folder).arg("check.mjs").arg(&page).arg(&folder).args(measured).run()?;
    println!("screenshots in {}", folder.display());
    Ok(())
}

/// Installs what drives the browser and what the page carries, by their locked versions, and compares what is carried with them.
pub(crate) fn install(folder: &Path) -> Result<()> {
    let vendor = place::lab().join("report/vendor");
    for name in ["package.json", "package-lock.json"] {
        let from = vendor.join(name);
        fs::copy(&from, folder.join(name)).with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Program::new("npm").folder(folder).args(["ci", "--silent", "--no-audit", "--no-fund"]).fetch()?;
    for (name, origin) in VENDORED {
        let carried = fs::read(vendor.join(name)).with_context(|| format!("cannot read {name}"))?;
        let published = fs::read(folder.join("node_modules").join(origin))
            .with_context(|| format!("the npm package has no {origin}"))?;
        ensure!(carried == published, "lab/report/vendor/{name} is not npm's {origin}; copy it from there");
    }
    Ok(())
}

/// Copies the records and puts a damaged one beside them, which the page must tell and survive. Gives the experiments that
/// have a record, and the folder.
fn with_a_damaged_one(records: &Path, folder: &Path) -> Result<(Vec<String>, std::path::PathBuf)> {
    let copied = folder.join("records");
    if copied.is_dir() {
        fs::remove_dir_all(&copied)?;
    }
    fs::create_dir_all(&copied)?;
    let mut measured = Vec::new();
    for entry in records.read_dir().with_context(|| format!("cannot list {}", records.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read(&path)?;
            let record: serde_json::Value =
                serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))?;
            measured.extend(record["experiment"].as_str().map(str::to_owned));
            fs::write(copied.join(path.file_name().unwrap_or_default()), &text)?;
            fs::write(copied.join("damaged.json"), &text[..text.len() / 2])?;
        }
    }
    ensure!(!measured.is_empty(), "no records in {}", records.display());
    measured.sort();
    measured.dedup();
    Ok((measured, copied))
}
