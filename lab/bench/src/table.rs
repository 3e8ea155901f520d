//! The table of a row: one line for each variant, the ratio to `cp -r` first.

use super::record::Cell;
use cipherloom_lab::record::Table;

/// A table with these columns, of which the first names the variant.
pub(crate) fn text(title: String, columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    format!("\n{}", Table { title, columns, rows }.text())
}

/// The cells of one tree on one medium.
pub(crate) fn of_row(cells: &[Cell]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    let columns = ["variant", "x cp -r", "least", "most", "wall ms", "cpu ms", "MB/s", "runs"];
    let row = |cell: &Cell| {
        vec![
            cell.variant.to_owned(),
            format!("{:.2}", cell.ratio.median),
            format!("{:.2}", cell.ratio.least),
            format!("{:.2}", cell.ratio.most),
            format!("{:.2}", cell.wall.median * 1e3),
            format!("{:.2}", cell.processor.median * 1e3),
            format!("{:.0}", cell.bytes as f64 / 1e6 / cell.wall.median),
            cell.samples.len().to_string(),
        ]
    };
    text(format!("{} on {}", first.row, first.medium), &columns, cells.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::measure::Spread;
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let spread = Spread { median: 0.5, least: 0.25, most: 1.0 };
        let cell = |variant| Cell {
            medium: "tmpfs",
            row: "1x1",
            bytes: 1_000_000,
            variant,
            ratio: spread,
            wall: spread,
            processor: spread,
            samples: Vec::new(),
        };
        let text = of_row(&[cell("a"), cell("a longer name")]);
        let lengths: Vec<usize> = text.lines().skip(2).map(str::len).collect();
        assert_eq!(lengths, [lengths[0]; 3]);
        assert!(text.contains("500.00") && text.contains("0.50"), "{text}");
    }
}
