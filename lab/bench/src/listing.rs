//! `cargo xtask bench listing`: how long a tree's listing takes that has many files or folders, beside `find` and `fd`; and whole
//! runs over it, beside `cp -r` and cpz.

use super::contest::{Cache, Contest};
use super::peers::{Choice, Peers};
use super::record::Record;
use super::table;
use super::trees::Medium;
use super::variants::{self, Check, Input, Variant, each_round};
use anyhow::{Context, Result};
use cipherloom_peers::{Program, debian};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these trees
    #[arg(long, value_enum, value_delimiter = ',')]
    trees: Vec<Shape>,
    /// Where trees and outputs lie
    #[arg(long, default_value = "disk")]
    on: Medium,
    /// Whether the disk's files are in memory when a run starts
    #[arg(long, value_enum, default_value_t = Cache::Warm)]
    cache: Cache,
    /// Measure whole runs too
    #[arg(long)]
    copies: bool,
    /// Rounds of every contest
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Where the record goes; benchmarks/records/<date>-<processor>-listing.json if left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A tree of empty files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shape {
    /// A million files in 1,000 folders
    Files,
    /// 1,000 chains of 100 folders, with a file at the end of each
    Deep,
    /// 100 such chains
    Chains,
}

impl Shape {
    const ALL: [Shape; 3] = [Shape::Files, Shape::Deep, Shape::Chains];

    fn name(self) -> &'static str {
        match self {
            Shape::Files => "1000000 files",
            Shape::Deep => "100000 folders, 100 deep",
            Shape::Chains => "10000 folders, 100 deep",
        }
    }

    fn plant(self, root: &Path) -> Result<()> {
        let (chains, depth, files) = match self {
            Shape::Files => (1000, 1, 1000),
            Shape::Deep => (1000, 100, 1),
            Shape::Chains => (100, 100, 1),
        };
        for chain in 0..chains {
            let mut folder = root.join(format!("chain-{chain:03}"));
            (1..depth).for_each(|level| folder.push(format!("level-{level:02}")));
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            for number in 0..files {
                let path = folder.join(format!("file-{number:03}"));
                File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
            }
        }
        Ok(())
    }
}

/// Measures, prints and writes the record.
///
/// # Errors
/// If a program cannot be had, a run fails, or a result is wrong.
pub(crate) fn run(options: &Options) -> Result<()> {
    options.cache.check(Some(options.on))?;
    debian::ensure(&[("find", "findutils"), ("fdfind", "fd-find")])?;
    let keys = Medium::Tmpfs.scratch()?;
    let peers = Peers::prepare(if options.copies { Choice::Core } else { Choice::None }, keys.path())?;
    let mut versions = peers.versions.clone();
    for program in ["find", "fdfind"] {
        let text = Program::new(program).arg("--version").output()?;
        versions.insert(program.to_owned(), text.lines().next().unwrap_or_default().to_owned());
    }
    let mut record = Record::begin("listing", versions);
    for shape in
        Shape::ALL.into_iter().filter(|shape| options.trees.is_empty() || options.trees.contains(shape))
    {
        for variants in [Some(listings()), options.copies.then(copies)].into_iter().flatten() {
            let contest = Contest {
                row: shape.name(),
                bytes: 0,
                medium: options.on,
                cache: options.cache,
                rounds: options.rounds,
                variants,
            };
            let cells = contest.hold(&peers, |folder| shape.plant(folder))?;
            print!("{}", table::of_row(&cells));
            record.extend(cells);
            record.write(options.out.as_deref())?;
        }
    }
    Ok(())
}

/// What only lists. The yardstick reads names and attributes, as a run of this project must.
fn listings() -> Vec<Variant> {
    vec![
        each_round("find, attributes", Input::Plain, Check::Files, |_, source, _| {
            Program::new("find").arg(source).args(["-type", "f", "-empty"])
        }),
        each_round("find, names", Input::Plain, Check::Items, |_, source, _| {
            Program::new("find").arg(source).args(["-mindepth", "1"])
        }),
        each_round("fd, attributes", Input::Plain, Check::Files, |_, source, _| {
            Program::new("fdfind").args(["-u", "--type", "f", "--size=-1b", "."]).arg(source)
        }),
        each_round("fd, names", Input::Plain, Check::Items, |_, source, _| {
            Program::new("fdfind").args(["-u", "."]).arg(source)
        }),
        each_round("cipherloom plan", Input::Plain, Check::Plan, |peers, source, _| {
            Program::new(&peers.cipherloom).args(["plan", "--json"]).arg(source)
        }),
    ]
}

/// Whole runs.
fn copies() -> Vec<Variant> {
    let wanted = ["floor, 2 threads", "tink encrypt, 2 threads"];
    let own = variants::all(Choice::None).into_iter().filter(|variant| wanted.contains(&variant.name));
    [variants::COPY, variants::CPZ].into_iter().chain(own).collect()
}
