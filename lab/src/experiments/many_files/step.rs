//! The published step itself: from OpenMP with a buffer as large as the file to pthread with 1 KB, shape by shape, beside the
//! published gain of the same step.

use super::answers::part;
use crate::experiments::{Findings, geometric_mean, size_words};
use crate::measure::Interval;
use crate::record::{Answer, Effect, Level, Series, Table, csv};
use std::collections::BTreeMap;

const PUBLISHED: &str = include_str!("../../../published/many_files.csv");

/// Files and bytes of each.
type Shape = (u64, u64);

fn whole(series: &Series, factor: &str) -> u64 {
    match series.factor(factor) {
        Some(Level::Whole(number)) => *number,
        _ => 0,
    }
}

/// How many times as long the older form takes, by shape: each at its best number of threads, or both at this one.
fn steps(findings: &Findings, threads: Option<u64>) -> Vec<(Shape, Interval)> {
    let mut best: BTreeMap<Shape, [Option<&Series>; 2]> = BTreeMap::new();
    for series in part(findings, "grid") {
        let place = match series.variant.as_str() {
            "openmp-malloc" => 0,
            "published" => 1,
            _ => continue,
        };
        if threads.is_some_and(|threads| whole(series, "threads") != threads) {
            continue;
        }
        let entry =
            &mut best.entry((whole(series, "files"), whole(series, "file_bytes"))).or_default()[place];
        if entry.is_none_or(|other| series.wall.median.estimate < other.wall.median.estimate) {
            *entry = Some(series);
        }
    }
    let ratio =
        |(shape, [old, new]): (Shape, [Option<&Series>; 2])| Some((shape, old?.times_as_long_as(new?)));
    best.into_iter().filter_map(ratio).collect()
}

/// The same of the publication's second Xeon: means of the runs without a delay, each form at its best number of threads.
fn published() -> BTreeMap<Shape, f64> {
    let mut best: BTreeMap<Shape, [f64; 2]> = BTreeMap::new();
    for row in csv::rows(PUBLISHED).into_iter().skip(1).filter(|row| row[2] == "xeon2") {
        let number = |column: usize| row[column].parse::<f64>().ok();
        let (Some(files), Some(bytes), Some(mean)) = (number(0), number(1), number(8).or_else(|| number(5)))
        else {
            continue;
        };
        let place = usize::from(row[4].starts_with("pthread"));
        let entry = &mut best.entry((files as u64, bytes as u64)).or_insert([f64::INFINITY; 2])[place];
        *entry = entry.min(mean);
    }
    best.into_iter()
        .map(|(shape, [old, new])| (shape, old / new))
        .filter(|(_, ratio)| ratio.is_finite())
        .collect()
}

fn name((files, bytes): Shape) -> String {
    format!("{files} files of {}", size_words(bytes))
}

/// `faster in 3 of 11 shapes, slower in 4, undecided in 4`, of the newer form.
fn tally(steps: &[(Shape, Interval)]) -> String {
    let count = |is: &dyn Fn(&Interval) -> bool| steps.iter().filter(|(_, ratio)| is(ratio)).count();
    let (faster, slower) = (count(&|ratio| ratio.low > 1.0), count(&|ratio| ratio.high < 1.0));
    format!(
        "faster in {faster} of {} shapes, slower in {slower}, undecided in {}",
        steps.len(),
        steps.len() - faster - slower
    )
}

pub(super) fn answer(findings: &Findings) -> Option<Answer> {
    let best = steps(findings, None);
    if best.is_empty() {
        return None;
    }
    let mean = |steps: &[(Shape, Interval)]| geometric_mean(steps.iter().map(|(_, ratio)| ratio.estimate));
    let published = published();
    let theirs = geometric_mean(best.iter().filter_map(|(shape, _)| published.get(shape).copied()));
    let at = |threads| {
        let steps = steps(findings, Some(threads));
        (!steps.is_empty()).then(|| {
            format!(
                "With {threads} threads it is {}; the older takes {:.2} times as long on average.",
                tally(&steps),
                mean(&steps)
            )
        })
    };
    let verdict = if best.iter().all(|(_, ratio)| ratio.low > 1.0) {
        "The publication's headline is reproduced"
    } else {
        "The publication's headline (faster everywhere) is not reproduced"
    };
    let counted: Vec<String> = [at(2), at(20)].into_iter().flatten().collect();
    let sentence = format!(
        "{verdict}. Each form at its best number of threads, the newer is {}; the older takes {:.2} times as long on average \
         (published, on the second Xeon over the same shapes: {theirs:.2}). {}",
        tally(&best),
        mean(&best),
        counted.join(" ")
    );
    let effect = |(shape, ratio): &(Shape, Interval)| {
        Effect::new(format!("the older form instead of the newer, {}", name(*shape)), *ratio, "times as long")
    };
    let question =
        "What did the published step bring: from OpenMP with a buffer per file to pthread with 1 KB?";
    Some(Answer::measured(question, sentence, best.iter().map(effect).collect()).as_headline())
}

pub(super) fn table(findings: &Findings) -> Option<Table> {
    let (best, two, twenty) = (steps(findings, None), steps(findings, Some(2)), steps(findings, Some(20)));
    let published = published();
    let rows: Vec<Vec<String>> = best
        .iter()
        .map(|(shape, ratio)| {
            let at = |steps: &[(Shape, Interval)]| {
                let found = steps.iter().find(|(other, _)| other == shape);
                found.map_or_else(|| "-".to_owned(), |(_, ratio)| ratio.words(2))
            };
            let theirs = published.get(shape).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
            vec![name(*shape), ratio.words(2), at(&two), at(&twenty), theirs]
        })
        .collect();
    let columns = ["shape", "best threads", "2 threads", "20 threads", "published, best threads"];
    (!rows.is_empty()).then(|| Table {
        title: "The published step: how many times as long the older form takes".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_step_is_taken_from_all_shapes_of_the_second_xeon() {
        let published = published();
        assert_eq!(published.len(), 32);
        // 100 files of 1 MB: 173.3 ms with 20 threads before, 121.2 ms after.
        assert!((published[&(100, 1 << 20)] - 173.3 / 121.2).abs() < 1e-9);
    }

    #[test]
    fn shapes_are_counted_by_their_intervals() {
        let ratio = |low, high| Interval { estimate: 1.0, low, high, rounds: 9 };
        let steps =
            [((10, 128), ratio(1.1, 1.2)), ((10, 256), ratio(0.8, 0.9)), ((10, 512), ratio(0.9, 1.1))];
        assert_eq!(tally(&steps), "faster in 1 of 3 shapes, slower in 1, undecided in 1");
    }
}
