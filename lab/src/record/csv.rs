//! CSV (RFC 4180): one line a series, one column a factor, so that any program can plot a record.

use super::{Record, Series};
use std::collections::BTreeSet;

/// The record's series as CSV, header included. Times are nanoseconds of one repeat.
#[must_use]
pub fn of_record(record: &Record) -> String {
    let names: BTreeSet<&str> =
        record.series.iter().flat_map(|series| series.factors.keys()).map(String::as_str).collect();
    let mut header = vec!["experiment", "variant"];
    header.extend(names.iter().copied());
    header.extend(COLUMNS);
    let mut text = line(header.iter().map(|name| (*name).to_owned()));
    for series in &record.series {
        let factors =
            names.iter().map(|name| series.factor(name).map(ToString::to_string).unwrap_or_default());
        let start = [record.experiment.clone(), series.variant.clone()];
        text.push_str(&line(start.into_iter().chain(factors).chain(numbers(series))));
    }
    text
}

const COLUMNS: [&str; 15] = [
    "bytes",
    "operations",
    "turns",
    "wall_median_ns",
    "wall_low_ns",
    "wall_high_ns",
    "wall_mean_ns",
    "wall_min_ns",
    "wall_p95_ns",
    "wall_p99_ns",
    "wall_max_ns",
    "anomalous_delays",
    "processor_median_ns",
    "gigabytes_per_s",
    "checked_against",
];

fn numbers(series: &Series) -> [String; 15] {
    let wall = &series.wall;
    [
        series.work.bytes.to_string(),
        series.work.operations.to_string(),
        wall.count.to_string(),
        wall.median.estimate.to_string(),
        wall.median.low.to_string(),
        wall.median.high.to_string(),
        wall.mean.to_string(),
        wall.min.to_string(),
        wall.p95.to_string(),
        wall.p99.to_string(),
        wall.max.to_string(),
        wall.anomalous.to_string(),
        series.cpu.median.estimate.to_string(),
        series.gigabytes_per_second().to_string(),
        series.check().oracle().to_owned(),
    ]
}

fn line(fields: impl Iterator<Item = String>) -> String {
    fields.map(|field| quoted(&field)).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The fields of CSV text, line by line; what [`of_record`] writes and the published figures have.
#[must_use]
pub fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(std::mem::take(&mut field)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            other => field.push(other),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_quotes_and_ends_of_line_come_back() {
        let fields = ["plain", "a, b", "say \"c\"", "d\ne", ""].map(String::from);
        let text = line(fields.clone().into_iter()) + &line(["next".to_owned()].into_iter());
        assert_eq!(rows(&text), [fields.to_vec(), vec!["next".to_owned()]]);
    }
}
