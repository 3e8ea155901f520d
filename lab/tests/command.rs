//! The command itself: what it lists, and what it says of bad input.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

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

#[test]
fn standard_output_that_cannot_be_written_is_told_and_a_reader_that_went_away_is_not() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let list = |stdout: Stdio| {
        Command::new(env!("CARGO_BIN_EXE_cipherloom-lab")).arg("list").stdout(stdout).output().unwrap()
    };
    let output = list(full().into());
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("cannot write to standard output"), "{told}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = list(writer.into());
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
}

#[test]
fn a_folder_without_records_makes_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = lab(&["report", "."], folder.path());
    assert!(!output.status.success() && text(&output.stderr).contains("has no records"));
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn a_signal_takes_the_scratch_folder_away() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut running = Command::new(env!("CARGO_BIN_EXE_cipherloom-lab"))
        .args(["run", "ctr-workers", "--scratch", "scratch"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let holds_any = || std::fs::read_dir(&scratch).unwrap().next().is_some();
    while !holds_any() {
        assert!(running.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").arg(running.id().to_string()).status().unwrap().success());
    assert_eq!(running.wait().unwrap().code(), Some(128 + 15));
    assert!(!holds_any());
}
