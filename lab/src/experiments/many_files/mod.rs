//! many-files: every file of one folder encrypted into another with AES-128-CBC.
//!
//! Published: an OpenMP program with a buffer as large as each file, whose runs now and then took 4 to 14 seconds instead
//! of 0.1; then a pthread program with a fixed buffer of 1024 bytes, faster, and without such delays. Left open: which of
//! the two changes did it? Here the C program has every choice as an option (`lab/peers/many_files.c`), and stands beside
//! the product's pipeline and beside the same pipeline without a cipher.
//!
//! ```text
//! grid         published figures' axes: files x bytes x threads, for four programs
//! factorial    every level of every factor with every other, at one shape
//! buffer-size  1 KB to 4 MB
//! decryption   one shape and number of threads in both directions: decrypting is folded into the rest
//! tail         uneven files: striding or a queue, parking or spinning, with too many threads
//! environment  allocator, compiler, number of processors: what is around the program, with both published forms
//! conditions   the hunt for the anomalous delays: disk, dirty pages, memory limit, busy processors
//! ```

mod answers;
mod conditions;
mod contestants;
mod decryption;
mod delays;
mod effects;
mod environment;
mod setting;
mod step;
mod trees;

pub use setting::Setting;

use super::{Context, Experiment, Findings, Published};
use crate::external::{Source, version};
use crate::measure::Contest;
use std::path::PathBuf;
use trees::Tree;

/// The C program with every factor.
pub const PROGRAM: Source = Source {
    name: "many_files",
    text: include_str!("../../../peers/many_files.c"),
    headers: &[("many_files_file.h", include_str!("../../../peers/many_files_file.h"))],
    flags: &["-fopenmp", "-lcrypto", "-lpthread"],
    packages: "gcc and libssl-dev",
};

/// The experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "many-files",
    question: "Was it pthread instead of OpenMP, or no allocation per file, that cured the delays of seconds and gave the speed?",
    published: &[Published {
        file: "many_files.csv",
        origin: "AES-128-CBC over the files of a folder: OpenMP with a buffer per file, then pthread with a fixed buffer",
        csv: include_str!("../../../published/many_files.csv"),
    }],
    is_ours: |_| true,
    run,
    answer: answers::of,
};

fn run(context: &mut Context) -> anyhow::Result<Findings> {
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
    decryption::run(&parts, context, &mut findings)?;
    parts.tail(context, &mut findings)?;
    environment::run(&parts, context, &mut findings)?;
    conditions::run(&parts, context, &mut findings)?;
    Ok(findings)
}

/// The parts of the experiment, with the C program if it could be built.
struct Parts {
    program: Option<PathBuf>,
}

impl Parts {
    /// The published tables' axes: 16 sizes, 10 and 100 files. The published forms run with every published number of threads;
    /// the product and the copy with few, since more threads than processors gain them nothing.
    fn grid(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let quick = [(100, 128), (100, 4 << 10), (100, 64 << 10), (10, 1 << 20)];
        let full = (7..=22).flat_map(|power| [(10, 1_usize << power), (100, 1 << power)]).collect();
        let shapes: Vec<(usize, usize)> = context.by_extent(quick.to_vec(), full);
        let threads: &[usize] = context.by_extent(&[1, 2, 10], &[1, 2, 4, 10, 20, 50, 100]);
        for (count, bytes) in shapes {
            let tree = Tree::even(&context.scratch, count, bytes)?;
            // At least eight, so that intervals are of 95%.
            let rounds = context.by_extent(3, if count * bytes > 64 << 20 { 8 } else { 20 });
            let mut entrants = Vec::new();
            for &threads in threads.iter().filter(|&&threads| threads <= count) {
                for (name, setting) in [("published", Setting::PUBLISHED), ("openmp-malloc", Setting::OLDER)]
                {
                    entrants.extend(self.c_program(name, &tree, setting.with_threads(threads), "grid")?);
                }
                if threads <= 4 || threads == 10 {
                    entrants.push(contestants::product(&tree, threads, "grid")?);
                    entrants.push(contestants::floor(&tree, threads, "grid")?);
                }
            }
            let what = format!("{count} files of {bytes} bytes: published programs and the product");
            context.hold(Contest { warm_ups: 1, rounds, seed: context.seed }, &what, entrants, findings);
        }
        Ok(())
    }

    /// Every level of every factor with every other.
    fn factorial(&self, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
        let tree = Tree::even(&context.scratch, context.by_extent(12, 40), 256 << 10)?;
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
