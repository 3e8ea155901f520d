//! `cipherloom-lab run`: runs experiments, writes a record of each, and says what they answer.

use crate::experiments::{ALL, Context, Drawings, Experiment, Published, by_name};
use crate::measure::{Build, LoadWatch, Machine, now};
use crate::output::print;
use crate::progress::Progress;
use crate::record::{Excluded, Extent, Record, SCHEMA};
use crate::scratch;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What to run, and how.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Experiments by name (see `list`), or `all`
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    /// Few sizes and rounds: about half a minute each (this is what runs if neither is named)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Every size, and rounds enough for the tail: minutes each
    #[arg(long)]
    full: bool,
    /// The folder that the records go to
    #[arg(long, value_name = "FOLDER", default_value = "records")]
    out: PathBuf,
    /// The seed of orders and inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A file of your own to encrypt beside the built-in inputs (s-des)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Also draw a solved maze to this file (maze)
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Also draw how a maze grows and is solved, as an animated PNG (maze)
    #[arg(long, value_name = "FILE")]
    apng: Option<PathBuf>,
    /// Also draw how a maze grows and is solved, as a GIF (maze)
    #[arg(long, value_name = "FILE")]
    gif: Option<PathBuf>,
    /// Cells along a side of the maze that is drawn, odd
    #[arg(long, value_name = "NUMBER", default_value_t = 129, value_parser = drawn_side)]
    cells: u32,
    /// Sizes to run instead of the usual ones, in cells along a side, odd and rising (maze)
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',', value_parser = measured_side)]
    sides: Vec<u32>,
    /// The folder for files that are measured; in memory if left out and the system has such a place
    #[arg(long, value_name = "FOLDER")]
    scratch: Option<PathBuf>,
}

/// Runs what is asked for; one experiment that fails does not stop the others.
///
/// # Errors
/// If a name is unknown, or an experiment failed or found our own code wrong (after all have had their turn).
pub fn run(options: &Options) -> anyhow::Result<()> {
    let chosen = choose(&options.names)?;
    let extent = if options.full { Extent::Full } else { Extent::Quick };
    if cfg!(debug_assertions) {
        eprintln!("cipherloom-lab: warning: a debug build; its times are worth nothing (use --release)");
    }
    let mut failed = Vec::new();
    for experiment in chosen {
        match run_one(experiment, extent, options) {
            Ok((record, path)) => {
                if let Err(error) = print(&words(&record, &path)) {
                    eprintln!("cipherloom-lab: {error:#}");
                    failed.push(experiment.name);
                }
                let wrong = |out: &&Excluded| out.was_wrong && (experiment.is_ours)(&out.variant);
                for out in record.excluded.iter().filter(wrong) {
                    eprintln!(
                        "cipherloom-lab: {}: {} gave a wrong result: {}",
                        experiment.name, out.variant, out.reason
                    );
                }
                if record.excluded.iter().any(|out| wrong(&out)) {
                    failed.push(experiment.name);
                }
            }
            Err(error) => {
                eprintln!("cipherloom-lab: {}: {error:#}", experiment.name);
                failed.push(experiment.name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("{} failed; every record that could be made is written", failed.join(", "));
    }
    Ok(())
}

fn drawn_side(text: &str) -> Result<u32, String> {
    odd_side(text, 5, 1025)
}

/// A life of fewer cells is too short to be cut into parts.
fn measured_side(text: &str) -> Result<u32, String> {
    odd_side(text, 33, 16_385)
}

fn odd_side(text: &str, least: u32, most: u32) -> Result<u32, String> {
    match text.parse() {
        Ok(side) if side % 2 == 1 && (least..=most).contains(&side) => Ok(side),
        _ => Err(format!("an odd number from {least} to {most}")),
    }
}

fn choose(names: &[String]) -> anyhow::Result<Vec<Experiment>> {
    if names.iter().any(|name| name == "all") {
        return Ok(ALL.to_vec());
    }
    let find = |name: &String| {
        let known = || ALL.map(|experiment| experiment.name).join(", ");
        by_name(name)
            .with_context(|| format!("there is no experiment `{name}`; there are {} and all", known()))
    };
    names.iter().map(find).collect()
}

fn run_one(experiment: Experiment, extent: Extent, options: &Options) -> anyhow::Result<(Record, PathBuf)> {
    let scratch = scratch::folder(options.scratch.as_deref())?;
    let mut context = Context {
        extent,
        seed: options.seed,
        scratch: scratch.path().to_owned(),
        input: options.input.clone(),
        sides: options.sides.clone(),
        drawings: Drawings {
            png: options.png.clone(),
            apng: options.apng.clone(),
            gif: options.gif.clone(),
            cells: options.cells,
        },
        progress: Progress::new(experiment.name),
    };
    let (machine, mut build) = (Machine::read(), Build::read());
    let (started, start, watch) = (now(), Instant::now(), LoadWatch::start());
    let findings = (experiment.run)(&mut context)?;
    let answered = (experiment.answer)(&findings);
    let (load, seconds) = (watch.stop(), start.elapsed().as_secs_f64());
    build.versions.extend(findings.versions);
    let record = Record {
        schema: SCHEMA,
        experiment: experiment.name.to_owned(),
        question: experiment.question.to_owned(),
        extent,
        seed: options.seed,
        started,
        seconds,
        machine,
        build,
        load,
        parameters: findings.parameters,
        series: findings.series,
        excluded: findings.excluded,
        notes: findings.notes,
        answers: answered.answers,
        tables: answered.tables,
        pictures: findings.pictures,
        published: Published::origin(experiment.published),
    };
    let path = record.write(&options.out)?;
    Ok((record, path))
}

/// What a person wants to know of a record.
fn words(record: &Record, path: &Path) -> String {
    let mut text = format!(
        "\n{}: {} series in {:.0} s; {}\n",
        record.experiment,
        record.series.len(),
        record.seconds,
        record.load.words()
    );
    for table in &record.tables {
        text.push_str(&format!("\n{}", table.text()));
    }
    text.push('\n');
    for answer in &record.answers {
        text.push_str(&format!("  {}\n    {}\n", answer.question, answer.sentence));
    }
    for note in &record.notes {
        text.push_str(&format!("  note: {note}\n"));
    }
    text.push_str(&format!("  record: {}\n", path.display()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_experiment_names_those_there_are() {
        let error = choose(&["no-such".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("`no-such`") && error.contains("all"), "{error}");
    }
}
