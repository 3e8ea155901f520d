//! A contest: every variant over one tree, in rounds, and each variant's first result checked.

use super::check;
use super::goals;
use super::measure::{self, Sample};
use super::peers::{Choice, Peers};
use super::record::Cell;
use super::trees::Medium;
use super::variants::{self, Input, Variant};
use anyhow::{Context, Result, ensure};
use cipherloom_peers::Program;
use std::path::{Path, PathBuf};

/// Whether the files are in memory when a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Cache {
    Warm,
    /// Before each run, all is written to the disk and the kernel drops its caches; needs root
    Cold,
}

impl Cache {
    /// Fails for a cold cache where there is none.
    pub(crate) fn check(self, on: Option<Medium>) -> Result<()> {
        ensure!(self == Cache::Warm || on != Some(Medium::Tmpfs), "files on tmpfs are always in memory");
        Ok(())
    }

    pub(crate) fn is_of(self, medium: Medium) -> bool {
        self == Cache::Warm || medium == Medium::Disk
    }

    /// What earlier runs left to write would otherwise be written during the next one.
    pub(crate) fn prepare(self, medium: Medium) -> Result<()> {
        if medium == Medium::Disk {
            Program::new("sync").output()?;
        }
        if self == Cache::Cold {
            std::fs::write("/proc/sys/vm/drop_caches", "3").context("cannot drop the kernel's caches")?;
        }
        Ok(())
    }
}

pub(crate) struct Contest {
    pub(crate) row: &'static str,
    /// Of all files.
    pub(crate) bytes: u64,
    pub(crate) medium: Medium,
    pub(crate) cache: Cache,
    pub(crate) rounds: usize,
    /// The yardstick is the first.
    pub(crate) variants: Vec<Variant>,
}

impl Contest {
    /// Measures over the tree that `plant` writes.
    ///
    /// # Errors
    /// If a run fails, or a result is wrong.
    pub(crate) fn hold(&self, peers: &Peers, plant: impl FnOnce(&Path) -> Result<()>) -> Result<Vec<Cell>> {
        let scratch = self.medium.scratch()?;
        let inputs = Inputs(scratch.path().to_owned());
        plant(&inputs.folder(Input::Plain))?;
        inputs.prepare(peers, &self.variants)?;
        let mut samples: Vec<Vec<(usize, Sample)>> = self.variants.iter().map(|_| Vec::new()).collect();
        let target = scratch.path().join("target");
        for (round, index) in measure::turns(self.variants.len(), self.rounds) {
            let variant = &self.variants[index];
            if is_enough(variant, &samples[index]) {
                continue;
            }
            make_parent(variant, &target)?;
            let source = inputs.folder(variant.input);
            self.cache.prepare(self.medium)?;
            let sample = measure::run(&variant.program(peers, &source, &target))?;
            if samples[index].is_empty() {
                check::check(variant, peers, &inputs.folder(Input::Plain), &target, scratch.path())?;
            }
            samples[index].push((round, sample));
            if target.exists() {
                std::fs::remove_dir_all(&target)
                    .with_context(|| format!("cannot remove {}", target.display()))?;
            }
        }
        Ok(self.cells(&samples))
    }

    /// What these runs, each with its round, come to.
    pub(crate) fn cells(&self, samples: &[Vec<(usize, Sample)>]) -> Vec<Cell> {
        let yardsticks = &samples[0];
        let cell = |(variant, samples): (&Variant, &Vec<(usize, Sample)>)| {
            let ratios = samples.iter().map(|(round, sample)| sample.wall / yardsticks[*round].1.wall);
            Some(Cell {
                medium: self.medium.name(),
                cache: if self.cache == Cache::Cold { "cold" } else { "warm" },
                row: self.row,
                bytes: self.bytes,
                variant: variant.name,
                ratio: measure::spread(ratios)?,
                goal: goals::of(self.medium, self.row, variant.name),
                wall: measure::spread(samples.iter().map(|(_, sample)| sample.wall))?,
                processor: measure::spread(samples.iter().map(|(_, sample)| sample.processor))?,
                samples: samples.iter().map(|(_, sample)| *sample).collect(),
            })
        };
        self.variants.iter().zip(samples).filter_map(cell).collect()
    }
}

/// A peer that takes a minute for a tree (one process for each file) has said enough after its first run.
fn is_enough(variant: &Variant, samples: &[(usize, Sample)]) -> bool {
    const BUDGET: f64 = 20.0;
    let spent: f64 = samples.iter().map(|(_, sample)| sample.wall).sum();
    samples.len() >= variant.most_rounds || (variant.most_rounds < usize::MAX && spent > BUDGET)
}

/// 7-Zip writes one archive, for which the folder must be there; all others make their own.
fn make_parent(variant: &Variant, target: &Path) -> Result<()> {
    if variant.name.starts_with("7-Zip") {
        std::fs::create_dir_all(target).with_context(|| format!("cannot create {}", target.display()))?;
    }
    Ok(())
}

/// The folders that variants read, in a scratch folder.
struct Inputs(PathBuf);

impl Inputs {
    /// Makes what these variants read besides the plain files.
    fn prepare(&self, peers: &Peers, variants: &[Variant]) -> Result<()> {
        for (input, maker) in [
            (Input::Tink, "tink encrypt, 2 threads"),
            (Input::Cbc, "raw cbc encrypt, 2 threads"),
            (Input::Age, "age encrypt, 2 threads"),
        ] {
            if variants.iter().any(|variant| variant.input == input) {
                let all = variants::all(Choice::None);
                let maker =
                    all.iter().find(|variant| variant.name == maker).context("no maker of this input")?;
                maker.program(peers, &self.folder(Input::Plain), &self.folder(input)).output()?;
            }
        }
        // What is still to be written would disturb the first rounds.
        Program::new("sync").output()?;
        Ok(())
    }

    fn folder(&self, input: Input) -> PathBuf {
        self.0.join(match input {
            Input::Plain => "plain",
            Input::Tink => "tink",
            Input::Cbc => "cbc",
            Input::Age => "age",
        })
    }
}
