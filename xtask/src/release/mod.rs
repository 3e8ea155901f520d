//! `cargo xtask release`: makes everything that is published in `target/release-artifacts/`, and installs and runs each
//! artefact where nothing else of this machine can help it. docs/releasing.md is the page for people.
//!
//! ```text
//! HEAD ─> source archive ─┬> build ─> archive ─> .deb, image, bill of materials
//!                         ├> build elsewhere ─> the same archive, byte for byte
//!                         ├> crates
//!                         └> sdist ─> wheel              all ─> manifests of package managers, SHA256SUMS
//! ```

mod bill;
mod clean_root;
mod command;
mod crates;
mod packages;
mod wheel;

use crate::fuzz;
use crate::stages::{self, Stage};
use anyhow::{Context, Result};
use cipherloom_peers::{Program, place};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One artefact, or one kind: made, then tested.
type Step = Stage<fn(&Release) -> Result<()>>;

const STEPS: [Step; 11] = [
    Stage { name: "source", run: source },
    Stage { name: "command", run: command::run },
    Stage { name: "debian", run: packages::debian },
    Stage { name: "image", run: packages::image },
    Stage { name: "python", run: wheel::run },
    Stage { name: "crates", run: crates::run },
    Stage { name: "bill", run: bill::run },
    Stage { name: "manifests", run: packages::manifests },
    Stage { name: "sums", run: sums },
    Stage { name: "reproduce", run: command::reproduce },
    Stage { name: PUBLISH, run: crates::publish },
];

/// Runs only if it is named.
const PUBLISH: &str = "publish";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these steps, in their usual order, over what earlier ones left in target/release-work: source, command,
    /// debian, image, python, crates, bill, manifests, sums, reproduce; and publish, which runs only if named
    #[arg(value_name = "STEP")]
    only: Vec<String>,
}

/// What all steps know of the release.
struct Release {
    version: &'static str,
    /// The platform that the command is built for: this machine's.
    target: String,
    /// The time of the commit in seconds, which is the time of every packed file.
    time: String,
}

/// Runs the steps and lists what they made.
pub(crate) fn run(options: &Options) -> Result<()> {
    let steps: Vec<&Step> = match &options.only[..] {
        [] => STEPS.iter().filter(|step| step.name != PUBLISH).collect(),
        only => stages::choose(&STEPS.each_ref(), only)?,
    };
    let time = Program::new("git").folder(place::root()).args(["log", "-1", "--format=%ct"]).output()?;
    let release =
        Release { version: env!("CARGO_PKG_VERSION"), target: fuzz::host()?, time: time.trim().to_owned() };
    if options.only.is_empty() && artifacts().exists() {
        fs::remove_dir_all(artifacts()).context("cannot empty target/release-artifacts")?;
    }
    fs::create_dir_all(artifacts()).context("cannot create target/release-artifacts")?;
    let start = Instant::now();
    stages::summarize(&stages::in_order(&steps, |run| run(&release)), start, "release")?;
    println!("\nin {}:", artifacts().display());
    for file in files(&artifacts())? {
        println!("  {:>10}  {}", fs::metadata(&file)?.len(), file_name(&file));
    }
    Ok(())
}

impl Release {
    /// The name of everything that is made of this version: `cipherloom-0.1.0`.
    fn name(&self) -> String {
        format!("cipherloom-{}", self.version)
    }

    /// The name of what is made for this platform.
    fn platform_name(&self) -> String {
        format!("{}-{}", self.name(), self.target)
    }

    fn source_archive(&self) -> PathBuf {
        artifacts().join(format!("{}-source.tar.gz", self.name()))
    }

    /// Where the command's files are staged as its archive has them.
    fn staged(&self) -> PathBuf {
        self.tree().join("staged").join(self.platform_name())
    }

    /// The sources that the artefacts are made of: the unpacked source archive.
    fn tree(&self) -> PathBuf {
        work(FIRST).join(self.name())
    }

    /// Unpacks the source archive anew below a folder of ours.
    fn unpack(&self, name: &str) -> Result<PathBuf> {
        let tree = empty(&format!("{name}/{}", self.name()))?;
        Program::new("tar").folder(work(name)).arg("-xf").arg(self.source_archive()).run()?;
        Ok(tree)
    }
}

/// The folder of the first build, from which everything is made.
const FIRST: &str = "one";

/// HEAD as an archive, unpacked: what is not committed is not released.
fn source(release: &Release) -> Result<()> {
    let git = || Program::new("git").folder(place::root());
    let changed = git().args(["status", "--porcelain"]).output()?;
    if !changed.is_empty() {
        println!("not released, since it is not committed:\n{changed}");
    }
    git()
        .args(["archive", "--format=tar.gz", "-9", &format!("--prefix={}/", release.name()), "--output"])
        .arg(release.source_archive())
        .arg("HEAD")
        .run()?;
    release.unpack(FIRST).map(drop)
}

/// The SHA-256 sums of all files.
fn sums(_: &Release) -> Result<()> {
    let sum = "find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\\0' | sort -z | xargs -0 sha256sum -- > SHA256SUMS
        sha256sum --check --quiet SHA256SUMS";
    Program::new("bash").folder(artifacts()).args(["-euc", sum]).run()
}

/// A script of `packaging/`.
fn python(script: &str) -> Program {
    Program::new("python3").folder(place::root()).arg(script)
}

/// What is published.
fn artifacts() -> PathBuf {
    place::target().join("release-artifacts")
}

/// A folder of what the steps need on their way.
fn work(name: &str) -> PathBuf {
    place::target().join("release-work").join(name)
}

/// A new, empty folder of what the steps need on their way.
fn empty(name: &str) -> Result<PathBuf> {
    let folder = work(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

/// The plain files in a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// The one file in a folder that ends so.
fn file_ending(folder: &Path, ending: &str) -> Result<PathBuf> {
    let mut found = files(folder)?.into_iter().filter(|file| file_name(file).ends_with(ending));
    found.next().with_context(|| format!("no file in {} ends with {ending}", folder.display()))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}
