//! The trees that are measured: made anew for each run of the bench, the same bytes every time.

use anyhow::{Context, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

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
}

/// A folder that is removed with all it holds when this value goes.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// # Errors
    /// If the folder cannot be made.
    pub(crate) fn new(medium: Medium, name: &str) -> Result<Scratch> {
        let parent = match medium {
            Medium::Tmpfs => PathBuf::from("/dev/shm"),
            Medium::Disk => crate::place::target().join("bench"),
        };
        let folder = parent.join(format!("cipherloom-bench-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Scratch(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("cannot remove {}: {error}", self.0.display());
        }
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
    let mut stirred = Stirred::new(seed);
    let mut left = bytes;
    while left > 0 {
        stirred.fill(&mut buffer);
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        file.write_all(&buffer[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// Numbers that do not compress and never repeat, the same for each seed: a counter stirred (SplitMix64).
pub(crate) struct Stirred(u64);

impl Stirred {
    pub(crate) fn new(seed: u64) -> Stirred {
        Stirred(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut stirred = self.0;
        stirred = (stirred ^ (stirred >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        stirred = (stirred ^ (stirred >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        stirred ^ (stirred >> 31)
    }

    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        for word in buffer.chunks_mut(8) {
            word.copy_from_slice(&self.next().to_le_bytes()[..word.len()]);
        }
    }
}
