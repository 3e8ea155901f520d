//! No number without its machine: what a bench found, with processor, kernel, compiler and commit, as JSON.

use super::measure::{Sample, Spread};
use crate::chore::Program;
use crate::place;
use anyhow::{Context, Result};
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
    pub(crate) row: &'static str,
    pub(crate) bytes: u64,
    pub(crate) variant: &'static str,
    /// Wall time against `cp -r` in the same round.
    pub(crate) ratio: Spread,
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

/// Processor features that matter here.
const FLAGS: [&str; 10] =
    ["aes", "vaes", "pclmulqdq", "vpclmulqdq", "sse4_1", "ssse3", "avx2", "avx512f", "sha_ni", "hypervisor"];

impl Machine {
    fn read() -> Machine {
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = processor.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let flags: Vec<String> = field("flags").split(' ').map(String::from).collect();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = memory.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let folder = place::target();
        Machine {
            processor: field("model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            flags: flags.into_iter().filter(|flag| FLAGS.contains(&flag.as_str())).collect(),
            memory_kilobytes: total,
            kernel: said(Program::new("uname").args(["-s", "-r", "-m"])),
            disk: said(Program::new("stat").args(["-f", "-c", "%T"]).arg(folder)),
        }
    }
}

impl Build {
    fn read() -> Build {
        let git = |arguments: &[&str]| said(Program::new("git").folder(place::root()).args(arguments));
        Build {
            compiler: said(Program::new("rustc").folder(place::root()).arg("--version")),
            commit: git(&["rev-parse", "HEAD"]),
            uncommitted_changes: !git(&["status", "--porcelain"]).is_empty(),
            date: said(Program::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"])),
        }
    }
}

/// The system's load, as it says it.
fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

impl<T: Serialize> Record<T> {
    /// A record without results yet, of this machine and this build.
    pub(crate) fn begin(bench: &'static str, peers: BTreeMap<String, String>) -> Record<T> {
        Record {
            bench,
            machine: Machine::read(),
            build: Build::read(),
            peers,
            load_before: load(),
            load_after: load(),
            results: Vec::new(),
        }
    }

    /// Adds results, and says so in the record.
    pub(crate) fn extend(&mut self, results: impl IntoIterator<Item = T>) {
        self.results.extend(results);
        self.load_after = load();
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
        let name = format!("{date}-{}{bench}.json", simple(&self.machine.processor));
        place::root().join("benchmarks/records").join(name)
    }
}

/// A name for a file: small letters, digits and single hyphens.
fn simple(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// What a program says on its standard output; empty if it cannot (a record without git is still a record).
fn said(program: Program) -> String {
    program.output().map(|text| text.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processors_name_becomes_a_files_name() {
        assert_eq!(simple("AMD EPYC-Milan (R) @ 2.4GHz"), "amd-epyc-milan-r-2-4ghz");
    }

    #[test]
    fn the_machine_has_cores_and_a_kernel() {
        let machine = Machine::read();
        assert!(machine.cores >= 1 && !machine.kernel.is_empty());
    }
}
