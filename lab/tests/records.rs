//! Records on disk: written, read back the same, exported, and refused with a reason when damaged.

use cipherloom_lab::commands::compare;
use cipherloom_lab::measure::{Build, Interval, LoadWatch, Machine};
use cipherloom_lab::record::{
    Answer, Basis, Clock, Effect, Evidence, Excluded, Extent, Factors, Level, Oracle, Record, SCHEMA, Sample,
    Series, Work, csv,
};
use std::collections::BTreeMap;
use std::fs;

fn series(variant: &str, walls: &[u64]) -> Series {
    let factors = Factors::from([
        ("threads".to_owned(), Level::from(4_u64)),
        ("runtime".to_owned(), Level::from("openmp, \"old\"")),
    ]);
    let samples = walls.iter().map(|&wall_ns| Sample { wall_ns, cpu_ns: wall_ns / 2, repeats: 2 }).collect();
    let check = Evidence::compare(Oracle("the test"), b"right", b"right").unwrap();
    let work = Work { bytes: 1000, operations: 10 };
    Series::new(variant, factors, work, Clock::Process, samples, check)
}

fn record() -> Record {
    let effect = Effect {
        name: "threads 1 to 4".to_owned(),
        value: Interval { estimate: 1.5, low: 1.25, high: 1.75, rounds: 9 },
        unit: "times".to_owned(),
        probability: Some(0.01),
    };
    Record {
        schema: SCHEMA,
        experiment: "made-up".to_owned(),
        question: "Is it?".to_owned(),
        extent: Extent::Quick,
        seed: 7,
        started: "2026-11-21T23:00:00Z".to_owned(),
        seconds: 1.5,
        machine: Machine::read(),
        build: Build::read(),
        load: LoadWatch::start().stop(),
        parameters: BTreeMap::from([("rounds".to_owned(), Level::from(5_u64))]),
        series: vec![series("one", &[100, 120, 90, 4000]), series("two", &[50, 60])],
        excluded: vec![Excluded {
            variant: "three".to_owned(),
            factors: Factors::new(),
            was_wrong: true,
            reason: "differs".to_owned(),
        }],
        notes: vec!["a note".to_owned()],
        answers: vec![Answer {
            question: "Is it?".to_owned(),
            sentence: "It is.".to_owned(),
            basis: Basis::Guess,
            is_headline: false,
            effects: vec![effect],
        }],
        tables: Vec::new(),
        pictures: Vec::new(),
        published: None,
    }
}

#[test]
fn a_record_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let record = record();
    let path = record.write(folder.path()).unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("2026-11-21-") && name.ends_with("-made-up-quick.json"), "{name}");
    assert_eq!(Record::read(&path).unwrap(), record);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing temporary is left");
}

#[test]
fn csv_has_a_line_a_series_and_a_column_a_factor() {
    let record = record();
    let rows = csv::rows(&csv::of_record(&record));
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
    let field = |row: usize, name: &str| {
        let column = rows[0].iter().position(|title| title == name).unwrap();
        rows[row][column].clone()
    };
    assert_eq!(field(1, "runtime"), "openmp, \"old\"");
    assert_eq!(field(2, "threads"), "4");
    for (row, series) in record.series.iter().enumerate() {
        let median: f64 = field(row + 1, "wall_median_ns").parse().unwrap();
        assert_eq!(median, series.wall.median.estimate);
        assert_eq!(field(row + 1, "anomalous_delays"), series.wall.anomalous.to_string());
    }
    assert_eq!(field(1, "checked_against"), "the test");
}

#[test]
fn a_damaged_record_is_refused_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = record();
    let path = good.write(folder.path()).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let damages = [
        ("cut.json", text[..text.len() / 2].to_owned(), "damaged"),
        ("foreign.json", "{\"a\": 1}".to_owned(), "not a record"),
        ("samples.json", text.replace("[4000,2000,2]", "[4000000,2000,2]"), "do not belong together"),
        ("empty-series.json", text.replace("[[50,25,2],[60,30,2]]", "[]"), "do not belong together"),
        ("version.json", text.replace("\"schema\":1", "\"schema\":99"), "version 99"),
    ];
    for (name, damaged, _) in &damages {
        assert_ne!(*damaged, text, "{name} is damaged");
        fs::write(folder.path().join(name), damaged).unwrap();
    }
    fs::write(folder.path().join("notes.txt"), "no record").unwrap();
    let (records, errors) = Record::read_folder(folder.path()).unwrap();
    assert_eq!(records, [good]);
    assert_eq!(errors.len(), damages.len());
    for (name, _, words) in damages {
        let told = Record::read(&folder.path().join(name)).unwrap_err().to_string();
        assert!(told.contains(words) && told.contains(name), "{told}");
    }
}

#[test]
fn two_records_are_compared_with_ratios_and_what_changed() {
    let before = record();
    let mut after = record();
    let slower: Vec<u64> = (0..20).map(|step| 1000 + step).collect();
    after.series[0] = series("one", &slower);
    after.series[1].factors.insert("other".to_owned(), Level::from("yes"));
    after.machine.cores += 1;
    after.build.versions.insert("aws-lc-rs".to_owned(), "99".to_owned());
    let before_fast: Vec<u64> = (0..20).map(|step| 500 + step).collect();
    let before = Record { series: vec![series("one", &before_fast), before.series[1].clone()], ..before };
    let text = compare::text(&before, &after, false).unwrap();
    assert!(text.contains(&format!("cores: {} | {}", before.machine.cores, after.machine.cores)), "{text}");
    assert!(text.contains("| 99"), "{text}");
    assert!(text.contains("1 series in both: 0 faster in B, 1 slower"), "{text}");
    assert!(text.contains("1 only in A, 1 only in B"), "{text}");
    assert!(text.contains("1.98 (1.9"), "the ratio of 1009.5 to 509.5 with its interval: {text}");
    let same = compare::text(&before, &before, false).unwrap();
    assert!(same.contains("machine: the same") && same.contains("0 faster in B, 0 slower"), "{same}");
    let other = Record { experiment: "another".to_owned(), ..before.clone() };
    let told = compare::text(&before, &other, false).unwrap_err().to_string();
    assert!(told.contains("made-up") && told.contains("another"), "{told}");
}

#[test]
fn no_committed_record_is_of_a_device_of_the_tests() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("records");
    let mut records = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        assert!(!fs::read_to_string(&path).unwrap().contains("CUDA device (test)"), "{}", path.display());
        records += 1;
    }
    assert!(records > 0);
}
