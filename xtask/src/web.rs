//! `cargo xtask web`: builds the maze's page and the lab's page beside it, into `lab/web/dist/`; as a stage of the tests it is also
//! opened in Chromium, whose software device (SwiftShader) needs no card.
//!
//! ```text
//! lab/web/src/, lab/shaders/maze/ ──> tsc, vite ──> lab/web/dist/index.html, assets/
//! lab/records/ ──> cipherloom-lab report ─────────> lab/web/dist/report.html   (the second view)
//! ```

use crate::development;
use anyhow::Result;
use cipherloom_peers::{Program, debian, place};
use std::path::{Path, PathBuf};

const BUILD: [(&str, &str); 2] = [("node", "nodejs"), ("npm", "npm")];
const TEST: [(&str, &str); 1] = [("chromium", "chromium")];

/// Builds the page, and with this lab the other one.
pub(crate) fn build(lab: &Path) -> Result<PathBuf> {
    debian::ensure(&BUILD)?;
    let folder = place::lab().join("web");
    let npm = || Program::new("npm").folder(&folder);
    npm().args(["ci", "--silent", "--no-audit", "--no-fund"]).fetch()?;
    npm().args(["run", "--silent", "build"]).run()?;
    let built = folder.join("dist");
    Program::new(lab)
        .folder(place::root())
        .args(["report", "lab/records", "-o"])
        .arg(built.join("report.html"))
        .run()?;
    println!("built {}; serve this folder from localhost or by https", built.display());
    Ok(built)
}

/// Builds the page and has the browser use it; screenshots go to `target/web/` for somebody to look at.
pub(crate) fn stage() -> Result<()> {
    debian::ensure(&TEST)?;
    let built = build(&development::lab()?)?;
    let shots = place::target().join("web");
    Program::new("node")
        .folder(place::lab().join("web"))
        .arg("test/page.mjs")
        .arg(&built)
        .arg(&shots)
        .run()?;
    println!("screenshots in {}", shots.display());
    Ok(())
}
