//! `cipherloom-lab compare`: two records of one experiment: what changed in the machine, and in the times.

use crate::experiments::geometric_mean;
use crate::measure::{Interval, ratio_of_medians};
use crate::output;
use crate::record::{Record, Series, Table};
use anyhow::ensure;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Which records.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The earlier record, or that of the one machine
    #[arg(value_name = "A.json")]
    before: PathBuf,
    /// The later record, or that of the other
    #[arg(value_name = "B.json")]
    after: PathBuf,
    /// Show every series, not only those that changed
    #[arg(long)]
    all: bool,
}

/// A change of less than this is not worth a line, however certain.
const WORTH_TELLING: f64 = 0.05;

/// Lines of the table where not all are asked for.
const MOST_LINES: usize = 40;

/// Reads both and prints the comparison.
///
/// # Errors
/// If a record cannot be read, or they are of two experiments.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let (before, after) = (Record::read(&options.before)?, Record::read(&options.after)?);
    output::print(&text(&before, &after, options.all)?)
}

/// One series in both records.
struct Pair<'r> {
    before: &'r Series,
    after: &'r Series,
    wall: Interval,
    cpu: Interval,
}

impl Pair<'_> {
    fn is_changed(&self) -> bool {
        self.wall.excludes(1.0) && (self.wall.estimate - 1.0).abs() > WORTH_TELLING
    }
}

/// The comparison in words and a table.
///
/// # Errors
/// If the records are of two experiments.
pub fn text(before: &Record, after: &Record, all: bool) -> anyhow::Result<String> {
    ensure!(
        before.experiment == after.experiment,
        "A is a record of {} and B of {}: compare records of one experiment",
        before.experiment,
        after.experiment
    );
    let mut pairs = pairs(before, after);
    let mut text = format!("{}: A of {}, B of {}\n\n", before.experiment, before.started, after.started);
    describe(&mut text, "machine", &before.machine.differences(&after.machine));
    describe(&mut text, "program", &before.build.differences(&after.build));
    let _ = writeln!(text, "A: {}\nB: {}", before.load.words(), after.load.words());
    if before.extent != after.extent || before.parameters != after.parameters {
        text.push_str("what was run differs too (extent or parameters); only common series are compared\n");
    }
    if pairs.is_empty() {
        text.push_str("\nno series is in both\n");
        return Ok(text);
    }
    let count = |is: &dyn Fn(&Pair<'_>) -> bool| pairs.iter().filter(|pair| is(pair)).count();
    let _ = writeln!(
        text,
        "\n{} series in both: {} faster in B, {} slower, {} the same within {:.0}% or chance; {} only in A, {} only in B; \
         geometric mean of B/A {:.3}",
        pairs.len(),
        count(&|pair| pair.is_changed() && pair.wall.estimate < 1.0),
        count(&|pair| pair.is_changed() && pair.wall.estimate > 1.0),
        count(&|pair| !pair.is_changed()),
        100.0 * WORTH_TELLING,
        before.series.len() - pairs.len(),
        after.series.len() - pairs.len(),
        geometric_mean(pairs.iter().map(|pair| pair.wall.estimate))
    );
    let size = |pair: &Pair<'_>| pair.wall.estimate.ln().abs();
    pairs.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let shown: Vec<&Pair<'_>> = pairs.iter().filter(|pair| all || pair.is_changed()).collect();
    let lines = if all { shown.len() } else { MOST_LINES };
    if !shown.is_empty() {
        text.push('\n');
        text.push_str(&table(&shown[..lines.min(shown.len())]).text());
    }
    if shown.len() > lines {
        let _ = writeln!(text, "and {} more; --all shows them", shown.len() - lines);
    }
    Ok(text)
}

fn pairs<'r>(before: &'r Record, after: &'r Record) -> Vec<Pair<'r>> {
    let is_same =
        |a: &Series, b: &Series| a.variant == b.variant && a.factors == b.factors && a.work == b.work;
    let pair = |before: &'r Series| {
        let after = after.series.iter().find(|after| is_same(before, after))?;
        let wall = ratio_of_medians(&after.walls(), &before.walls());
        let cpu = ratio_of_medians(&after.cpus(), &before.cpus());
        Some(Pair { before, after, wall, cpu })
    };
    before.series.iter().filter_map(pair).collect()
}

fn describe(text: &mut String, what: &str, differences: &[String]) {
    if differences.is_empty() {
        let _ = writeln!(text, "{what}: the same, as far as it is recorded");
        return;
    }
    let _ = writeln!(text, "{what}, A | B:");
    for difference in differences {
        let _ = writeln!(text, "  {difference}");
    }
}

fn table(pairs: &[&Pair<'_>]) -> Table {
    let ratio = |value: Interval| {
        if value.estimate.is_finite() {
            format!("{:.2} ({:.2}-{:.2})", value.estimate, value.low, value.high)
        } else {
            "-".to_owned()
        }
    };
    let rows = pairs.iter().map(|pair| {
        vec![
            pair.before.label(),
            nanoseconds(pair.before.wall.median.estimate),
            nanoseconds(pair.after.wall.median.estimate),
            ratio(pair.wall),
            ratio(pair.cpu),
        ]
    });
    Table {
        title: "B/A with 95% intervals, largest change first; below 1 is faster".to_owned(),
        columns: ["series", "A", "B", "wall", "processor"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn nanoseconds(time: f64) -> String {
    match time {
        ..1e3 => format!("{time:.1} ns"),
        1e3..1e6 => format!("{:.1} µs", time / 1e3),
        1e6..1e9 => format!("{:.2} ms", time / 1e6),
        _ => format!("{:.2} s", time / 1e9),
    }
}
