//! The table of a row: one line for each variant, the ratio to the yardstick and its goal first.

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
    let yardstick = format!("x {}", first.variant);
    let columns = ["variant", &yardstick, "low", "high", "goal", "wall ms", "cpu ms", "MB/s", "runs"];
    let row = |cell: &Cell| {
        vec![
            cell.variant.to_owned(),
            format!("{:.2}", cell.ratio.median),
            format!("{:.2}", cell.ratio.low),
            format!("{:.2}", cell.ratio.high),
            cell.goal.map_or_else(String::new, |goal| verdict(cell.ratio.median, goal)),
            format!("{:.2}", cell.wall.median * 1e3),
            format!("{:.2}", cell.processor.median * 1e3),
            format!("{:.0}", cell.bytes as f64 / 1e6 / cell.wall.median),
            cell.samples.len().to_string(),
        ]
    };
    let title = format!("{} on {}, {} cache", first.row, first.medium, first.cache);
    text(title, &columns, cells.iter().map(row).collect())
}

fn verdict(ratio: f64, goal: f64) -> String {
    format!("{goal:.2} {}", if ratio <= goal { "met" } else { "missed" })
}

#[cfg(test)]
mod tests {
    use super::super::measure::Spread;
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let spread = Spread { median: 0.5, low: 0.4, high: 0.7, least: 0.25, most: 1.0 };
        let cell = |variant, goal| Cell {
            medium: "tmpfs",
            cache: "warm",
            row: "1x1",
            bytes: 1_000_000,
            variant,
            ratio: spread,
            goal,
            wall: spread,
            processor: spread,
            samples: Vec::new(),
        };
        let text = of_row(&[cell("cp -r", None), cell("a longer name", Some(0.5)), cell("b", Some(0.4))]);
        let lengths: Vec<usize> = text.lines().skip(2).map(str::len).collect();
        assert_eq!(lengths, [lengths[0]; 4]);
        assert!(text.contains("500.00") && text.contains("0.50"), "{text}");
        assert!(text.contains("0.50 met") && text.contains("0.40 missed"), "{text}");
    }
}
