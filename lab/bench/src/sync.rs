//! `cargo xtask bench sync`: how long it takes to bring the encryption of many small files up to date, beside rsync (which does
//! not encrypt), restic and rclone; and what its index costs and answers, beside `find`.

use super::contest::{Cache, Contest};
use super::measure::{self, Sample};
use super::peers::{Choice, Peers};
use super::record::Record;
use super::table;
use super::trees::{Medium, random};
use super::variants::{Check, Input, Variant, each_round};
use anyhow::{Context, Result};
use cipherloom_peers::{Program, debian};
use std::fs;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Where trees and outputs lie
    #[arg(long, default_value = "tmpfs")]
    on: Medium,
    /// Files of 1 kB, 100 in each folder
    #[arg(long, default_value_t = 100_000)]
    files: usize,
    /// Rounds of every contest
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Where the record goes; benchmarks/records/<date>-<processor>-sync.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const BYTES: usize = 1_000;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Into a folder that does not exist yet.
    First,
    /// Into what the step before left, with nothing to do.
    Nothing,
    /// The same after each hundredth file was written anew.
    Changed,
    /// Reading what `sync` made.
    Look,
}

impl Step {
    const ALL: [Step; 4] = [Step::First, Step::Nothing, Step::Changed, Step::Look];

    fn row(self) -> &'static str {
        match self {
            Step::First => "first run",
            Step::Nothing => "nothing changed",
            Step::Changed => "1% changed",
            Step::Look => "look at it",
        }
    }

    /// The yardstick first.
    fn variants(self) -> Vec<Variant> {
        match self {
            Step::First => vec![
                whole("encrypt", |p, s, t| keyed(p, "encrypt", s).arg(t)),
                whole("encrypt --index", |p, s, t| keyed(p, "encrypt", s).arg(t).arg("--index")),
                SYNC,
                RSYNC,
            ],
            Step::Nothing | Step::Changed => vec![
                RSYNC,
                SYNC,
                whole("restic backup", |_, s, t| restic(t).args(["backup", "--quiet"]).arg(s)),
                whole("rclone sync to crypt", |_, s, t| rclone("sync").arg(s).arg(crypt(t))),
            ],
            Step::Look => vec![
                whole("find, attributes", |_, _, t| {
                    Program::new("find").arg(t).args(["-type", "f", "-size", "+0"])
                }),
                whole("verify --quick", |p, _, t| keyed(p, "verify", t).arg("--quick")),
                whole("verify", |p, _, t| keyed(p, "verify", t)),
                whole("list", |p, _, t| {
                    Program::new(&p.cipherloom).arg("list").arg(t).arg("--key").arg(&p.keyset)
                }),
            ],
        }
    }
}

const SYNC: Variant = whole("sync", |p, s, t| keyed(p, "sync", s).arg(t));

const RSYNC: Variant = whole("rsync -a", |_, s, t| {
    let mut contents = s.as_os_str().to_owned();
    contents.push("/");
    Program::new("rsync").arg("-a").arg(contents).arg(t)
});

const fn whole(name: &'static str, make: fn(&Peers, &Path, &Path) -> Program) -> Variant {
    each_round(name, Input::Plain, Check::ExitCode, make)
}

fn keyed(peers: &Peers, command: &str, tree: &Path) -> Program {
    peers.command(command).arg("--key").arg(&peers.keyset).arg(tree)
}

fn restic(repository: &Path) -> Program {
    Program::new("restic")
        .environment("RESTIC_PASSWORD", "bench")
        .arg("--cache-dir")
        .arg(repository.with_extension("cache"))
        .arg("--repo")
        .arg(repository)
}

fn rclone(command: &str) -> Program {
    Program::new("rclone").args([command, "--config", "/dev/null", "--quiet"])
}

fn crypt(folder: &Path) -> String {
    format!(":crypt,remote={},password=lcktwy6bLhfnXjlbBzx5qjODLGsv:", folder.display())
}

