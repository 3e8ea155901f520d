//! The trees that are measured: made anew for each run of the bench, the same bytes every time.

use anyhow::{Context, Result};
use cipherloom_lab::measure::Random;
use cipherloom_lab::scratch;
use cipherloom_peers::place;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// One row of the table: so many files of one size in one folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    /// How many rounds are run unless told otherwise.
    pub(crate) rounds: usize,
}

/// Published, and later, programs were measured with these.
pub(crate) const ROWS: [Row; 6] = [
    Row { name: "100x128B", files: 100, bytes: 128, rounds: 31 },
    Row { name: "100x4K", files: 100, bytes: 4 << 10, rounds: 31 },
    Row { name: "10000x4K", files: 10_000, bytes: 4 << 10, rounds: 15 },
    Row { name: "100x256K", files: 100, bytes: 256 << 10, rounds: 21 },
    Row { name: "100x4M", files: 100, bytes: 4 << 20, rounds: 11 },
    Row { name: "1x2G", files: 1, bytes: 2 << 30, rounds: 5 },
];

/// The row of the tail's bench.
pub(crate) const TAIL: Row = Row { name: "100x1M", files: 100, bytes: 1 << 20, rounds: 500 };

/// Where outputs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Medium {
    /// /dev/shm
    Tmpfs,
    /// A folder of the build folder
    Disk,
}

impl Medium {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Medium::Tmpfs => "tmpfs",
            Medium::Disk => "disk",
        }
    }

    /// A folder there, which is removed with all it holds when it is dropped.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn scratch(self) -> Result<TempDir> {
        let parent = match self {
            Medium::Tmpfs => PathBuf::from("/dev/shm"),
            Medium::Disk => place::make_folder("bench")?,
        };
        scratch::folder(Some(&parent))
    }
}

impl Row {
    /// Writes the row's files into `folder`, which is made.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn plant(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        for number in 0..self.files {
            let path = folder.join(format!("file-{number:05}"));
            write(&path, self.bytes, number as u64)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    pub(crate) fn total(&self) -> u64 {
        self.files as u64 * self.bytes
    }
}

/// Writes `bytes` that do not compress.
fn write(path: &Path, bytes: u64, seed: u64) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    let mut buffer = vec![0_u8; 1 << 20];
    let mut random = random(seed);
    let mut left = bytes;
    while left > 0 {
        random.fill(&mut buffer);
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        file.write_all(&buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// Numbers that do not compress, the same for each seed.
pub(crate) fn random(seed: u64) -> Random {
    Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
}
