//! The goals of BENCHMARKS.md: the most that encryption may take of the time of `cp -r`, with two threads on tmpfs;
//! and of what brings the encryption of a tree up to date.

use super::trees::Medium;

/// Row, goal of the default format, goal of a raw cipher: CBC, and of one large file, whose CBC is one chain, CTR.
const GOALS: [(&str, f64, f64); 6] = [
    ("100x128B", 0.95, 0.90),
    ("100x4K", 1.05, 0.95),
    ("10000x4K", 0.90, 0.75),
    ("100x256K", 1.00, 0.90),
    ("100x4M", 1.00, 0.85),
    ("1x2G", 1.15, 1.00),
];

/// Row and variant of the bench of `sync`, and its goal.
const SYNC: [(&str, &str, f64); 3] =
    [("first run", "sync", 1.05), ("nothing changed", "sync", 1.00), ("look at it", "verify --quick", 2.00)];

/// The goal of this variant, if it has one.
pub(crate) fn of(medium: Medium, row: &str, variant: &str) -> Option<f64> {
    if let Some((.., goal)) = SYNC.iter().find(|(of, name, _)| (*of, *name) == (row, variant)) {
        return Some(*goal);
    }
    let (_, tink, raw) = GOALS.iter().find(|(name, ..)| *name == row && medium == Medium::Tmpfs)?;
    let raw_cipher = if row == "1x2G" { "raw ctr" } else { "raw cbc" };
    let is_of = |what: &str| {
        let rest = variant.strip_prefix(what).and_then(|rest| rest.strip_prefix(" encrypt, "));
        matches!(rest, Some("planned" | "2 threads"))
    };
    is_of("tink").then_some(*tink).or_else(|| is_of(raw_cipher).then_some(*raw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Choice;
    use crate::trees::ROWS;
    use crate::variants;

    #[test]
    fn each_row_has_both_goals() {
        for row in ROWS {
            let of = |medium, word| {
                let variants = variants::all(Choice::None);
                let goals = variants
                    .iter()
                    .filter(|variant| variant.name.starts_with(word))
                    .filter_map(|variant| of(medium, row.name, variant.name));
                goals.count()
            };
            assert_eq!(of(Medium::Tmpfs, "tink"), 2, "{}", row.name);
            assert_eq!(of(Medium::Tmpfs, "raw"), if row.files == 1 { 1 } else { 2 }, "{}", row.name);
            assert_eq!(of(Medium::Disk, ""), 0, "{}", row.name);
        }
    }
}
