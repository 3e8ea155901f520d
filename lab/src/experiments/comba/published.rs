//! The published figures of Modified Comba, and what follows from them.

use crate::record::csv;

/// All of them.
pub(super) const FIGURES: &str = include_str!("../../../published/comba.csv");

/// The processors' base clocks in GHz, as their vendors give them. Some raise it under load: then the published code took more
/// cycles than this says, and what is compared with it is judged too strictly.
const CLOCKS: [(&str, f64); 5] = [
    ("Intel Dual Core T2130", 1.86),
    ("Intel Core2 Duo T7200", 2.0),
    ("Intel Core2 Duo E6400", 2.13),
    ("AMD A8-3510MX", 1.8),
    ("Intel Core i7-2600", 3.4),
];

/// Processor, algorithm, words, nanoseconds of a product; without the rows that carry a note.
fn figures() -> impl Iterator<Item = (String, String, usize, f64)> {
    csv::rows(FIGURES).into_iter().skip(1).filter(|row| row[4].is_empty()).filter_map(|row| {
        let [processor, algorithm, words, time, ..] = <[String; 5]>::try_from(row).ok()?;
        Some((processor, algorithm, words.parse().ok()?, time.parse().ok()?))
    })
}

/// The fewest cycles that a published serial product of so many words took; `None` for other sizes.
pub(super) fn serial_cycles(words: usize) -> Option<f64> {
    let clock = |name: &str| CLOCKS.iter().find(|(processor, _)| *processor == name).map(|(_, clock)| *clock);
    figures()
        .filter(|(_, algorithm, size, _)| algorithm == "modified_comba" && *size == words)
        .filter_map(|(processor, _, _, nanoseconds)| Some(nanoseconds * clock(&processor)?))
        .min_by(f64::total_cmp)
}

/// The least and the most nanoseconds that a parallel product of 3 words took.
pub(super) fn shortest_parallel() -> (f64, f64) {
    figures()
        .filter(|(_, algorithm, words, _)| algorithm != "modified_comba" && *words == 3)
        .fold((f64::INFINITY, 0.0), |(least, most), (_, _, _, time)| (time.min(least), time.max(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_cycles_are_those_of_the_e6400() {
        assert!((serial_cycles(32).unwrap() - 328.0 * 2.13).abs() < 1e-9);
        // The i7's row of 192 words is not used: its figures belong to other variants.
        assert!((serial_cycles(192).unwrap() - 9843.0 * 2.13).abs() < 1e-9);
        assert_eq!(serial_cycles(33), None);
        assert_eq!(shortest_parallel(), (78.0, 359.0));
    }

    #[test]
    fn every_processor_has_a_clock() {
        assert!(figures().all(|(name, ..)| CLOCKS.iter().any(|(processor, _)| *processor == name)));
        assert_eq!(figures().count(), 177);
    }
}
