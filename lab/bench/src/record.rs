//! No number without its machine: what a bench found, with processor, kernel, compiler and commit, as JSON.

use super::measure::{Sample, Spread};
use anyhow::{Context, Result};
use cipherloom_lab::measure::{self, load_average, now};
use cipherloom_lab::record::file_name_of;
use cipherloom_peers::{Program, place};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// One bench, whose results are of type `T`.
#[derive(Serialize)]
pub(crate) struct Record<T> {
    /// Which bench; a part of the file's name where it is not the table.
    pub(crate) bench: &'static str,
    pub(crate) machine: Machine,
    pub(crate) build: Build,
    pub(crate) peers: BTreeMap<String, String>,
    /// One, five and fifteen minutes, before the first and after the last run.
    pub(crate) load_before: String,
    pub(crate) load_after: String,
    pub(crate) results: Vec<T>,
}

/// The bench whose record bears no name but date and processor.
pub(crate) const TABLE: &str = "table";

/// One variant over one tree on one medium.
#[derive(Serialize)]
pub(crate) struct Cell {
    pub(crate) medium: &'static str,
    /// Whether the files were in memory.
    pub(crate) cache: &'static str,
    pub(crate) row: &'static str,
    pub(crate) bytes: u64,
    pub(crate) variant: &'static str,
    /// Wall time against the yardstick (`cp -r`, of listings `find`) in the same round.
    pub(crate) ratio: Spread,
    /// The most that the ratio should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<f64>,
    pub(crate) wall: Spread,
    pub(crate) processor: Spread,
    pub(crate) samples: Vec<Sample>,
}

/// What it ran on.
#[derive(Serialize)]
pub(crate) struct Machine {
    processor: String,
    cores: usize,
    flags: Vec<String>,
    memory_kilobytes: u64,
    kernel: String,
    disk: String,
}

/// What was run.
#[derive(Serialize)]
pub(crate) struct Build {
    compiler: String,
    commit: String,
    uncommitted_changes: bool,
    date: String,
}

impl Machine {
    fn read() -> Machine {
        let machine = measure::Machine::read();
        let mut flags = machine.flags;
        flags.extend(machine.is_virtual.then(|| "hypervisor".to_owned()));
        let disk = Program::new("stat").args(["-f", "-c", "%T"]).arg(place::target()).output();
        Machine {
            processor: machine.processor,
            cores: machine.cores,
            flags,
            memory_kilobytes: machine.memory_bytes >> 10,
            kernel: machine.kernel,
            disk: disk.map(|name| name.trim().to_owned()).unwrap_or_default(),
        }
    }
}

impl Build {
    fn read() -> Build {
        let measure::Build { compiler, commit, uncommitted_changes, .. } = measure::Build::read();
        Build { compiler, commit, uncommitted_changes, date: now() }
    }
}

impl<T: Serialize> Record<T> {
    /// A record without results yet, of this machine and this build.
    pub(crate) fn begin(bench: &'static str, peers: BTreeMap<String, String>) -> Record<T> {
        Record {
            bench,
            machine: Machine::read(),
            build: Build::read(),
            peers,
            load_before: load_average(),
            load_after: load_average(),
            results: Vec::new(),
        }
    }

    /// Adds results, and says so in the record.
    pub(crate) fn extend(&mut self, results: impl IntoIterator<Item = T>) {
        self.results.extend(results);
        self.load_after = load_average();
    }

    /// Writes the record to `path`, or to `benchmarks/records/<date>-<processor>[-<bench>].json`, and says so.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn write(&self, path: Option<&Path>) -> Result<()> {
        let path = path.map_or_else(|| self.usual_path(), Path::to_owned);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let text = serde_json::to_string_pretty(self).context("cannot write the record as JSON")?;
        fs::write(&path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
        println!("\n{}; record: {}", self.machine.processor, path.display());
        Ok(())
    }

    fn usual_path(&self) -> PathBuf {
        let date = self.build.date.split('T').next().unwrap_or_default();
        let bench = if self.bench == TABLE { String::new() } else { format!("-{}", self.bench) };
        let name = format!("{date}-{}{bench}.json", file_name_of(&self.machine.processor));
        place::root().join("benchmarks/records").join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_its_machine_and_lies_with_the_others() {
        let record: Record<u32> = Record::begin("lcp", BTreeMap::new());
        assert!(record.machine.cores >= 1 && !record.machine.kernel.is_empty());
        let path = record.usual_path();
        assert!(path.parent().unwrap().ends_with("benchmarks/records"), "{}", path.display());
        assert!(path.to_string_lossy().ends_with("-lcp.json"), "{}", path.display());
    }
}
