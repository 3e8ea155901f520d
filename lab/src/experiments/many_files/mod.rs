//! many-files: every file of one folder encrypted into another with AES-128-CBC.
//!
//! Published: an OpenMP program with a buffer as large as each file, whose runs now and then took 4 to 14 seconds instead
//! of 0.1; then a pthread program with a fixed buffer of 1024 bytes, faster, and without such delays. Left open: which of
//! the two changes did it? Here the C program has every choice as an option (`peers/many_files.c`), and stands beside
//! the product's pipeline and beside the same pipeline without a cipher.
//!
//! ```text
//! grid         published figures' axes: files x bytes x threads, for four programs
//! factorial    every level of every factor with every other, at one shape
//! buffer-size  1 KB to 4 MB
//! tail         uneven files: striding or a queue, parking or spinning, with too many threads
//! conditions   the hunt for the anomalous delays: disk, dirty pages, memory limit, busy processors
//! ```

mod answers;
mod conditions;
mod contestants;
mod effects;
mod setting;
mod trees;

pub use setting::Setting;

use super::{Context, Experiment, Findings, Published};
use crate::external::{Source, version};
use crate::measure::Contest;
use std::path::PathBuf;
use trees::Tree;

/// The experiment.
#[derive(Debug)]
pub struct ManyFiles;

/// The C program with every factor.
pub const PROGRAM: Source = Source {
    name: "many_files",
    text: include_str!("../../../../peers/many_files.c"),
    flags: &["-fopenmp", "-lcrypto", "-lpthread"],
    packages: "gcc and libssl-dev",
};

impl Experiment for ManyFiles {
    fn name(&self) -> &'static str {
        "many-files"
    }

    fn question(&self) -> &'static str {
        "Was it pthread instead of OpenMP, or no allocation per file, that cured the delays of seconds and gave the speed?"
    }

    fn published(&self) -> Option<Published> {
        Some(Published {
            file: "many_files.csv",
            origin: "AES-128-CBC over the files of a folder: OpenMP with a buffer per file, then pthread with a fixed buffer",
            csv: include_str!("../../../published/many_files.csv"),
        })
    }

    fn run(&self, context: &mut Context) -> anyhow::Result<Findings> {
        let mut findings = Findings::default();
        let program = match PROGRAM.compile("cc", &context.scratch) {
            Ok(program) => Some(program),
            Err(reason) => {
                let words = format!("without the published programs and every factor: {reason}");
                context.progress.note(&words);
                findings.notes.push(words);
                None
            }
        };
        findings.versions.extend(version("openssl", "version").map(|words| ("openssl".to_owned(), words)));
        findings.versions.extend(version("cc", "--version").map(|words| ("cc".to_owned(), words)));
        let parts = Parts { program };
        parts.grid(context, &mut findings)?;
        parts.factorial(context, &mut findings)?;
        parts.buffer_sizes(context, &mut findings)?;
        parts.tail(context, &mut findings)?;
        conditions::run(&parts, context, &mut findings)?;
        answers::add(&mut findings);
        Ok(findings)
    }
}

/// The parts of the experiment, with the C program if it could be built.
struct Parts {
    program: Option<PathBuf>,
}

impl Parts {
    /// The published tables' axes.
    fn grid(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let shapes: &[(usize, usize)] = context.by_extent(
            &[(100, 128), (100, 4 << 10), (100, 64 << 10), (10, 1 << 20)],
            &[
                (10, 128),
                (10, 8 << 10),
                (10, 64 << 10),
                (10, 512 << 10),
                (10, 4 << 20),
                (100, 128),
                (100, 1 << 10),
                (100, 8 << 10),
                (100, 64 << 10),
                (100, 512 << 10),
                (100, 4 << 20),
            ],
        );
        let threads: &[usize] = context.by_extent(&[1, 2, 10], &[1, 2, 4, 10, 20, 100]);
        for &(count, bytes) in shapes {
            let tree = Tree::even(&context.scratch, count, bytes)?;
            let rounds = context.by_extent(3, if count * bytes > 64 << 20 { 5 } else { 20 });
            let mut entrants = Vec::new();
            for &threads in threads.iter().filter(|&&threads| threads <= count) {
                for (name, setting) in [("published", Setting::PUBLISHED), ("openmp-malloc", Setting::OLDER)]
                {
                    entrants.extend(self.c_program(name, &tree, setting.with_threads(threads), "grid")?);
                }
                entrants.push(contestants::product(&tree, threads, "grid")?);
                entrants.push(contestants::floor(&tree, threads, "grid")?);
            }
            let what = format!("{count} files of {bytes} bytes: published programs and the product");
            context.hold(Contest { warm_ups: 1, rounds, seed: context.seed }, &what, entrants, findings);
        }
        Ok(())
    }

