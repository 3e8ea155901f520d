//! The command itself: what it lists, and what it says of bad input.

use std::path::Path;
use std::process::{Command, Output};

fn lab(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cipherloom-lab")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_experiment_is_listed_with_its_question() {
    let output = lab(&["list"], Path::new("."));
    let listed = text(&output.stdout);
    assert!(output.status.success());
    for name in ["many-files", "ctr-workers", "aes-instructions"] {
        let line = listed.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(line.ends_with('?'), "{line}");
    }
}

#[test]
fn an_unknown_experiment_a_missing_record_and_a_damaged_one_are_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("damaged.json"), "{\"schema\": 1, \"exper").unwrap();
    let cases: [(&[&str], &str); 4] = [
        (&["run", "many-flies"], "there is no experiment `many-flies`; there are many-files"),
        (&["compare", "none.json", "none.json"], "none.json: cannot read the record"),
        (&["compare", "damaged.json", "damaged.json"], "damaged.json: not a record of the lab, or damaged"),
        (&["run", "ctr-workers", "--scratch", "no/such/folder"], "no/such/folder"),
    ];
    for (arguments, words) in cases {
        let output = lab(arguments, folder.path());
        let told = text(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(told.contains(words), "{told}");
    }
    assert!(!folder.path().join("records").exists(), "nothing was recorded");
}
