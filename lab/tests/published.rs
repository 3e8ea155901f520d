//! The published figures, and what is quoted beside them: no figure is lost, and no quoted sentence outlives its record.

use cipherloom_lab::commands::answers;
use cipherloom_lab::experiments::ALL;
use cipherloom_lab::record::csv;
use std::collections::BTreeMap;
use std::path::Path;

/// How many figures' rows each publication has.
const ROWS: [(&str, usize); 7] = [
    ("aes_instructions.csv", 18),
    ("comba.csv", 180),
    ("ctr_workers.csv", 24),
    ("many_files.csv", 784),
    ("maze_branching.csv", 48),
    ("maze_fps.csv", 65),
    ("sdes_rayon.csv", 6),
];

#[test]
fn every_published_figure_is_carried() {
    let carried: BTreeMap<&str, Vec<Vec<String>>> = ALL
        .iter()
        .flat_map(|experiment| experiment.published)
        .map(|published| (published.file, csv::rows(published.csv)))
        .collect();
    let counted: Vec<(&str, usize)> = carried.iter().map(|(file, rows)| (*file, rows.len() - 1)).collect();
    assert_eq!(counted, ROWS);
    for (file, rows) in &carried {
        for row in rows {
            assert_eq!(row.len(), rows[0].len(), "{file}: {row:?}");
        }
        let mut keys: Vec<&Vec<String>> = rows.iter().collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), rows.len(), "{file} has a row twice");
    }
}

#[test]
fn what_is_quoted_is_what_the_records_say() {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(lab.join("../BENCHMARKS.md")).unwrap();
    let table = answers::table(&lab.join("records"), Path::new("lab/records")).unwrap();
    let renewed = answers::replaced(&text, &table).expect("BENCHMARKS.md has marks");
    assert!(
        renewed == text,
        "renew the table in BENCHMARKS.md: cipherloom-lab answers lab/records --into BENCHMARKS.md"
    );
}