    /// Every level of every factor with every other.
    fn factorial(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let tree = Tree::even(&context.scratch, context.by_extent(20, 40), 256 << 10)?;
        let appearances: &[&'static str] = context.by_extent(&["inplace"], &["inplace", "rename", "unnamed"]);
        for threads in [2, 20] {
            let mut entrants = Vec::new();
            let orders: &[&'static str] = if threads == 2 {
                &["strided", "queue"]
            } else {
                context.by_extent(&["strided"], &["strided", "queue"])
            };
            for setting in Setting::all(orders, appearances) {
                entrants.extend(self.c_program(
                    "factorial",
                    &tree,
                    setting.with_threads(threads),
                    "factorial",
                )?);
            }
            let what = format!("every factor with every other, {threads} threads");
            let rounds = context.by_extent(if threads == 2 { 4 } else { 3 }, 8);
            context.hold(Contest { warm_ups: 1, rounds, seed: context.seed }, &what, entrants, findings);
        }
        if appearances.len() == 1 {
            let entrants = ["inplace", "rename", "unnamed"].map(|appear| {
                self.c_program(
                    "appearance",
                    &tree,
                    Setting { appear, ..Setting::PUBLISHED }.with_threads(2),
                    "appearance",
                )
            });
            let entrants = entrants.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
            let contest = Contest { warm_ups: 1, rounds: 15, seed: context.seed };
            let entrants = entrants.into_iter().flatten().collect();
            context.hold(contest, "how an output gets its name", entrants, findings);
        }
        Ok(())
    }

    /// 1 KB to 4 MB.
    fn buffer_sizes(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let tree =
            Tree::even(&context.scratch, context.by_extent(8, 16), context.by_extent(1 << 20, 4 << 20))?;
        let mut entrants = Vec::new();
        for shift in (10..=22).step_by(2) {
            let setting = Setting { buffer: "fixed", size: 1 << shift, ..Setting::PUBLISHED };
            entrants.extend(self.c_program("buffer-size", &tree, setting.with_threads(2), "buffer-size")?);
        }
        entrants.push(contestants::product(&tree, 2, "buffer-size")?);
        let contest = Contest { warm_ups: 1, rounds: context.by_extent(5, 15), seed: context.seed };
        context.hold(contest, "buffers of 1 KB to 4 MB", entrants, findings);
        Ok(())
    }

    /// Uneven files, and more threads than processors.
    fn tail(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let tree = Tree::uneven(&context.scratch, 60)?;
        let threads: &[usize] = context.by_extent(&[2, 20], &[2, 4, 10, 20, 50]);
        let mut entrants = Vec::new();
        for &threads in threads {
            for order in ["strided", "queue"] {
                for wait in ["park", "spin"] {
                    let setting =
                        Setting { runtime: "pool", order, wait, size: 64 << 10, ..Setting::PUBLISHED };
                    entrants.extend(self.c_program("tail", &tree, setting.with_threads(threads), "tail")?);
                }
            }
            entrants.push(contestants::product(&tree, threads, "tail")?);
        }
        let contest = Contest { warm_ups: 1, rounds: context.by_extent(6, 60), seed: context.seed };
        context.hold(contest, "uneven files: order and waiting", entrants, findings);
        Ok(())
    }
}
