//! The experiments by name. To add one: a folder or file here, an [`Experiment`], a line in [`ALL`].

pub mod aes_instructions;
pub mod comba;
pub mod ctr_workers;
pub mod many_files;
pub mod maze;
pub mod sdes;

use crate::measure::{Contest, Entrant};
use crate::progress::Progress;
use crate::record::{
    Answer, Excluded, Extent, Factors, Level, Picture, PublishedOrigin, Record, Series, Table,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Every experiment, in the order in which `all` runs them.
pub const ALL: [Experiment; 6] = [
    many_files::EXPERIMENT,
    ctr_workers::EXPERIMENT,
    aes_instructions::EXPERIMENT,
    maze::EXPERIMENT,
    sdes::EXPERIMENT,
    comba::EXPERIMENT,
];

/// A published experiment that can be run again.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line and in records.
    pub name: &'static str,
    /// What it asks, in a sentence.
    pub question: &'static str,
    /// The figures that stand beside its own.
    pub published: &'static [Published],
    /// Whether this variant is this project's own code: if its result is wrong, the run has failed. A wrong result of others is
    /// a finding.
    pub is_ours: fn(&str) -> bool,
    /// Runs it. What cannot be had on this machine (a compiler, a library) is noted, and the rest goes on; it fails if nothing at
    /// all can be measured. About 30 seconds in the quick form, and a few minutes in the full one.
    pub run: fn(&mut Context) -> anyhow::Result<Findings>,
    /// Answers the open questions from what was found, in a run or in a record.
    pub answer: fn(&Findings) -> Answered,
}

/// What an experiment says of its findings: a function of them alone.
#[derive(Debug, Clone, Default)]
pub struct Answered {
    /// The open questions, answered.
    pub answers: Vec<Answer>,
    /// Figures side by side.
    pub tables: Vec<Table>,
}

/// Published figures, carried in the program.
#[derive(Debug, Clone, Copy)]
pub struct Published {
    /// The file's name under `lab/published/`.
    pub file: &'static str,
    /// The publication, as far as it is known.
    pub origin: &'static str,
    /// The figures.
    pub csv: &'static str,
}

impl Published {
    /// Where several files of one publication come from.
    #[must_use]
    pub fn origin(files: &[Published]) -> Option<PublishedOrigin> {
        let names: Vec<&str> = files.iter().map(|published| published.file).collect();
        let origin = files.first()?.origin.to_owned();
        Some(PublishedOrigin { file: names.join(", "), origin })
    }
}

/// Pictures that are asked for.
#[derive(Debug, Clone, Default)]
pub struct Drawings {
    /// Where a still one goes.
    pub png: Option<PathBuf>,
    /// Where a moving one goes, as PNG.
    pub apng: Option<PathBuf>,
    /// Where a moving one goes, as GIF.
    pub gif: Option<PathBuf>,
    /// How large what they show is, in cells along a side; odd.
    pub cells: u32,
}

/// What an experiment is given.
#[derive(Debug)]
pub struct Context {
    /// How much of it to run.
    pub extent: Extent,
    /// Of every order and every input.
    pub seed: u64,
    /// An empty folder, in memory where the system has one; removed afterwards.
    pub scratch: PathBuf,
    /// A file to encrypt beside the built-in inputs, for experiments that take one.
    pub input: Option<PathBuf>,
    /// Sizes that are asked for instead of the usual ones, by experiments that have such; usually none.
    pub sides: Vec<u32>,
    /// Pictures that are asked for beside the record, by experiments that draw.
    pub drawings: Drawings,
    /// Where to say how far it is.
    pub progress: Progress,
}

impl Context {
    /// A quick and silent one.
    #[cfg(test)]
    pub(crate) fn of_a_test() -> Context {
        Context {
            extent: Extent::Quick,
            seed: 1,
            scratch: std::env::temp_dir(),
            input: None,
            sides: Vec::new(),
            drawings: Drawings::default(),
            progress: Progress::silent(),
        }
    }

    /// One of two values, by the extent.
    pub fn by_extent<T>(&self, quick: T, full: T) -> T {
        if self.extent == Extent::Quick { quick } else { full }
    }

    /// Holds a contest, shows its progress, and adds what came out to `findings`.
    pub fn hold(
        &mut self,
        contest: Contest,
        what: &str,
        entrants: Vec<Entrant<'_>>,
        findings: &mut Findings,
    ) {
        self.progress.say(what);
        self.progress.expect(entrants.len() * contest.rounds);
        let outcome = contest.hold(entrants, || self.progress.tick());
        for out in &outcome.excluded {
            let words = if out.was_wrong { "gave a wrong result" } else { "could not run" };
            self.progress.note(&format!("{} {words} and is not timed: {}", out.variant, out.reason));
        }
        let number = findings.contests();
        findings.series.extend(outcome.series.into_iter().map(|mut series| {
            series.contest = Some(number);
            series
        }));
        findings.excluded.extend(outcome.excluded);
    }
}

/// What an experiment found.
#[derive(Debug, Default)]
pub struct Findings {
    /// What was chosen.
    pub parameters: BTreeMap<String, Level>,
    /// What was timed.
    pub series: Vec<Series>,
    /// What was not.
    pub excluded: Vec<Excluded>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Tables of what was found and is no series; further ones are made of the series ([`Answered`]).
    pub tables: Vec<Table>,
    /// Pictures.
    pub pictures: Vec<Picture>,
    /// Versions of programs and libraries that are not in `Cargo.lock`.
    pub versions: BTreeMap<String, String>,
}

impl Findings {
    /// Those that a record holds.
    #[must_use]
    pub fn of_record(record: &Record) -> Findings {
        Findings {
            parameters: record.parameters.clone(),
            series: record.series.clone(),
            excluded: record.excluded.clone(),
            notes: record.notes.clone(),
            tables: record.tables.clone(),
            pictures: Vec::new(),
            versions: record.build.versions.clone(),
        }
    }

    /// How many contests were held.
    fn contests(&self) -> usize {
        self.series.iter().filter_map(|series| series.contest).max().map_or(0, |last| last + 1)
    }

    /// The first series of this variant whose factors include these.
    #[must_use]
    pub fn find(&self, variant: &str, factors: &[(&str, Level)]) -> Option<&Series> {
        self.series.iter().find(|series| {
            series.variant == variant
                && factors.iter().all(|(name, level)| series.factor(name) == Some(level))
        })
    }
}

/// Gives a record the answers and tables that this program makes of its figures.
pub fn answer_again(record: &mut Record) {
    if let Some(experiment) = by_name(&record.experiment) {
        let Answered { answers, tables } = (experiment.answer)(&Findings::of_record(record));
        (record.answers, record.tables) = (answers, tables);
    }
}

/// Factors from pairs of name and level.
#[must_use]
pub fn factors<const N: usize>(pairs: [(&str, Level); N]) -> Factors {
    pairs.into_iter().map(|(name, level)| (name.to_owned(), level)).collect()
}

/// The experiment of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<Experiment> {
    ALL.into_iter().find(|experiment| experiment.name == name)
}

/// Bytes as a person reads them: 512 B, 64 KB, 4 MB (of 1024 each).
#[must_use]
pub fn size_words(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes >> 10),
        _ => format!("{} MB", bytes >> 20),
    }
}

/// The geometric mean; 1 of nothing.
#[must_use]
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value.ln(), count + 1));
    if count == 0 { 1.0 } else { (sum / f64::from(count)).exp() }
}
