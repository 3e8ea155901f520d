//! `cargo xtask docs`: the documentation site in `target/docs/book/`, from the same pages that the repository shows.
//!
//! ```text
//! pages of docs/SUMMARY.md ─────────────────────┐
//! commands and exit codes, from clap by mandoc ─┼─> target/docs/src/ ─> mdBook ─> Chromium opens every page
//! the lab's report ─────────────────────────────┘
//! ```

use crate::{report, tools};
use anyhow::{Context, Result};
use cipherloom_peers::{Program, debian, place, python_environment};
use std::fs;

const MDBOOK: &str = "0.5.4";
const PROGRAMS: [(&str, &str); 4] =
    [("chromium", "chromium"), ("mandoc", "mandoc"), ("node", "nodejs"), ("npm", "npm")];

/// Builds the site, and checks its pages in Chromium and the schema of events with real ones.
pub(crate) fn run() -> Result<()> {
    debian::ensure(&PROGRAMS)?;
    let folder = place::make_folder("docs")?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    fs::create_dir_all(folder.join("src/lab")).context("cannot create the site's folder")?;
    let command = place::release_build()?;
    let manual = folder.join("cipherloom.1");
    fs::write(&manual, Program::new(&command).arg("man").output()?)?;
    let fragment = folder.join("manual.html");
    let mandoc = Program::new("mandoc").args(["-T", "html", "-O", "fragment"]).arg(manual);
    fs::write(&fragment, mandoc.output()?)?;
    let python = |script| Program::new("python3").folder(place::root()).arg(script);
    python("docs/gather.py").arg(fragment).arg(&folder).run()?;
    let lab = Program::new(place::lab_build()?).folder(place::root());
    lab.args(["report", "lab/records", "-o"]).arg(folder.join("src/lab/report.html")).run()?;
    let mdbook = tools::cargo("mdbook", MDBOOK, &["--no-default-features", "--features", "search"])?;
    Program::new(mdbook).arg("build").arg(&folder).run()?;

    report::install(&folder)?;
    Program::new("node").folder(&folder).args(["check.mjs", "book", "."]).run()?;
    println!("built {}; screenshots beside it", folder.join("book").display());

    let requirements = place::root().join("packaging/requirements.txt");
    let python = python_environment(&place::target().join("release-venv"), &requirements)?;
    Program::new(python).folder(place::root()).arg("docs/check_events.py").arg(command).run()
}
