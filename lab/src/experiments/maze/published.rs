//! The published figures: as tables, and as what answers compare with.

use crate::record::{Table, csv};

pub(super) const PUBLISHED_BRANCHING: &str = include_str!("../../../published/maze_branching.csv");
pub(super) const PUBLISHED_RATES: &str = include_str!("../../../published/maze_fps.csv");

/// Published sides.
const PUBLISHED_SIDES: [&str; 5] = ["128", "256", "512", "1024", "2048"];

/// Every published rate: a row a phone and task.
pub(super) fn published_cells() -> Table {
    published_table(
        PUBLISHED_RATES,
        "Published: frames per second of every device (screens show at most 60)",
        |row| (row[0].clone(), row[2].clone(), &row[3], row[4].clone()),
    )
}

/// Every published pair of first and last rate: a row a phone and form of the rule.
pub(super) fn published_forms() -> Table {
    published_table(
        PUBLISHED_BRANCHING,
        "Published: first and last frames per second by form of the rule",
        |row| {
            let last = if row[4].is_empty() { "-" } else { &row[4] };
            (row[0].clone(), row[1].clone(), &row[2], format!("{}, {last}", row[3]))
        },
    )
}

/// A row for each pair of names, a column for each side, of every row of these figures.
fn published_table(
    figures: &str,
    title: &str,
    cell: impl Fn(&[String]) -> (String, String, &String, String),
) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in rows_of(figures) {
        let (device, what, side, words) = cell(&row);
        let place = PUBLISHED_SIDES.iter().position(|other| other == side);
        let known = rows.iter().position(|row| row[0] == device && row[1] == what).unwrap_or(rows.len());
        if known == rows.len() {
            rows.push([device, what].into_iter().chain(PUBLISHED_SIDES.map(|_| "-".to_owned())).collect());
        }
        if let Some(place) = place {
            rows[known][2 + place] = words;
        }
    }
    let columns = ["device", "what"].into_iter().chain(PUBLISHED_SIDES).map(str::to_owned).collect();
    Table { title: title.to_owned(), columns, rows }
}

/// What was published for the power of two below this size.
pub(super) fn published_row(side: u64) -> Option<Vec<String>> {
    let range = |task: &str| {
        let of_size = rows_of(PUBLISHED_RATES)
            .into_iter()
            .filter(|row| row[2] == task && row[3] == (side - 1).to_string());
        let rates: Vec<f64> = of_size.map(|row| number(&row[4])).collect();
        let most = rates.iter().copied().reduce(f64::max)?;
        Some(format!("{:.1} to {most:.1}", rates.iter().copied().fold(most, f64::min)))
    };
    let unknown = || "-".to_owned();
    let first = ["published", "phones, at most 60", &(side - 1).to_string(), "-", "-"].map(str::to_owned);
    let solve = range("solve").unwrap_or_else(unknown);
    Some(first.into_iter().chain([range("generate")?, unknown(), unknown(), unknown(), solve]).collect())
}

/// The least and the greatest ratio of selects' time to branches' in the publication.
pub(super) fn published_ratios() -> (f64, f64) {
    let rows = rows_of(PUBLISHED_BRANCHING);
    let rate = |like: &[String], column: usize| {
        rows.iter()
            .find(|row| row[0] == like[0] && row[2] == like[2] && row[1] == "select")
            .map(|select| number(&like[column]) / number(&select[column]))
    };
    let ratios = rows
        .iter()
        .filter(|row| row[1] == "branch")
        .flat_map(|row| [3, 4].into_iter().filter_map(|column| rate(row, column)))
        // Where a last rate is not given there is none.
        .filter(|ratio| ratio.is_finite());
    ratios.fold((f64::INFINITY, 0.0), |(low, high), ratio| (ratio.min(low), ratio.max(high)))
}

/// The rows of published figures without the header.
pub(super) fn rows_of(text: &str) -> Vec<Vec<String>> {
    csv::rows(text).into_iter().skip(1).collect()
}

pub(super) fn number(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}