/// Measures, prints and writes the record.
///
/// # Errors
/// If a program cannot be had, a run fails, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    let programs = [("find", "findutils"), ("rsync", "rsync"), ("restic", "restic"), ("rclone", "rclone")];
    debian::ensure(&programs)?;
    let scratch = options.on.scratch()?;
    let peers = Peers::prepare(Choice::None, scratch.path())?;
    let mut versions = peers.versions.clone();
    for (program, argument) in
        [("find", "--version"), ("rsync", "--version"), ("restic", "version"), ("rclone", "version")]
    {
        let text = Program::new(program).arg(argument).output()?;
        versions.insert(program.to_owned(), text.lines().next().unwrap_or_default().to_owned());
    }
    let tree = Tree { source: scratch.path().join("plain"), files: options.files };
    tree.write(0, 1)?;
    let mut record = Record::begin("sync", versions);
    for step in Step::ALL {
        let contest = Contest {
            row: step.row(),
            bytes: (options.files * BYTES) as u64,
            medium: options.on,
            cache: Cache::Warm,
            rounds: options.rounds,
            variants: step.variants(),
        };
        let cells = contest.cells(&hold(&contest, step, &peers, &tree, scratch.path())?);
        print!("{}", table::of_row(&cells));
        record.extend(cells);
        record.write(options.out.as_deref())?;
    }
    Ok(())
}

struct Tree {
    source: PathBuf,
    files: usize,
}

impl Tree {
    /// Writes each file whose number divides by `step`, with bytes that no other `version` has.
    fn write(&self, version: usize, step: usize) -> Result<()> {
        let mut bytes = [0; BYTES];
        for number in (0..self.files).step_by(step) {
            let folder = self.source.join(format!("folder-{:04}", number / 100));
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let path = folder.join(format!("file-{:02}", number % 100));
            random((version * self.files + number) as u64).fill(&mut bytes);
            fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Runs every round; each variant has a destination of its own.
fn hold(
    contest: &Contest,
    step: Step,
    peers: &Peers,
    tree: &Tree,
    scratch: &Path,
) -> Result<Vec<Vec<(usize, Sample)>>> {
    let target = |variant: &Variant| {
        scratch.join(if step == Step::Look { SYNC.name } else { variant.name }.replace(' ', "-"))
    };
    if step == Step::Nothing {
        for variant in &contest.variants {
            clear(&target(variant))?;
            if variant.name.starts_with("restic") {
                restic(&target(variant)).arg("init").output()?;
            }
            variant.program(peers, &tree.source, &target(variant)).output()?;
        }
    }
    let mut samples: Vec<Vec<(usize, Sample)>> = contest.variants.iter().map(|_| Vec::new()).collect();
    let mut changes = 0;
    for (round, index) in measure::turns(contest.variants.len(), contest.rounds) {
        let (variant, target) = (&contest.variants[index], target(&contest.variants[index]));
        if step == Step::First {
            clear(&target)?;
        }
        if step == Step::Changed && changes == round {
            changes += 1;
            tree.write(changes, 100)?;
        }
        Cache::Warm.prepare(contest.medium)?;
        samples[index].push((round, measure::run(&variant.program(peers, &tree.source, &target))?));
    }
    if step == Step::Changed {
        for variant in &contest.variants {
            check(variant, peers, &tree.source, &target(variant), &scratch.join("opened"))
                .with_context(|| format!("`{}` gave a wrong result", variant.name))?;
        }
    }
    Ok(samples)
}

/// What the program gives back must be the source.
fn check(variant: &Variant, peers: &Peers, source: &Path, target: &Path, opened: &Path) -> Result<()> {
    clear(opened)?;
    let mut found = opened.to_owned();
    match variant.name {
        name if name == SYNC.name => keyed(peers, "decrypt", target).arg(opened).output()?,
        name if name.starts_with("restic") => {
            // It restores whole paths.
            found.push(source.strip_prefix("/").context("the source's path is not absolute")?);
            restic(target).args(["restore", "latest", "--quiet", "--target"]).arg(opened).output()?
        }
        name if name.starts_with("rclone") => rclone("copy").arg(crypt(target)).arg(opened).output()?,
        _ => {
            found = target.to_owned();
            String::new()
        }
    };
    Program::new("diff").args(["-r", "-q"]).arg(source).arg(found).output()?;
    clear(opened)
}

fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}
