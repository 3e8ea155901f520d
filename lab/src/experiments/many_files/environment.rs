//! What is around the published programs: the allocator, the compiler, and the number of processors. Each is changed alone, for
//! both published forms at 2 and 20 threads: a fraction of the design, since nothing says that these factors act together.

use super::contestants::c_command;
use super::effects::main_effect;
use super::trees::Tree;
use super::{PROGRAM, Parts, Setting};
use crate::experiments::{Context, Findings};
use crate::external::version;
use crate::measure::Contest;
use crate::record::{Answer, Effect, Level};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Allocators beside the C library's, by preload: name, and the file names under which Debian has them.
const ALLOCATORS: [(&str, &[&str]); 2] = [
    ("jemalloc", &["libjemalloc.so.2"]),
    ("mimalloc", &["libmimalloc.so.2.0", "libmimalloc.so.3.0", "libmimalloc.so.2"]),
];

/// The published environment, in the order of the factors.
const USUAL: [(&str, &str); 3] = [("allocator", "glibc"), ("compiler", "cc"), ("processors", "all")];

/// Each step away from it, in words.
const STEPS: [(&str, &str, &str); 4] = [
    ("allocator", "jemalloc", "jemalloc instead of glibc's allocator"),
    ("allocator", "mimalloc", "mimalloc instead of glibc's allocator"),
    ("compiler", "clang", "clang instead of the usual C compiler"),
    ("processors", "one", "one processor instead of all"),
];

/// A program to start instead of the usual one.
struct Environment {
    factor: &'static str,
    level: &'static str,
    start: Box<dyn Fn() -> Command>,
}

pub(super) fn run(parts: &Parts, context: &mut Context, findings: &mut Findings) -> anyhow::Result<()> {
    let Some(program) = &parts.program else { return Ok(()) };
    let environments = all(program, &context.scratch, findings);
    let tree = Tree::even(&context.scratch, context.by_extent(12, 40), 256 << 10)?;
    for threads in [2, 20] {
        let mut entrants = Vec::new();
        for form in [Setting::PUBLISHED, Setting::OLDER] {
            for environment in &environments {
                let (command, setting) = ((environment.start)(), form.with_threads(threads));
                let (mut entrant, _) = c_command(command, "environment", &tree, setting, "environment")?;
                for (factor, level) in USUAL {
                    let level = if factor == environment.factor { environment.level } else { level };
                    entrant.factors.insert(factor.to_owned(), Level::from(level));
                }
                entrants.push(entrant);
            }
        }
        let contest = Contest { warm_ups: 1, rounds: context.by_extent(3, 20), seed: context.seed };
        let what = format!("allocator, compiler, processors, {threads} threads");
        context.hold(contest, &what, entrants, findings);
    }
    Ok(())
}

/// The usual environment and every other that this machine has; what it lacks is noted.
fn all(program: &Path, scratch: &Path, findings: &mut Findings) -> Vec<Environment> {
    let usual = program.to_owned();
    let mut all = vec![Environment {
        factor: "",
        level: "",
        start: Box::new({
            let usual = usual.clone();
            move || Command::new(&usual)
        }),
    }];
    for (level, names) in ALLOCATORS {
        match library(names) {
            Some(library) => {
                let usual = usual.clone();
                let start = move || {
                    let mut command = Command::new(&usual);
                    command.env("LD_PRELOAD", &library);
                    command
                };
                all.push(Environment { factor: "allocator", level, start: Box::new(start) });
            }
            None => findings.notes.push(format!("without {level}: install Debian's package of {}", names[0])),
        }
    }
    let folder = scratch.join("clang");
    match PROGRAM.compile("clang", &folder) {
        Ok(program) => {
            findings.versions.extend(version("clang", "--version").map(|words| ("clang".to_owned(), words)));
            let start = move || Command::new(&program);
            all.push(Environment { factor: "compiler", level: "clang", start: Box::new(start) });
        }
        Err(reason) => findings.notes.push(format!("without clang: {reason}")),
    }
    if version("taskset", "--version").is_some() {
        let start = move || {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", "0"]).arg(&usual);
            command
        };
        all.push(Environment { factor: "processors", level: "one", start: Box::new(start) });
    } else {
        findings.notes.push("without one processor: install util-linux, which has taskset".to_owned());
    }
    all
}

fn library(names: &[&str]) -> Option<PathBuf> {
    let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
    let places = folders.iter().flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)));
    places.into_iter().find(|path| path.is_file())
}

/// What each step does, at 2 and at 20 threads.
pub(super) fn answer(findings: &Findings) -> Option<Answer> {
    let mut found = Vec::new();
    for threads in [2_u64, 20] {
        for (factor, level, words) in STEPS {
            let series = super::answers::part(findings, "environment")
                .filter(|series| super::answers::is(series, "threads", threads));
            let usual = USUAL.iter().find(|(name, _)| *name == factor).map_or("", |(_, level)| level);
            let effect = main_effect(series, factor, usual, level);
            found.extend(effect.map(|effect| (format!("{words}, {threads} threads"), effect)));
        }
    }
    let effects: Vec<Effect> =
        found.iter().map(|(words, effect)| Effect::new(words, effect.value, "times as long")).collect();
    let clauses: Vec<String> =
        effects.iter().map(|effect| format!("{} {}", effect.name, effect.value.words(2))).collect();
    let sentence = format!(
        "Geometric mean over both published forms, in times of the usual environment's time: {}. These are {} intervals, \
         not corrected for their number.",
        clauses.join("; "),
        clauses.len()
    );
    let question = "Do allocator, compiler or number of processors matter?";
    (!effects.is_empty()).then(|| Answer::measured(question, sentence, effects))
}
